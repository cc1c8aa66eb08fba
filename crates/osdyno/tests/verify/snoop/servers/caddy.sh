# expected: coroutines
# program: caddy
export HOME="$DIR" XDG_CONFIG_HOME="$DIR" XDG_DATA_HOME="$DIR"
cat > "$DIR/Caddyfile" <<END
{
    admin off
    auto_https off
}
http://127.0.0.1:$PORT {
    respond "ok"
}
END
exec caddy run --config "$DIR/Caddyfile" --adapter caddyfile
