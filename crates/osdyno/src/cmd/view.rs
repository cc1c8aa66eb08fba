//! `osdyno view`: a folder of runs in a browser.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::view::{PrivateSite, Site};
use net::server::{ListeningServer, ServerPlan};
use net::worker::Limits;
use report::words::things;

use super::serve::parse_address;
use super::{Done, warn};
use crate::console::{Failure, completion, results, tell};

/// Show a folder of runs in a browser: list, any run against any, and every cost over time
///
/// The address that is printed has a secret, so that other users of this machine and pages of others do not
/// find it. Nothing is written into the folder but the index of osdyno history. Ctrl-C ends it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder of run files
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Address to listen on; port 0 selects a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = parse_address)]
    listen: SocketAddr,
    /// File with the secret part of the address, at least 16 letters and digits: needed where other machines
    /// can reach it [default on this machine alone: a new secret each time]
    #[arg(long, value_name = "FILE")]
    token: Option<PathBuf>,
    /// Name by which browsers reach this host, where that is not the address
    #[arg(long, value_name = "NAME", value_parser = host)]
    name: Option<String>,
    /// Write the same pages as files into this folder, for any web server, and end
    #[arg(long, value_name = "DIR", conflicts_with_all = ["listen", "token", "name"])]
    export: Option<PathBuf>,
}

/// Letters and digits of a secret, at the least.
const SECRET_LEAST: usize = 16;

/// Reads a secret: on a command line other users would see it.
fn read_secret(path: &Path) -> Result<String, Failure> {
    let unread = |error| Failure::Usage(format!("{}: cannot read the secret: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(unread)?;
    let secret = text.trim();
    match secret.len() >= SECRET_LEAST && secret.chars().all(|letter| letter.is_ascii_alphanumeric()) {
        true => Ok(secret.to_owned()),
        false => Err(Failure::Usage(format!(
            "{}: a secret has at least {SECRET_LEAST} letters and digits, and nothing else",
            path.display()
        ))),
    }
}

fn host(text: &str) -> Result<String, String> {
    match !text.is_empty()
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter))
    {
        true => Ok(text.to_owned()),
        false => Err("a host has a name of letters, digits, dots and -, without a port".to_owned()),
    }
}

/// Connections at a time: a browser takes six, and slow clients keep theirs.
const CONNECTIONS: usize = 4000;
/// A client that asks for nothing is sent away.
const IDLE: Duration = Duration::from_secs(30);

pub(crate) fn view(args: &Args) -> Done {
    // Before anything listens: a folder that cannot be read is an error of this command.
    let runs = super::history::open(&args.folder)?.runs.len();
    if let Some(target) = &args.export {
        return export(&args.folder, target);
    }
    if !args.listen.ip().is_loopback() && args.token.is_none() {
        return Err(Failure::Usage(format!(
            "{} is open to other machines; write a secret into a file and name that with --token",
            args.listen.ip()
        )));
    }
    let secret = args.token.as_deref().map_or_else(|| Ok(new_secret()), read_secret)?;
    let limits = Limits { connections: CONNECTIONS, idle: IDLE, ..Limits::default() };
    let plan = ServerPlan {
        // While a page is made, which can take seconds, other connections are answered.
        architecture: "thread".to_owned(),
        address: args.listen,
        limits,
        ..ServerPlan::default()
    };
    let site = PrivateSite::new(Site::new(&args.folder, false), secret.clone(), args.name.clone());
    let site = Arc::new(site);
    let server = ListeningServer::set_up_for(plan, |_| Ok(net::service::http::made(site.clone())))?;
    let host = match &args.name {
        Some(name) => format!("{name}:{}", server.address().port()),
        None => server.address().to_string(),
    };
    tell(&format!("{}; Ctrl-C ends this", things(runs, "run", "runs")));
    writeln!(results(), "http://{host}/{secret}/")?;
    server.run(|_| {})?;
    Ok(ExitCode::SUCCESS)
}

fn export(folder: &Path, target: &Path) -> Done {
    let exported = ::view::export(folder, target).map_err(Failure::writing(target))?;
    exported.failed.iter().for_each(|(page, reason)| warn(&format!("{page}: {reason}")));
    tell(&format!("{} written into {}", things(exported.pages, "page", "pages"), target.display()));
    Ok(completion(exported.failed.is_empty()))
}

/// 128 bits that nobody can guess: the keys of the standard library's hash tables come from the system.
fn new_secret() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}
