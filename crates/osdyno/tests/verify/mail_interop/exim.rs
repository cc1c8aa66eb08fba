//! Exim: takes CHUNKING and STARTTLS with a certificate of its own making, and relays with STARTTLS by
//! GnuTLS.

use super::private::{Private, free_address, make_folder, server_files, write};
use super::{Behaviour, expect_agreement, sink};

#[test]
fn exim_has_what_was_delivered() {
    let Some(usr) = server_files("exim") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let sink = sink(folder.path());
    let place = folder.path().join("exim");
    Private::prepare(&place);
    let address = free_address();
    write(&place, "etc/exim4/exim4.conf", &settings(address.port(), sink.address.port()));
    make_folder(&place, "var/spool/exim4", "Debian-exim", "Debian-exim", 0o750);
    make_folder(&place, "var/log", "Debian-exim", "Debian-exim", 0o755);
    // In the foreground, with a look at the queue each second.
    let program = ["/usr/sbin/exim4", "-bdf", "-q1s", "-C", "/etc/exim4/exim4.conf"];
    let server = Private::start(&place, &usr, address, &program);
    expect_agreement(folder.path(), &Behaviour { refusal: 550, put_off: Some(451) }, sink, &server);
}

/// Without limits on what it takes at once, because the machine may be slow. RSET ends every test, and Exim
/// drops a client after ten of them.
fn settings(port: u16, sink_port: u16) -> String {
    format!(
        "primary_hostname = exim.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port}
spool_directory = /var/spool/exim4
log_file_path = /var/log/exim-%s
tls_advertise_hosts = *
acl_smtp_rcpt = rcpt
acl_smtp_data = data
pipelining_advertise_hosts = *
smtp_accept_max = 0
smtp_accept_max_nonmail = 100000
smtp_accept_queue_per_connection = 0
host_lookup =
rfc1413_hosts =
keep_environment =
begin acl
rcpt:
  deny local_parts = ^no
       message = no
  defer local_parts = ^later
       message = later
  accept
data:
  accept
begin routers
all:
  driver = manualroute
  domains = *
  route_list = * 127.0.0.1
  self = send
  transport = sink
begin transports
sink:
  driver = smtp
  port = {sink_port}
  allow_localhost
  hosts_require_tls = *
begin retry
* * F,2h,1s
"
    )
}
