# expected: epoll
# program: named
cat > "$DIR/named.conf" <<E
options {
    directory "$DIR"; pid-file "$DIR/pid"; session-keyfile "$DIR/key";
    listen-on port $PORT { 127.0.0.1; }; listen-on-v6 { none; }; recursion no;
};
controls { };
E
exec named -f -c "$DIR/named.conf"
