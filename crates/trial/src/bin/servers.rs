//! The program that measures loads and jobs. A load starts it again as the server under test, or as the sink
//! and the DNS server that stand opposite a client, and a server that executes a program for every connection
//! starts it once more for each.

use std::io;
use std::process::ExitCode;

use trial::Done;

fn main() -> ExitCode {
    trial::run(&[servers::GROUP, jobs::GROUP, mail::GROUP], |arguments| match *arguments {
        ["serve"] => Some(serve()),
        [mail::dns::NAMES_ROLE] => Some(answer()),
        ["session", order] => Some(session(order)),
        _ => None,
    })
}

/// Serves as the requests on standard input say, until it ends.
fn serve() -> Done {
    let program = sys::process::own_program()?.to_string_lossy().into_owned();
    Ok(net::server::serve_for(io::stdin(), io::stdout(), vec![program, "session".to_owned()])?)
}

/// Answers for generated domains as the plan on standard input says, until it ends.
fn answer() -> Done {
    Ok(mail::dns::serve_names(io::stdin(), io::stdout())?)
}

/// Serves the connection that is standard input and output.
fn session(order: &str) -> Done {
    Ok(net::server::session(order)?)
}
