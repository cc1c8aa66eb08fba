//! The program that measures loads and jobs. A load starts it again as the server under test, and a server
//! that executes a program for every connection starts it once more for each.

use std::io;
use std::process::ExitCode;

use trial::Done;

fn main() -> ExitCode {
    trial::run(&[servers::GROUP, jobs::GROUP], |arguments| match *arguments {
        ["serve"] => Some(serve()),
        ["session", order] => Some(session(order)),
        _ => None,
    })
}

/// Serves as the requests on standard input say, until it ends.
fn serve() -> Done {
    let program = sys::process::own_program()?.to_string_lossy().into_owned();
    Ok(net::server::serve_for(io::stdin(), io::stdout(), vec![program, "session".to_owned()])?)
}

/// Serves the connection that is standard input and output.
fn session(order: &str) -> Done {
    Ok(net::server::session(order)?)
}
