# expected: hybrid
# program: nginx
# Debian has a worker for each processor; two show what it is on any machine.
cat > "$DIR/nginx.conf" <<END
daemon off;
worker_processes 2;
pid $DIR/pid;
error_log $DIR/error.log;
events { worker_connections 768; }
http {
    access_log off;
    client_body_temp_path $DIR; proxy_temp_path $DIR; fastcgi_temp_path $DIR; uwsgi_temp_path $DIR; scgi_temp_path $DIR;
    server { listen 127.0.0.1:$PORT; root $DIR; }
}
END
exec nginx -c "$DIR/nginx.conf" -e "$DIR/error.log"
