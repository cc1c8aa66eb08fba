# expected: hybrid
# program: node
cat > "$DIR/server.js" <<E
const cluster = require("cluster");
if (cluster.isPrimary) { cluster.fork(); cluster.fork(); }
else require("http").createServer((request, response) => response.end("ok")).listen($PORT, "127.0.0.1");
E
exec node "$DIR/server.js"
