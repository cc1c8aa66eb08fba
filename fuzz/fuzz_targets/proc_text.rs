//! What /proc says of processes, whose names and paths programs choose.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sys::process_table::proc_text;

fuzz_target!(|text: &str| {
    if let Some((process, _)) = proc_text::stat(text) {
        assert!(text.contains(&process.name));
    }
    let lines = text.lines().count();
    assert!(proc_text::epoll(text).len() <= lines);
    assert!(proc_text::tcp_sockets(text).len() <= lines);
    assert!(proc_text::unix_sockets(text).len() <= lines);
    assert!(proc_text::kernel_stack(text).iter().all(|function| text.contains(function)));
    let _ = proc_text::descriptor(text);
    let _ = proc_text::sends_signals(text);
    let _ = proc_text::is_writable(text);
    let _ = proc_text::system_call(text);
    let _ = proc_text::stack_pointer(text);
    let _ = proc_text::memory(text);
});
