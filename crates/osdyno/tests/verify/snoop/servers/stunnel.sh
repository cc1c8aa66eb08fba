# expected: thread
# program: stunnel4
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$DIR/key.pem" -out "$DIR/cert.pem" -days 2 -subj /CN=localhost
cat > "$DIR/stunnel.conf" <<E
foreground = yes
pid =
[here]
accept = 127.0.0.1:$PORT
connect = 127.0.0.1:1
cert = $DIR/cert.pem
key = $DIR/key.pem
E
exec stunnel4 "$DIR/stunnel.conf"
