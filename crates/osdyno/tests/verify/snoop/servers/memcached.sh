# expected: epoll
# program: memcached
exec memcached -u nobody -l 127.0.0.1 -p "$PORT" -m 64
