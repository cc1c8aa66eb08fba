//! Each line from a client of SMTP is a command or an error, without a panic. A command that was read is
//! written in one line, which is read as the same command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::smtp::{COMMAND_BYTES_MAX, Command, LineBuffer};

fuzz_target!(|data: &[u8]| {
    let (mut buffer, mut input) = (LineBuffer::default(), data);
    // A line that is too long is an error, and not the end.
    while !input.is_empty() {
        let Ok(Some(line)) = buffer.take(&mut input, COMMAND_BYTES_MAX) else { continue };
        let Ok(command) = Command::parse(line) else { continue };
        let mut written = Vec::new();
        command.write(&mut written);
        let line = written.strip_suffix(b"\r\n").unwrap_or_default();
        assert!(!line.iter().any(|byte| b"\r\n\0".contains(byte)));
        let again = Command::parse(line);
        assert!(again == Ok(command) || command == Command::Unknown, "{command:?} became {again:?}");
    }
});
