//! Any file of numbers is judged without a panic, and the answer is JSON.
//!
//! The first byte chooses: the bytes as they are, behind a header, or as columns of a program of 2003.
#![no_main]

use libfuzzer_sys::fuzz_target;
use import::{Import, Options, Program};
use judge::{Findings, MARGIN};
use report::RunAnswer;

/// Judging takes time that grows with the rows; few rows show all effects of a row.
const BYTES_MAX: usize = 1 << 14;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let data = &data[..data.len().min(BYTES_MAX)];
    let header: &[u8] = match choice % 4 {
        0 => b"",
        1 => b"series,trial,direction,n,value\n",
        2 => b"value;n;trial;series\r\n",
        _ => b"1 2\n",
    };
    let program = (choice & 4 != 0).then_some(Program::Forkbench);
    let mut import = Import::new(Options { program, ..Options::default() });
    let file = [header, data].concat();
    if import.read("fuzz", file.as_slice()).is_err() {
        return;
    }
    let Ok(imported) = import.finish() else { return };
    let findings = Findings::from_import(&imported.recording, MARGIN);
    let text = serde_json::to_vec(&RunAnswer::new(&findings)).expect("memory can be written");
    serde_json::from_slice::<serde_json::Value>(&text).expect("JSON");
});
