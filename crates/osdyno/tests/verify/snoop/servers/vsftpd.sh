# expected: fork
# program: vsftpd
# needs: root
mkdir "$DIR/empty"
cat > "$DIR/vsftpd.conf" <<END
listen=YES
listen_ipv6=NO
listen_address=127.0.0.1
listen_port=$PORT
background=NO
anonymous_enable=YES
local_enable=NO
secure_chroot_dir=$DIR/empty
seccomp_sandbox=NO
END
exec vsftpd "$DIR/vsftpd.conf"
