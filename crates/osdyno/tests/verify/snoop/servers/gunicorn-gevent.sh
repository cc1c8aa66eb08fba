# expected: epoll
# program: gunicorn
cat > "$DIR/app.py" <<END
def app(environ, start):
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]
END
cd "$DIR"
exec gunicorn -k gevent -b "127.0.0.1:$PORT" app:app
