//! Connections that are closed by a reset, at every stage: before a byte, within a request, right after it,
//! within the response, and between two requests.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::field::Battlefield;
use crate::soak::site::LARGE;
use crate::soak::wire::{Wire, get, get_and_close};

const STAGES: u32 = 7;

pub(super) fn resets(field: &Battlefield, rng: &mut Rng) -> u64 {
    let mut connections = 0;
    for stage in 0..STAGES {
        let Ok(mut wire) = Wire::connect(field.address) else { continue };
        connections += 1;
        // An error says that the server was faster, which is a stage of its own.
        let _ = reach(field, &mut wire, stage);
        if rng.bool() {
            field.rest(Duration::from_millis(rng.u64(..8)));
        }
        wire.reset();
    }
    connections
}

fn reach(field: &Battlefield, wire: &mut Wire, stage: u32) -> std::io::Result<()> {
    match stage {
        0 => Ok(()),
        1 => wire.send("GE"),
        2 => wire.send("GET / HTTP/1.1\r\nHost: a\r\nX: "),
        3 => wire.send(get(LARGE)),
        4 => {
            wire.send(get(LARGE).repeat(3))?;
            wire.receive(5000).map(|_| ())
        }
        5 => {
            wire.send(get("/"))?;
            let is_wanted = || !field.is_over();
            wire.response(Instant::now() + Duration::from_secs(2), &is_wanted).map(|_| ())
        }
        _ => {
            wire.send(get_and_close("/medium.bin"))?;
            wire.finish();
            Ok(())
        }
    }
}
