# expected: fork
# program: pg_ctlcluster
BIN=$(echo /usr/lib/postgresql/*/bin)
AS=
if [ "$(id -u)" = 0 ]; then
    AS="setpriv --reuid=postgres --regid=postgres --clear-groups"
    chown postgres "$DIR"
fi
$AS "$BIN/initdb" -D "$DIR/data" -A trust --no-sync >/dev/null
exec $AS "$BIN/postgres" -D "$DIR/data" -p "$PORT" -c listen_addresses=127.0.0.1 -k "$DIR"
