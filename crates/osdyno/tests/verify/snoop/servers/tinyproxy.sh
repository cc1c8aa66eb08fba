# expected: thread
# program: tinyproxy
cat > "$DIR/tinyproxy.conf" <<E
Port $PORT
Listen 127.0.0.1
Timeout 600
PidFile "$DIR/pid"
LogFile "$DIR/log"
E
exec tinyproxy -d -c "$DIR/tinyproxy.conf"
