# expected: hybrid
# program: varnishd
exec varnishd -F -a "127.0.0.1:$PORT" -T none -b none -n "$DIR/varnish" -s malloc,16m
