# expected: inetd
# program: inetutils-inetd
# needs: root
echo "127.0.0.1:$PORT stream tcp nowait nobody /bin/cat cat" > "$DIR/inetd.conf"
exec inetutils-inetd -d --pidfile="$DIR/pid" "$DIR/inetd.conf"
