//! Inventories in every form, and the patterns and sets of a command line.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = fleet::listed(&[text]);
    if let Ok(hosts) = fleet::hosts(&format!("n[1-3]={text}")) {
        let _ = fleet::select(&hosts, text);
    }
    for is_yaml in [false, true] {
        let _ = fleet::read(text, is_yaml, "all");
    }
});
