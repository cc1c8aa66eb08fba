//! Any text after `--background` is read or refused; a value that was read stays the same when its canonical
//! form is read.
#![no_main]

use background::{BackgroundSpec, FixedLoad};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(background) = BackgroundSpec::parse(text) else { return };
    assert!(!background.levels().is_empty());
    for load in background.levels().iter().flat_map(|level| &level.loads) {
        assert!(load.rate() > 0.0 && load.rate().is_finite());
        let written = load.to_string();
        assert_eq!(FixedLoad::parse(&written).expect("the canonical form").to_string(), written);
    }
});
