//! Any text is an address or an error, without a panic. An address is its parts, and can be written into a
//! command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::smtp::{Command, Mailbox};

fuzz_target!(|text: &str| {
    let Ok(mailbox) = Mailbox::parse(text) else { return };
    assert_eq!(format!("{}@{}", mailbox.local(), mailbox.domain()), text);
    assert!(!text.chars().any(char::is_control));
    let mut written = Vec::new();
    Command::Rcpt(mailbox).write(&mut written);
    assert_eq!(Command::parse(written.strip_suffix(b"\r\n").unwrap_or_default()), Ok(Command::Rcpt(mailbox)));
});
