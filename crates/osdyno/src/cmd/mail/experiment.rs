//! The experiment of 2001 in one command: a server that takes mail and the DNS of the generated domains, each
//! in a process of its own, which ends with this one.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use mail::Routing;
use mail::dns::{Authority, AuthorityConduct, ZonePlan};
use net::load::Sources;
use net::server::{ListeningServer, ServerPlan};
use net::service::smtp::SmtpSettings;

use crate::failure::Failure;

/// The exchangers: 256 addresses of this machine where one server can have all of them, otherwise one.
const HOSTS: &str = if cfg!(target_os = "linux") { "127.1.0.0/24" } else { "127.0.0.1" };

/// The other end of the experiment.
pub(super) struct Experiment {
    server: Process,
    dns: Process,
}

/// A process that serves. Dropped, it is killed.
struct Process {
    number: u32,
    address: SocketAddr,
}

impl Experiment {
    /// Starts the server and the DNS of so many domains.
    pub(super) fn start(domains: u32) -> Result<Experiment, Failure> {
        Ok(Experiment {
            server: Process::start("the server", |report| {
                let any = if cfg!(target_os = "linux") { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
                let plan = ServerPlan {
                    address: SocketAddr::from((any, 0)),
                    loopback: cfg!(target_os = "linux"),
                    ..ServerPlan::new("epoll", &SmtpSettings::default())
                };
                let server = ListeningServer::set_up(plan)?;
                report(server.address()).map_err(refused)?;
                server.run(|_| {}).map(drop).map_err(Failure::from)
            })?,
            dns: Process::start("the DNS server", |report| {
                let plan = ZonePlan { domains, hosts: hosts()?, ..ZonePlan::default() };
                let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let authority = Authority::bind(at, plan, AuthorityConduct::default()).map_err(refused)?;
                report(authority.address().map_err(refused)?).map_err(refused)?;
                authority.run(&AtomicBool::new(false)).map(drop).map_err(refused)
            })?,
        })
    }

    pub(super) fn routing(&self) -> Routing {
        Routing::Dns { servers: vec![self.dns.address], port: self.server.address.port() }
    }
}

/// The refusal of the system, as reported by the other process.
fn refused(error: io::Error) -> Failure {
    Failure::Refused(error.to_string())
}

fn hosts() -> Result<Vec<Ipv4Addr>, Failure> {
    let of_version_4 =
        |address| if let std::net::IpAddr::V4(address) = address { Some(address) } else { None };
    Ok(Sources::parse(HOSTS)?.0.into_iter().filter_map(of_version_4).collect())
}

impl Process {
    /// Forks a process that serves, once it has reported where.
    fn start(
        name: &str,
        serve: impl FnOnce(&mut dyn FnMut(SocketAddr) -> io::Result<()>) -> Result<(), Failure>,
    ) -> Result<Process, Failure> {
        let cannot = |error: io::Error| Failure::Refused(format!("cannot start {name}: {error}"));
        let (reader, mut writer) = io::pipe().map_err(cannot)?;
        let number = sys::process::fork(move || {
            let served = serve(&mut |address| writeln!(writer, "{address}"));
            u8::from(served.is_err_and(|failure| {
                // Without a reader there is no waiting process.
                let _ = writeln!(writer, "{failure}");
                true
            }))
        });
        let number = number.map_err(cannot)?;
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).map_err(cannot)?;
        match line.trim_end().parse() {
            Ok(address) => Ok(Process { number, address }),
            Err(_) => Err(Failure::Refused(format!("cannot start {name}: {}", line.trim_end()))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = sys::process::kill(self.number);
    }
}
