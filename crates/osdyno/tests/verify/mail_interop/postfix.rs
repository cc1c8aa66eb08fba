//! Postfix: takes CHUNKING and STARTTLS, and relays with STARTTLS.

use super::private::{Private, free_address, make_folder, server_files, write};
use super::{Behaviour, expect_agreement, sink};

const QUEUES: [&str; 9] =
    ["active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private"];

#[test]
fn postfix_has_what_was_delivered() {
    let Some(usr) = server_files("postfix") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let sink = sink(folder.path());
    let place = folder.path().join("postfix");
    Private::prepare(&place);
    let address = free_address();
    write(&place, "etc/postfix/main.cf", &settings(sink.address.port()));
    write(&place, "etc/postfix/master.cf", &services(&address.to_string()));
    write(&place, "etc/postfix/recipients", "/^no/ 550 5.1.1 no\n/^later/ 450 4.2.1 later\n");
    for queue in QUEUES.into_iter().chain(["saved", "trace"]) {
        make_folder(&place, &format!("var/spool/postfix/{queue}"), "postfix", "root", 0o700);
    }
    make_folder(&place, "var/spool/postfix/pid", "root", "root", 0o755);
    make_folder(&place, "var/spool/postfix/public", "postfix", "postdrop", 0o710);
    make_folder(&place, "var/spool/postfix/maildrop", "postfix", "postdrop", 0o730);
    make_folder(&place, "var/lib/postfix", "postfix", "postfix", 0o700);
    let server = Private::start(&place, &usr, address, &["/usr/lib/postfix/sbin/master", "-d"]);
    expect_agreement(folder.path(), &Behaviour { refusal: 550, put_off: Some(450) }, sink, &server);
}

fn settings(sink_port: u16) -> String {
    format!(
        "compatibility_level = 3.6
queue_directory = /var/spool/postfix
data_directory = /var/lib/postfix
mail_owner = postfix
setgid_group = postdrop
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
meta_directory = /etc/postfix
shlib_directory = /usr/lib/postfix
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = postfix.test
mydestination =
alias_maps =
mynetworks = 127.0.0.0/8
relay_domains = test
relayhost = [127.0.0.1]:{sink_port}
smtp_tls_security_level = encrypt
smtpd_tls_security_level = may
smtpd_tls_chain_files = /etc/ssl/both.pem
smtpd_recipient_restrictions = check_recipient_access regexp:/etc/postfix/recipients, permit_mynetworks
smtpd_error_sleep_time = 0
maillog_file = /var/log/mail.log
"
    )
}

/// What master(8) starts: none of it in a root folder of its own.
fn services(address: &str) -> String {
    let mut text = format!("{address} inet n - n - - smtpd\n");
    let each = ["rewrite=trivial-rewrite", "bounce", "defer=bounce", "trace=bounce", "proxymap"];
    for service in each.into_iter().chain(["smtp", "relay=smtp", "error", "retry=error"]) {
        let (name, program) = service.split_once('=').unwrap_or((service, service));
        text += &format!("{name} unix - - n - - {program}\n");
    }
    for (name, wakeup, limit) in [
        ("cleanup", "-", 0),
        ("qmgr", "300", 1),
        ("verify", "-", 1),
        ("flush", "-", 0),
        ("anvil", "-", 1),
        ("scache", "-", 1),
    ] {
        text += &format!("{name} unix n - n {wakeup} {limit} {name}\n");
    }
    text + "tlsmgr unix - - n - 1 tlsmgr\npostlog unix-dgram n - n - 1 postlogd\n"
}
