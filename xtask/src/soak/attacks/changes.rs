//! A file that is replaced, truncated, extended and removed while it is served, and clients that request it.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::field::Battlefield;
use crate::soak::site::{CHANGING, is_one_version};
use crate::soak::wire::{Wire, get};

/// Changes it until the attack is over.
pub(super) fn change(field: &Battlefield, rng: &mut Rng) {
    while !field.is_over() {
        if let Err(error) = field.site.change(rng) {
            field.findings.add(&format!("this machine cannot change a file: {error}"));
            return;
        }
        field.rest(Duration::from_millis(rng.u64(5..150)));
    }
}

/// Requests it a few times on one connection. A response is one version or the beginning of one, or says that
/// there is none.
pub(super) fn readers(field: &Battlefield, rng: &mut Rng) -> u64 {
    let Ok(mut wire) = Wire::connect(field.address) else { return 0 };
    for _ in 0..rng.u8(1..6) {
        if wire.send(get(CHANGING)).is_err() {
            break;
        }
        let end = Instant::now() + Duration::from_secs(5);
        let Ok(response) = wire.response(end, &|| !field.is_over()) else { break };
        match response.status {
            200 if !is_one_version(&response.body) => {
                field.findings.add("a changing file: a body has bytes of two versions");
            }
            200 | 404 | 503 => {}
            status => field.findings.add(&format!("a changing file: status {status}")),
        }
        if response.body.len() < response.length || response.is_last {
            break;
        }
        field.rest(Duration::from_millis(rng.u64(..40)));
    }
    1
}
