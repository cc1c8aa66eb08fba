# expected: hybrid
# program: puma
echo 'run ->(request) { [200, {"content-length" => "2"}, ["ok"]] }' > "$DIR/config.ru"
cd "$DIR"
exec puma -b "tcp://127.0.0.1:$PORT" -e production
