# expected: fork
# program: rsync
# needs: root
printf '[here]\npath = %s\nuse chroot = no\n' "$DIR" > "$DIR/rsyncd.conf"
exec rsync --daemon --no-detach --address=127.0.0.1 --port="$PORT" --config="$DIR/rsyncd.conf"
