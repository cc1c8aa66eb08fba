# expected: fork
# program: sshd
ssh-keygen -q -t ed25519 -N '' -f "$DIR/key"
mkdir -p /run/sshd
exec /usr/sbin/sshd -D -e -f /dev/null -h "$DIR/key" -o Port="$PORT" -o ListenAddress=127.0.0.1 -o PidFile="$DIR/pid"
