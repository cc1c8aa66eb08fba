# expected: prefork
# program: php-fpm8.2
cat > "$DIR/fpm.conf" <<END
[global]
error_log = $DIR/log
pid = $DIR/pid
daemonize = no
[www]
user = www-data
group = www-data
listen = 127.0.0.1:$PORT
pm = dynamic
pm.max_children = 5
pm.start_servers = 2
pm.min_spare_servers = 1
pm.max_spare_servers = 3
END
exec php-fpm8.2 -F -y "$DIR/fpm.conf" -c /dev/null
