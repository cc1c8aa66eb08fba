# expected: epoll
# program: haproxy
cat > "$DIR/haproxy.cfg" <<END
defaults
    mode http
    timeout client 30s
    timeout connect 5s
    timeout server 30s
frontend here
    bind 127.0.0.1:$PORT
    http-request return status 200 content-type text/plain string ok
END
exec haproxy -db -f "$DIR/haproxy.cfg"
