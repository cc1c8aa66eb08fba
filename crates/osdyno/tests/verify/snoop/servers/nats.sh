# expected: coroutines
# program: nats-server
exec nats-server -a 127.0.0.1 -p "$PORT"
