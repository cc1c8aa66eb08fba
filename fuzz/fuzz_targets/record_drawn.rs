//! Judging, comparing and drawing a run file with any lines ends without a panic.
//!
//! The mutator starts from real runs and keeps to JSON, so that it gets past the parser: it replaces,
//! removes, repeats and moves values and lines. Run it with `-max_len=200000`.
#![no_main]

#[path = "../../crates/report/tests/it/damage/mod.rs"]
mod damage;

use std::sync::LazyLock;

use fastrand::Rng;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use serde_json::Value;

static SAMPLES: LazyLock<Vec<Vec<Value>>> = LazyLock::new(damage::samples);

fuzz_target!(|data: &[u8]| damage::draw(data));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut rng = Rng::with_seed(u64::from(seed));
    let lines: Option<Vec<Value>> =
        data[..size].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(parse).collect();
    // Once in a while anew, so that no damage is there to stay.
    let mut lines = match lines {
        Some(lines) if lines.len() > 5 && rng.u8(..) > 8 => lines,
        _ => rng.choice(&*SAMPLES).cloned().unwrap_or_default(),
    };
    damage::damage(&mut lines, &mut rng);
    let text = damage::text(&lines);
    if text.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[..text.len()].copy_from_slice(&text);
    text.len()
});

fn parse(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok()
}
