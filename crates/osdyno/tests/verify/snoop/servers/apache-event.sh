# expected: hybrid
# program: apache2
M=/usr/lib/apache2/modules
cat > "$DIR/apache.conf" <<END
LoadModule mpm_event_module $M/mod_mpm_event.so
LoadModule authz_core_module $M/mod_authz_core.so
ServerName localhost
ServerRoot $DIR
DefaultRuntimeDir $DIR
PidFile $DIR/pid
ErrorLog $DIR/error.log
Listen 127.0.0.1:$PORT
User www-data
Group www-data
DocumentRoot $DIR
END
exec apache2 -f "$DIR/apache.conf" -DFOREGROUND
