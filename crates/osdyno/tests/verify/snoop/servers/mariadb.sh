# expected: thread
# program: mariadbd
AS=
if [ "$(id -u)" = 0 ]; then
    AS="setpriv --reuid=mysql --regid=mysql --clear-groups"
    chown mysql "$DIR"
fi
$AS mariadb-install-db --no-defaults --datadir="$DIR/data" --auth-root-authentication-method=normal \
    --skip-test-db >/dev/null
exec $AS mariadbd --no-defaults --datadir="$DIR/data" --port="$PORT" --bind-address=127.0.0.1 \
    --socket="$DIR/sock" --pid-file="$DIR/pid"
