# expected: inetd
# program: xinetd
# needs: root
# Debian's package excludes that of inetutils-inetd, so it is not installed for the tests.
cat > "$DIR/xinetd.conf" <<E
defaults
{
    instances = 300
    cps = 5000 1
    per_source = UNLIMITED
}
service here
{
    type = UNLISTED
    socket_type = stream
    protocol = tcp
    bind = 127.0.0.1
    port = $PORT
    wait = no
    user = nobody
    server = /bin/cat
}
E
exec xinetd -dontfork -f "$DIR/xinetd.conf" -pidfile "$DIR/pid"
