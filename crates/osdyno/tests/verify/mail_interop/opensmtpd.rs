//! OpenSMTPD: has no CHUNKING, so that messages come by DATA; takes STARTTLS, and relays with it.

use super::private::{Private, free_address, make_folder, server_files, write};
use super::{Behaviour, expect_agreement, sink};

#[test]
fn opensmtpd_has_what_was_delivered() {
    let Some(usr) = server_files("opensmtpd") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let sink = sink(folder.path());
    let place = folder.path().join("opensmtpd");
    Private::prepare(&place);
    let address = free_address();
    write(&place, "etc/smtpd.conf", &settings(address.port(), sink.address.port()));
    make_folder(&place, "var/lib/opensmtpd/empty", "root", "root", 0o755);
    make_folder(&place, "var/spool/smtpd", "root", "root", 0o711);
    make_folder(&place, "var/spool/smtpd/offline", "root", "opensmtpq", 0o770);
    for queue in ["purge", "temporary", "incoming", "queue", "corrupt"] {
        make_folder(&place, &format!("var/spool/smtpd/{queue}"), "opensmtpq", "root", 0o700);
    }
    let program = ["/usr/sbin/smtpd", "-d", "-f", "/etc/smtpd.conf"];
    let server = Private::start(&place, &usr, address, &program);
    expect_agreement(folder.path(), &Behaviour { refusal: 550, put_off: None }, sink, &server);
}

fn settings(port: u16, sink_port: u16) -> String {
    format!(
        "pki server.test cert \"/etc/ssl/certificate.pem\"
pki server.test key \"/etc/ssl/key.pem\"
listen on 127.0.0.1 port {port} tls pki server.test hostname opensmtpd.test
action \"sink\" relay host \"smtp+tls://127.0.0.1:{sink_port}\" tls no-verify
match from any for any rcpt-to regex \"^no\" reject
match from any for any action \"sink\"
"
    )
}
