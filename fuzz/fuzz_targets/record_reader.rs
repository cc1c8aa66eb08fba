//! Reading any file ends without a panic, and a recording can be made of it.
//!
//! The first byte chooses: the bytes as they are, behind a sound head, or packed behind a sound head.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::{Line, Reader, Recording};

const HEAD: &str = concat!(
    r#"{"type":"run","schema":1,"tool":{"name":"osdyno","version":"0","build":""},"started_at":"","#,
    r#""command":[],"preset":"quick","seed":1,"budget_seconds":null,"looks":[],"pinned":false}"#,
    "\n",
);

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let head = HEAD.as_bytes();
    let pack = |text: &[u8]| zstd::encode_all(text, 1).expect("packing in memory");
    let file = match choice % 4 {
        0 => data.to_vec(),
        1 => [head, data].concat(),
        2 => [pack(head), data.to_vec()].concat(),
        _ => [pack(head), pack(data)].concat(),
    };
    let Ok(mut reader) = Reader::new(file.as_slice(), "fuzz") else { return };
    let lines: Vec<Line> = reader.by_ref().map(|line| line.expect("memory can be read")).collect();
    let recording = Recording::new(lines).expect("a reader begins with the run line");
    for (key, trials) in recording.series() {
        let _ = format!("{key:#}");
        assert!(trials.is_sorted_by(|one, next| one.trial < next.trial));
        trials.iter().for_each(|series| series.points().for_each(drop));
    }
    for loss in reader.losses() {
        assert!(loss.offset <= file.len() as u64 && loss.count > 0);
        let _ = loss.to_string();
    }
});
