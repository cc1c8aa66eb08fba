//! What /proc says of code: /proc/kallsyms, whose names modules choose, and /proc/PID/maps, whose paths
//! programs choose.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sys::profile::{KernelSymbols, parse_mappings};

fuzz_target!(|text: &str| {
    let mappings = parse_mappings(text);
    assert!(mappings.len() <= text.lines().count());
    assert!(mappings.iter().all(|mapping| text.contains(&mapping.path)));
    let symbols = KernelSymbols::parse(text.to_owned());
    let Some((first, name)) = symbols.first() else { return };
    assert!(text.contains(name));
    for address in [first, first.wrapping_add(1), u64::MAX, 0] {
        if let Some(symbol) = symbols.containing(address) {
            assert!(text.contains(symbol.name) && text.contains(symbol.module));
        }
    }
});
