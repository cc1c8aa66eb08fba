# expected: epoll
# program: redis-server
exec redis-server --bind 127.0.0.1 --port "$PORT" --dir "$DIR" --save ''
