# expected: hybrid
# program: gunicorn
cat > "$DIR/app.py" <<E
def app(environ, start):
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]
E
cd "$DIR"
exec gunicorn --workers 2 --threads 8 -b "127.0.0.1:$PORT" app:app
