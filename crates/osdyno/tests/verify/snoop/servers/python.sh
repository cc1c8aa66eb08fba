# expected: thread
# program: python3
exec python3 -m http.server --bind 127.0.0.1 --directory "$DIR" "$PORT"
