# expected: epoll
# program: unbound
cat > "$DIR/unbound.conf" <<END
server:
    interface: 127.0.0.1
    port: $PORT
    directory: "$DIR"
    chroot: ""
    username: ""
    pidfile: "$DIR/pid"
    use-syslog: no
    do-daemonize: no
    module-config: "iterator"
    incoming-num-tcp: 100
remote-control:
    control-enable: no
END
exec unbound -d -p -c "$DIR/unbound.conf"
