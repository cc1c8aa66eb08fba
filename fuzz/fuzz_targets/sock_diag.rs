//! With any bytes as the kernel's answer about sockets, there are no more of them than the answer has room
//! for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sys::process_table::sock_diag;

fuzz_target!(|datagram: &[u8]| {
    let Ok(answer) = sock_diag::answer(datagram) else { return };
    assert!(answer.sockets.len() <= datagram.len() / 72);
});
