# expected: prefork
# program: smtp-sink
# needs: root
mkdir "$DIR/conf" "$DIR/data"
cp /usr/share/postfix/main.cf.debian "$DIR/conf/main.cf" 2>/dev/null || : > "$DIR/conf/main.cf"
cat >> "$DIR/conf/main.cf" <<END
compatibility_level = 3.6
queue_directory = $DIR/queue
data_directory = $DIR/data
inet_interfaces = 127.0.0.1
myhostname = localhost
mydestination =
alias_maps =
maillog_file = $DIR/log
maillog_file_prefixes = $DIR
END
cat > "$DIR/conf/master.cf" <<END
127.0.0.1:$PORT inet n - n - - smtpd
anvil unix - - n - 1 anvil
rewrite unix - - n - - trivial-rewrite
cleanup unix n - n - 0 cleanup
proxymap unix - - n - - proxymap
postlog unix-dgram n - n - 1 postlogd
END
chmod 755 "$DIR"
mkdir -p "$DIR/queue"
chown postfix "$DIR/data"
for part in active bounce corrupt defer deferred flush hold incoming private saved trace maildrop public pid; do
    mkdir "$DIR/queue/$part"
done
chown postfix "$DIR"/queue/*
chown root "$DIR/queue/pid"
export MAIL_CONFIG="$DIR/conf"
exec /usr/lib/postfix/sbin/master -c "$DIR/conf" -d
