//! Connections in numbers: opened and closed as fast as they come, or opened and never used.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::field::Battlefield;
use crate::soak::wire::{Wire, get, is_timeout};

/// Connections of one flood.
const FLOOD: usize = 60;

/// Silent clients at a time. Together with those that are slow they are fewer than the processes of a pool.
const SILENT: usize = 10;

/// A pipeline of which nobody reads a response until all requests are sent.
const PIPELINE: usize = 200;

/// A flood of connections, each closed in one of three ways; then one pipeline.
pub(super) fn crowds(field: &Battlefield, rng: &mut Rng) -> u64 {
    let mut connections = 0;
    for _ in 0..FLOOD {
        if field.is_over() {
            return connections;
        }
        let Ok(mut wire) = Wire::connect(field.address) else { continue };
        connections += 1;
        match rng.u8(..3) {
            0 => drop(wire),
            1 => wire.reset(),
            // The response arrives at a connection that is closed.
            _ => drop(wire.send(get("/"))),
        }
    }
    connections + u64::from(pipeline(field).is_ok())
}

/// Many requests at once; every response is the file.
fn pipeline(field: &Battlefield) -> std::io::Result<()> {
    let mut wire = Wire::connect(field.address)?;
    wire.send(get("/").repeat(PIPELINE))?;
    let end = Instant::now() + Duration::from_secs(3);
    for _ in 0..PIPELINE {
        let response = wire.response(end, &|| !field.is_over())?;
        if response.status == 200
            && response.body.len() == response.length
            && response.body != field.site.content("/")
        {
            field.findings.add("a pipelined response has a wrong byte");
        }
    }
    Ok(())
}

/// Connections that stay silent, from the beginning or after a response, half of them half-closed; held until
/// the server closes them.
pub(super) fn half_open(field: &Battlefield, rng: &mut Rng) -> u64 {
    let mut silent: Vec<Wire> = Vec::new();
    for _ in 0..SILENT {
        let Ok(mut wire) = Wire::connect(field.address) else { continue };
        match rng.u8(..4) {
            0 => _ = wire.send(get("/")),
            1 => wire.finish(),
            _ => {}
        }
        silent.push(wire);
    }
    let (count, end) = (silent.len() as u64, Instant::now() + Duration::from_secs(5));
    while field.is_wanted(end) && !silent.is_empty() {
        silent.retain_mut(|wire| match wire.receive(4096) {
            Ok(count) => count > 0,
            Err(error) => is_timeout(&error),
        });
    }
    count
}

/// Takes connections until so many are open, and holds them until it is over: whatever the server closes is
/// opened again after a pause.
pub(in crate::soak) fn hold(field: &Battlefield, most: usize) -> u64 {
    let (mut held, mut connections) = (Vec::new(), 0);
    while !field.is_over() {
        while held.len() < most && !field.is_over() {
            match Wire::connect(field.address) {
                Ok(wire) => held.push(wire),
                Err(_) => break,
            }
            connections += 1;
        }
        // None is taken anew before all are gone, so that others have their turn.
        for _ in 0..10 {
            field.rest(Duration::from_millis(50));
        }
        held.retain_mut(|wire| wire.is_open());
        if !held.is_empty() {
            continue;
        }
        field.rest(Duration::from_millis(500));
    }
    connections
}
