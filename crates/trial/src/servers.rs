//! The groups that osdyno itself measures, scalings, loads and jobs, with the roles that these need beside
//! those of every trial: a load starts the program again as the server under test, as one of several load
//! generators, or as the sink and the DNS server that stand opposite a client, and a server that executes a
//! program for every connection starts it once more for each.

use std::io;
use std::process::ExitCode;

use mail::MailWorker;
use net::load::Generator;
use net::load::coordinator::{JointWork, work};
use workload::Group;

use crate::Done;

const GROUPS: [Group; 4] = [cores::GROUP, servers::GROUP, jobs::GROUP, mail::GROUP];

/// The role in which a server that executes a program for every connection starts this one.
const SESSION: &str = "session";

/// Plays the role that the arguments of the process name; `None` where they name none.
pub fn play() -> Option<ExitCode> {
    crate::play(&GROUPS, |role| match *role {
        [net::server::ROLE] => Some(serve()),
        [Generator::ROLE] => Some(together::<Generator>()),
        [MailWorker::ROLE] => Some(together::<MailWorker>()),
        [mail::dns::NAMES_ROLE] => Some(answer()),
        [SESSION, order] => Some(session(order)),
        _ => None,
    })
}

/// The command of this program that serves one connection.
///
/// # Errors
/// When the system does not report the path of this program.
pub fn session_command() -> io::Result<Vec<String>> {
    let program = sys::process::own_program()?.to_string_lossy().into_owned();
    Ok(vec![program, host::TRIAL.to_owned(), SESSION.to_owned()])
}

/// Serves by the requests on standard input, until that ends.
fn serve() -> Done {
    Ok(net::server::serve_for(io::stdin(), io::stdout(), session_command()?)?)
}

/// Works together with other processes, by the requests on standard input.
fn together<W: JointWork>() -> Done {
    // An interrupt ends the work, and not the counts of it.
    sys::signal::watch()?;
    Ok(work::<W>(io::stdin(), io::stdout())?)
}

/// Serves DNS for generated domains by the plan on standard input, until that ends.
fn answer() -> Done {
    Ok(mail::dns::serve_names(io::stdin(), io::stdout())?)
}

/// Serves the connection that is standard input and output.
fn session(order: &str) -> Done {
    Ok(net::server::serve_session(order)?)
}
