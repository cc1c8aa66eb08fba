# expected: fork
# program: dovecot
# needs: root
chmod 755 "$DIR"
cat > "$DIR/dovecot.conf" <<END
base_dir = $DIR/run
state_dir = $DIR/state
log_path = $DIR/log
protocols = imap
ssl = no
listen = 127.0.0.1
mail_location = maildir:$DIR/mail
service imap-login {
  inet_listener imap {
    port = $PORT
  }
  inet_listener imaps {
    port = 0
  }
}
passdb {
  driver = static
  args = nopassword=y
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=$DIR
}
END
exec dovecot -F -c "$DIR/dovecot.conf"
