# expected: prefork
# program: uwsgi
cat > "$DIR/app.py" <<END
def application(environ, start):
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]
END
exec uwsgi --http-socket "127.0.0.1:$PORT" --plugin python3 --chdir "$DIR" --wsgi-file "$DIR/app.py" --master --processes 4
