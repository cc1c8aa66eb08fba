# expected: fork
# program: exim4
# needs: root
# Debian's package excludes that of Postfix, so it is not installed for the tests.
cat > "$DIR/exim.conf" <<E
exim_user = Debian-exim
spool_directory = $DIR/spool
log_file_path = $DIR/log-%s
pid_file_path = $DIR/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = $PORT
primary_hostname = localhost
keep_environment =
E
chmod 644 "$DIR/exim.conf"
mkdir "$DIR/spool"
chown Debian-exim "$DIR/spool"
touch "$DIR/log-main" "$DIR/log-reject" "$DIR/log-panic"
chown Debian-exim "$DIR"/log-*
exec exim4 -bdf -C "$DIR/exim.conf" -oX "$PORT" -oP "$DIR/spool/pid"
