# expected: epoll
# program: lighttpd
cat > "$DIR/lighttpd.conf" <<END
server.document-root = "$DIR"
server.bind = "127.0.0.1"
server.port = $PORT
server.errorlog = "$DIR/error.log"
END
exec lighttpd -D -f "$DIR/lighttpd.conf"
