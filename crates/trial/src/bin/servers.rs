//! The program that measures the loads. A load starts it again as the server under test, and a server that
//! executes a program for every connection starts it once more for each.

use std::io;
use std::process::ExitCode;

use net::server::ServerPlan;
use trial::Done;

fn main() -> ExitCode {
    trial::run(&[servers::GROUP], |arguments| match *arguments {
        ["serve", plan] => Some(serve(plan)),
        ["session", order] => Some(session(order)),
        _ => None,
    })
}

/// Serves as planned until standard input ends, and answers its lines with the counters.
fn serve(plan: &str) -> Done {
    let mut plan: ServerPlan =
        serde_json::from_str(plan).map_err(|error| format!("cannot read the plan: {error}"))?;
    let program = std::env::current_exe()?;
    plan.session_command = vec![program.to_string_lossy().into_owned(), "session".to_owned()];
    Ok(net::server::serve_for(plan, io::stdin(), io::stdout())?)
}

/// Serves the connection that is standard input and output.
fn session(order: &str) -> Done {
    Ok(net::server::session(order)?)
}
