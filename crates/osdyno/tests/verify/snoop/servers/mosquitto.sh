# expected: epoll
# program: mosquitto
cat > "$DIR/mosquitto.conf" <<E
listener $PORT 127.0.0.1
allow_anonymous true
E
exec mosquitto -c "$DIR/mosquitto.conf"
