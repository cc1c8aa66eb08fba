//! Any text after `--for`, and in a record of old values, is read or refused; a text that was read names
//! known settings and numbers.
#![no_main]

use inspect::doctor::{MachineDemand, LimitSetting};
use inspect::tune::UndoRecord;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(demand) = std::str::from_utf8(data).ok().and_then(|text| text.parse::<MachineDemand>().ok()) {
        assert!(demand.items().all(|(_, count)| count > 0));
        assert!(demand.needs().iter().all(|need| need.amount < 1 << 50));
    }
    if let Ok(record) = UndoRecord::parse(data) {
        for change in record.changes() {
            assert!(LimitSetting::named(&change.name).is_some_and(LimitSetting::is_of_system), "{change:?}");
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ');
            assert!(is_number(&change.before) && is_number(&change.after), "{change:?}");
        }
    }
});
