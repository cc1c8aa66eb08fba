//! The parsers of /proc and of sock_diag(7), on arbitrary text and on this process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use proptest::prelude::*;
use sys::process_table::{proc_text, sock_diag};

/// Text as programs choose it, between fields of the kernel.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        ".{0,12}",
        Just("(".to_owned()),
        Just(") S 1 ".to_owned()),
        Just("\n".to_owned()),
        "tfd: *[0-9]{0,12} events: *[0-9a-f]{0,9} data: 1 pos:0 ino:[0-9a-f]{0,18} sdev:9\n",
        Just("  0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 5 1\n".to_owned()),
        Just("flags:\t02024002\n".to_owned()),
        Just("socket:[".to_owned()),
        "[0-9a-fA-F:x ]{0,20}",
    ];
    let parts = prop::collection::vec(part, 0..20).prop_map(|parts| parts.concat());
    // And a process, whose numbers may be too large.
    prop_oneof![3 => parts, 1 => "[0-9]{0,4} \\(\\PC{0,20}\\) [RSDZ] [0-9]{1,9}( [0-9]{1,20}){18,52}"]
}

proptest! {
    #[test]
    fn no_text_breaks_a_parser(text in any_text()) {
        if let Some((process, _)) = proc_text::stat(&text) {
            prop_assert!(text.contains(&process.name));
        }
        let _ = proc_text::descriptor(&text);
        let _ = proc_text::sends_signals(&text);
        let _ = proc_text::system_call(&text);
        let _ = proc_text::stack_pointer(&text);
        let _ = proc_text::status_number(&text, "Pss");
        let _ = proc_text::memory(&text);
        let lines = text.lines().count();
        prop_assert!(proc_text::epoll(&text).len() <= lines);
        prop_assert!(proc_text::tcp_sockets(&text).len() <= lines);
        prop_assert!(proc_text::unix_sockets(&text).len() <= lines);
        prop_assert!(proc_text::kernel_stack(&text).len() <= lines);
    }

    #[test]
    fn no_datagram_breaks_the_parser(lengths in prop::collection::vec(0_u8..90, 0..8), bytes: Vec<u8>) {
        let message = |length: u8| {
            let length = u32::from(length).to_ne_bytes();
            let body = bytes.iter().copied().chain(std::iter::repeat(0)).take(84);
            length.into_iter().chain([20, 0]).chain(body)
        };
        let datagram: Vec<u8> = lengths.into_iter().flat_map(message).collect();
        for datagram in [&datagram, &bytes] {
            if let Ok(answer) = sock_diag::answer(datagram) {
                prop_assert!(answer.sockets.len() <= datagram.len() / 72);
            }
        }
    }

    #[test]
    fn any_name_leaves_the_fields_in_their_place(
        name in prop_oneof!["(?s).{0,15}", "[() S1\n\t\x1b]{0,15}"],
        pid in 1_u32..,
        threads in 1_u64..100_000,
    ) {
        let text = format!("{pid} ({name}) S 1 7 7 0 -1 4194560 9 0 0 0 12 30 0 0 20 0 {threads} 0 8123 1 2\n");
        let (process, ticks) = proc_text::stat(&text).expect("a process");
        prop_assert_eq!((process.pid, process.threads, process.parent, ticks), (pid, threads, 1, 42));
        prop_assert_eq!(process.started_ticks, 8123);
        prop_assert!(!process.is_of_kernel && !process.is_zombie());
        prop_assert_eq!(process.name, name);
    }
}

#[cfg(target_os = "linux")]
mod here {
    use std::net::{TcpListener, TcpStream};

    use sys::process_table::{self, DescriptorKind, SocketPlace, SocketState, WaitCall};

    #[test]
    fn a_listening_socket_is_found_by_its_inode_and_port() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let _client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        let own = std::process::id();
        let sockets = process_table::sockets(own).expect("sockets");
        let is_ours = |state| {
            move |entry: &&process_table::SocketEntry| {
                entry.state == state
                    && matches!(entry.place, SocketPlace::Tcp { port: here, .. } if here == port)
            }
        };
        let found = sockets.iter().find(is_ours(SocketState::Listening)).expect("it listens");
        assert_eq!(found.queued, 1, "the client waits to be accepted");
        let waiting = sockets.iter().find(is_ours(SocketState::Connected)).expect("it is connected");
        assert_eq!(waiting.inode, 0, "nobody has accepted it");
        let descriptors = process_table::descriptors(own).expect("descriptors");
        assert!(descriptors.iter().any(|one| one.kind == DescriptorKind::Socket(found.inode)));
    }

    #[test]
    fn what_a_thread_waits_for_is_seen() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let waiting = std::thread::spawn(move || listener.accept().map(drop));
        let own = std::process::id();
        let accepts = || {
            let threads = process_table::threads(own).expect("threads");
            let waits = threads.into_iter().filter_map(|thread| process_table::thread_wait(own, thread).ok());
            waits.filter(|wait| wait.call == WaitCall::Accept).count() > 0
        };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !accepts() {
            assert!(std::time::Instant::now() < deadline, "no thread waits in accept(2)");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(TcpStream::connect(address).expect("a connection"));
        waiting.join().expect("no panic").expect("a connection");
    }

    #[test]
    fn a_process_that_has_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().expect("true starts");
        child.wait().expect("its end");
        let error = process_table::process(child.id()).expect_err("it has ended");
        assert!(process_table::is_gone(&error), "{error}");
    }
}
