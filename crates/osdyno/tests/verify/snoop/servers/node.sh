# expected: epoll
# program: node
cat > "$DIR/server.js" <<END
require("http").createServer((request, response) => response.end("ok")).listen($PORT, "127.0.0.1");
END
exec node "$DIR/server.js"
