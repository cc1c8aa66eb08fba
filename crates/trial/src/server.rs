//! A server that a workload loads, in a process of its own; and one connection of one that executes a program
//! for each.

use std::io;

use net::server::ServerPlan;

use crate::Done;

/// Serves as planned until standard input ends, and answers its lines with the counters.
pub(crate) fn serve(plan: &str) -> Done {
    let mut plan: ServerPlan =
        serde_json::from_str(plan).map_err(|error| format!("cannot read the plan: {error}"))?;
    let program = std::env::current_exe()?;
    plan.session_command = vec![program.to_string_lossy().into_owned(), "session".to_owned()];
    Ok(net::server::serve_for(plan, io::stdin(), io::stdout())?)
}

/// Serves the connection that is standard input and output.
pub(crate) fn session(order: &str) -> Done {
    Ok(net::server::session(order)?)
}
