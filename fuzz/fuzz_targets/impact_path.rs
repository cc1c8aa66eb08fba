//! Any text after `--path`, `--cost` and `--use` is read or refused, and an answer consists of numbers.
#![no_main]

use inspect::impact::{Cost, Demand, Impact, ImpactQuestion, NetworkPath, UsedOperation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = UsedOperation::parse(text);
    let (path, cost) = text.split_once('\n').unwrap_or((text, "accept=2us"));
    let (Ok(path), Ok(cost)) = (NetworkPath::parse(path), Cost::parse(cost)) else { return };
    let question = ImpactQuestion { path, bytes: 50e6, demand: Demand::default() };
    let impact = Impact::of(&[cost.clone(), cost], true, &question);
    for one in impact.together.iter().chain(&impact.costs) {
        for share in one.response.iter().chain(&one.transfer) {
            assert!((0.0..=1.0).contains(&share.share.value), "{share:?}");
            assert!(share.gain.value <= share.share.value, "{share:?}");
        }
    }
});
