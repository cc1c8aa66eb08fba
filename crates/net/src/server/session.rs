//! The service of one connection by a program that was executed for it, on its standard input and output.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};
use sys::tcp::Connection;

use super::ServerPlan;
use crate::Error;
use crate::arch::blocking::{self, Live};
use crate::service::{self, OpenService};
use crate::worker::{Counters, Limits, StopFlag, Terms};

/// The parameters of the program; one word of its command.
#[derive(Serialize, Deserialize)]
struct SessionParameters {
    service: String,
    settings: serde_json::Value,
    limits: Limits,
    /// The descriptor of the counters, and the number of workers they are for.
    counters: (i32, usize),
    /// The descriptor of the access log.
    log: Option<i32>,
    /// The process whose death ends the program.
    parent: u32,
}

/// The last word of the command that serves one connection of a server in this process.
///
/// # Errors
/// Those of fcntl(2).
pub(super) fn session_parameters(
    plan: &ServerPlan,
    service: &dyn OpenService,
    counters: &Counters,
    log: Option<&File>,
) -> io::Result<String> {
    let parameters = SessionParameters {
        service: plan.service.clone(),
        settings: service.handed_on().unwrap_or(&plan.settings).clone(),
        limits: plan.limits,
        counters: counters
            .inheritable()
            .ok_or_else(|| io::Error::other("the counters cannot be inherited"))?,
        log: log.map(sys::process::bequeath).transpose()?,
        parent: std::process::id(),
    };
    Ok(serde_json::to_string(&parameters)?)
}

/// Serves the connection that is this program's standard input and output, by the parameters that the server
/// added to the command.
///
/// # Errors
/// When the parameters, the descriptors or the service are invalid.
pub fn serve_session(parameters: &str) -> Result<(), Error> {
    let unreadable = |error: serde_json::Error| Error::Protocol {
        role: "the server of this session".to_owned(),
        message: error.to_string(),
    };
    let parameters: SessionParameters = serde_json::from_str(parameters).map_err(unreadable)?;
    if !sys::process::die_with(parameters.parent) {
        return Ok(());
    }
    let watching = sys::signal::watch().and_then(|()| sys::signal::watch_nudges());
    watching.map_err(Error::at("watch signals"))?;
    let (descriptor, workers) = parameters.counters;
    let counters = Counters::inherit(descriptor, workers).map_err(Error::at("count with the server"))?;
    let log = parameters.log.map(sys::process::inherited).transpose();
    let log = log.map_err(Error::at("use the server's access log"))?;
    let machine = service::find(&parameters.service)?.open(&parameters.settings, parameters.log.is_some())?;
    let connection = Connection::on_standard_input().map_err(Error::at("use the connection"))?;
    let stop = StopFlag::default();
    let terms = Terms {
        service: &*machine,
        limits: &parameters.limits,
        counters: &counters,
        stop: &stop,
        log: log.as_ref(),
    };
    blocking::serve(terms, &Live::new(connection));
    Ok(())
}
