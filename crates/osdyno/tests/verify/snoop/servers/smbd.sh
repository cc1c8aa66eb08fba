# expected: fork
# program: smbd
mkdir "$DIR/state"
cat > "$DIR/smb.conf" <<END
[global]
    interfaces = 127.0.0.1
    bind interfaces only = yes
    smb ports = $PORT
    private dir = $DIR/state
    lock directory = $DIR/state
    state directory = $DIR/state
    cache directory = $DIR/state
    pid directory = $DIR/state
    ncalrpc dir = $DIR/state/ncalrpc
    log file = $DIR/log
    load printers = no
    disable spoolss = yes
END
exec smbd --foreground --no-process-group -s "$DIR/smb.conf"
