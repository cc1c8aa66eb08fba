# expected: iterative
# program: python3
exec python3 -c '
import http.server, sys
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
server.serve_forever()' "$PORT"
