//! What this machine must have for a load, checked before it begins.

use net::load::{FROM_ONE_ADDRESS, Load, LoadSettings};

use crate::cmd::warn;
use crate::failure::Failure;

/// Reports what would stop a load before it begins.
pub(super) fn check(settings: &LoadSettings, loads: &[Load], workers: usize) -> Result<(), Failure> {
    let cores = sys::cpu::count();
    if workers == 0 || workers > cores {
        return Err(Failure::Usage(format!("-w {workers}: this machine supports 1 to {cores} workers")));
    }
    let most = loads.iter().map(|load| load.connections).max().unwrap_or(0);
    let places = |load: &Load| if load.rate.is_none() { load.connections } else { settings.connections_max };
    if loads.iter().any(|load| places(load) < workers) {
        return Err(Failure::Usage(format!(
            "{workers} workers need at least one connection each; use fewer with -w, or more connections"
        )));
    }
    // The limit is of one process.
    let _ = sys::limit::raise_soft_to_hard();
    let each = (most + settings.idle).div_ceil(workers) as u64;
    if let Ok(bound) = sys::limit::ceiling(sys::limit::Resource::Descriptors)
        && each > bound.usable
    {
        return Err(Failure::Refused(format!(
            "{each} connections in one process are more than {} allows ({}); {}, or share them with -w",
            bound.limit, bound.value, bound.advice
        )));
    }
    if settings.target.network().is_none() {
        return Ok(());
    }
    let places = settings.sources.0.len().max(1);
    if (most + settings.idle) / places > FROM_ONE_ADDRESS + 8_000 {
        warn(&format!(
            "{} connections from {places} source address(es) need more ports than there are; name more \
             with --source",
            most + settings.idle
        ));
    }
    // The side that closes first keeps the port in TIME_WAIT, for 60 s on Linux.
    let closes_first = (settings.new_connections || settings.requests_per_connection.is_some())
        && !settings.server_closes()
        && !settings.reset;
    if let (true, Ok(ports)) = (closes_first, sys::limit::ceiling(sys::limit::Resource::LocalPorts)) {
        let rate = ports.usable as f64 * places as f64 / TIME_WAIT_SECONDS;
        warn(&format!(
            "this side closes first, so its ports stay in TIME_WAIT for {TIME_WAIT_SECONDS:.0} s: more than \
             {rate:.0} new connections per second use up all ports; use --reset, or name more addresses \
             with --source"
        ));
    }
    Ok(())
}

/// tcp(7) of Linux; others differ.
const TIME_WAIT_SECONDS: f64 = 60.0;
