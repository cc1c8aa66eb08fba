//! The ring on loopback: data arrives, exhausted resources come back, and a dropped ring leaves nothing.
//!
//! Without io_uring the tests check only that it is reported as missing.
#![cfg(unix)]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use sys::event::Interest;
use sys::ring::{OperationId, Ring, RingSettings};

/// No test waits longer than this.
const PATIENCE: Duration = Duration::from_secs(10);
const SMALL: RingSettings = RingSettings { entries: 8, completions: 16, buffers: 16, buffer_bytes: 1024 };

/// A ring; `None`, with a reason, on a system without one.
fn ring(settings: RingSettings) -> Option<Ring> {
    match Ring::new(settings) {
        Ok(ring) => Some(ring),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::Unsupported, "{error}");
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// A completion without its borrow, and when it came.
#[derive(Debug)]
struct Reported {
    token: u64,
    result: std::io::Result<u32>,
    more: bool,
    input: Vec<u8>,
    returned: Option<Vec<u8>>,
    accepted: Option<OwnedFd>,
}

impl Reported {
    fn errno(&self) -> i32 {
        self.result.as_ref().err().and_then(std::io::Error::raw_os_error).unwrap_or(0)
    }
}

/// The next completion, which must come.
fn next(ring: &mut Ring) -> Reported {
    told(ring, PATIENCE).expect("a completion within ten seconds")
}

fn told(ring: &mut Ring, patience: Duration) -> Option<Reported> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(completion) = ring.completion() {
            return Some(Reported {
                token: completion.token,
                result: completion.result,
                more: completion.more,
                input: completion.input.to_vec(),
                returned: completion.returned,
                accepted: completion.accepted,
            });
        }
        if Instant::now() >= deadline {
            return None;
        }
        ring.wait(Some(patience)).unwrap();
    }
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    (client, listener.accept().unwrap().0)
}

/// Serves until every connection has ended; the bytes that went through.
fn echo(ring: &mut Ring, listener: &TcpListener, connections: usize) -> usize {
    const LISTENER: u64 = u64::MAX;
    const SENT: u64 = 1 << 32;
    let mut sockets: HashMap<u64, OwnedFd> = HashMap::new();
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let (mut ended, mut bytes, mut accepted) = (0, 0, 0);
    let accept = ring.accept_multishot(listener.as_fd(), LISTENER).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while ended < connections {
        assert!(Instant::now() < deadline, "{ended} of {connections} ended in time");
        ring.wait(Some(PATIENCE)).unwrap();
        while let Some(completion) = ring.completion() {
            let (token, more) = (completion.token, completion.more);
            if token == LISTENER {
                let socket = completion.accepted.unwrap();
                ring.recv_multishot(socket.as_fd(), accepted).unwrap();
                sockets.insert(accepted, socket);
                accepted += 1;
                if !more {
                    ring.accept_multishot(listener.as_fd(), LISTENER).unwrap();
                }
            } else if token & SENT != 0 {
                let returned = completion.returned.unwrap();
                assert_eq!(completion.result.unwrap() as usize, returned.len(), "all is sent");
                spare.push(returned);
            } else if completion.result.as_ref().is_ok_and(|count| *count == 0) {
                ring.close(sockets.remove(&token).unwrap());
                ended += 1;
            } else {
                bytes += completion.input.len();
                let mut answer = spare.pop().unwrap_or_default();
                answer.clear();
                answer.extend_from_slice(completion.input);
                let socket = sockets[&token].as_fd();
                if !answer.is_empty() {
                    ring.send(socket, answer, SENT | token).unwrap();
                }
                if !more {
                    ring.recv_multishot(socket, token).unwrap();
                }
            }
        }
    }
    ring.cancel(accept).unwrap();
    bytes
}

/// Each sends `rounds` pieces and checks that they come back.
fn clients(listener: &TcpListener, connections: usize, rounds: usize) -> std::thread::JoinHandle<()> {
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut streams: Vec<TcpStream> =
            (0..connections).map(|_| TcpStream::connect(address).unwrap()).collect();
        for round in 0..rounds {
            for (number, stream) in streams.iter_mut().enumerate() {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                stream.write_all(format!("{number:06} {round:06}").as_bytes()).unwrap();
            }
            for (number, stream) in streams.iter_mut().enumerate() {
                let mut answer = [0; 13];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(answer, *format!("{number:06} {round:06}").as_bytes());
            }
        }
    })
}

#[test]
fn fifty_connections_are_echoed() {
    let Some(mut ring) = ring(RingSettings::default()) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = clients(&listener, 50, 20);
    assert_eq!(echo(&mut ring, &listener, 50), 50 * 20 * 13);
    clients.join().unwrap();
}

/// More operations than entries, more completions than their queue holds, fewer buffers than connections.
#[test]
fn queues_that_overflow_lose_nothing() {
    let Some(mut ring) = ring(RingSettings { entries: 2, completions: 4, buffers: 2, buffer_bytes: 64 })
    else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = clients(&listener, 100, 5);
    assert_eq!(echo(&mut ring, &listener, 100), 100 * 5 * 13);
    clients.join().unwrap();
}

#[test]
fn buffers_run_out_and_recover() {
    let Some(mut ring) = ring(RingSettings { buffers: 2, buffer_bytes: 8, ..SMALL }) else { return };
    let (mut client, server) = pair();
    client.write_all(b"aaaaaaaabbbbbbbbccccccccdddddddd").unwrap();
    ring.recv_multishot(server.as_fd(), 1).unwrap();
    let mut input: Vec<u8> = Vec::new();
    let mut ran_out = 0;
    for _ in 0..20 {
        let told = next(&mut ring);
        input.extend(&told.input);
        if told.errno() == libc::ENOBUFS {
            ran_out += 1;
            assert!(!told.more);
        }
        if input.len() == 32 {
            break;
        }
        if !told.more {
            ring.recv_multishot(server.as_fd(), 1).unwrap();
        }
    }
    assert_eq!(input, b"aaaaaaaabbbbbbbbccccccccdddddddd");
    assert!(ran_out > 0, "two buffers of eight bytes hold 32");
}

#[test]
fn a_ring_without_buffers_receives_nothing() {
    let Some(mut ring) = ring(RingSettings { buffers: 0, ..SMALL }) else { return };
    let (mut client, server) = pair();
    client.write_all(b"x").unwrap();
    ring.recv_multishot(server.as_fd(), 1).unwrap();
    assert_eq!(next(&mut ring).errno(), libc::ENOBUFS);
}

#[test]
fn a_long_answer_is_sent_whole() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (mut client, server) = pair();
    let answer: Vec<u8> = (0..8_000_000_u32).map(|place| (place % 251) as u8).collect();
    let expected = answer.clone();
    let reader = std::thread::spawn(move || {
        let mut read = Vec::new();
        client.read_to_end(&mut read).unwrap();
        read
    });
    ring.send(server.as_fd(), answer, 7).unwrap();
    let told = next(&mut ring);
    assert_eq!((told.token, told.result.unwrap(), told.more), (7, 8_000_000, false));
    assert_eq!(told.returned.unwrap(), expected);
    server.shutdown(Shutdown::Both).unwrap();
    assert!(reader.join().unwrap() == expected);
}

#[test]
fn sending_to_who_has_left_is_an_error() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (client, server) = pair();
    server.shutdown(Shutdown::Write).unwrap();
    ring.send(server.as_fd(), vec![1; 100], 7).unwrap();
    let told = next(&mut ring);
    assert_eq!(told.errno(), libc::EPIPE);
    assert_eq!(told.returned.unwrap().len(), 100);
    drop(client);
}

#[test]
fn descriptors_that_do_not_block_are_waited_for_too() {
    let Some(mut ring) = ring(SMALL) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    ring.accept_multishot(listener.as_fd(), 1).unwrap();
    assert!(told(&mut ring, Duration::from_millis(20)).is_none());
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = TcpStream::from(next(&mut ring).accepted.unwrap());
    socket.set_nonblocking(true).unwrap();
    ring.recv_multishot(socket.as_fd(), 2).unwrap();
    assert!(told(&mut ring, Duration::from_millis(20)).is_none());
    client.write_all(b"hello").unwrap();
    assert_eq!(next(&mut ring).input, b"hello");
}

#[test]
fn files_are_read_into_memory_that_comes_back() {
    let Some(mut ring) = ring(SMALL) else { return };
    let path = std::env::temp_dir().join(format!("sys-ring-{}", std::process::id()));
    std::fs::write(&path, b"0123456789").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    ring.read_at(file.as_fd(), 4, Vec::with_capacity(4), 1).unwrap();
    let first = next(&mut ring);
    assert_eq!(first.returned.as_deref(), Some(b"4567".as_slice()));
    ring.read_at(file.as_fd(), 8, first.returned.unwrap(), 2).unwrap();
    assert_eq!(next(&mut ring).returned.as_deref(), Some(b"89".as_slice()));
    ring.read_at(file.as_fd(), 10, vec![1; 8], 3).unwrap();
    let end = next(&mut ring);
    assert_eq!((end.result.unwrap(), end.returned.unwrap().len()), (0, 0));
}

#[test]
fn polls_tell_once_or_at_every_change() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (mut client, server) = pair();
    ring.poll_once(server.as_fd(), Interest::Write, 1).unwrap();
    let told_once = next(&mut ring);
    assert_eq!((told_once.token, told_once.more), (1, false));
    assert_ne!(told_once.result.unwrap() & libc::POLLOUT as u32, 0);

    ring.poll_multishot(server.as_fd(), Interest::Read, 2).unwrap();
    assert!(told(&mut ring, Duration::from_millis(20)).is_none());
    for _ in 0..3 {
        client.write_all(b"x").unwrap();
        let change = next(&mut ring);
        assert_eq!((change.token, change.more), (2, true));
        assert_ne!(change.result.unwrap() & libc::POLLIN as u32, 0);
    }
}

#[test]
fn what_is_cancelled_says_so_and_an_old_name_cancels_nothing() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (mut client, server) = pair();
    let poll: OperationId = ring.poll_once(server.as_fd(), Interest::Read, 1).unwrap();
    ring.cancel(poll).unwrap();
    let told_of = next(&mut ring);
    assert_eq!((told_of.token, told_of.errno(), told_of.more), (1, libc::ECANCELED, false));

    let receive = ring.recv_multishot(server.as_fd(), 2).unwrap();
    ring.cancel(poll).unwrap();
    client.write_all(b"still here").unwrap();
    assert_eq!(next(&mut ring).input, b"still here");
    ring.cancel(receive).unwrap();
    assert_eq!(next(&mut ring).errno(), libc::ECANCELED);
    assert_eq!(ring.in_flight(), 0);
}

#[test]
fn waiting_ends_in_time() {
    let Some(mut ring) = ring(SMALL) else { return };
    let start = Instant::now();
    assert_eq!(ring.wait(Some(Duration::ZERO)).unwrap(), 0);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!(ring.wait(Some(Duration::from_millis(50))).unwrap(), 0);
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn closing_keeps_its_place_in_the_queue() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (mut client, server) = pair();
    let server = OwnedFd::from(server);
    ring.send(server.as_fd(), b"good bye".to_vec(), 1).unwrap();
    ring.close(server);
    assert_eq!(next(&mut ring).result.unwrap(), 8);
    let mut read = Vec::new();
    client.read_to_end(&mut read).unwrap();
    assert_eq!(read, b"good bye");
}

/// The kernel must be done with all memory when the ring is gone, and hold no file of it.
#[test]
fn a_ring_dropped_with_operations_in_flight_leaves_nothing() {
    for round in 0..20 {
        let Some(mut ring) = ring(SMALL) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut client, server) = pair();
        ring.accept_multishot(listener.as_fd(), 1).unwrap();
        ring.recv_multishot(server.as_fd(), 2).unwrap();
        ring.poll_multishot(server.as_fd(), Interest::Read, 3).unwrap();
        // More than the socket holds, so it waits.
        ring.send(server.as_fd(), vec![round; 32 << 20], 4).unwrap();
        ring.submit().unwrap();
        // Accepted, and nobody looks.
        let mut unseen = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        unseen.set_read_timeout(Some(PATIENCE)).unwrap();
        ring.wait(Some(PATIENCE)).unwrap();
        let start = Instant::now();
        drop(ring);
        assert!(start.elapsed() < Duration::from_millis(900), "drained in {:?}", start.elapsed());
        assert_eq!(unseen.read(&mut [0]).unwrap(), 0, "the connection nobody saw is closed");
        drop(server);
        let sent = std::io::copy(&mut client, &mut std::io::sink()).unwrap();
        assert!(sent > 0 && sent < 32 << 20, "{sent} bytes were sent before the ring went");
    }
}

#[test]
fn more_rings_than_a_thread_has_numbers_for() {
    let rings: Vec<Ring> = (0..20).map_while(|_| ring(SMALL)).collect();
    for mut ring in rings {
        assert_eq!(ring.wait(Some(Duration::ZERO)).unwrap(), 0);
    }
}

/// A child has no part in the ring: not its memory, and not the duty to drain it.
#[test]
fn a_forked_child_leaves_the_ring_to_its_parent() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (mut client, server) = pair();
    ring.recv_multishot(server.as_fd(), 1).unwrap();
    ring.submit().unwrap();
    // SAFETY: the child drops the ring, which touches nothing but its own heap, and ends.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        drop(ring);
        // SAFETY: ends the child without the destructors of the test.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: waits for our own child; the status is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    client.write_all(b"still here").unwrap();
    assert_eq!(next(&mut ring).input, b"still here");
}

/// 2 000 polls on one queue of eight entries, and all of them end.
#[test]
fn many_polls_are_added_and_cancelled() {
    let Some(mut ring) = ring(SMALL) else { return };
    let (_client, server) = pair();
    let polls: Vec<OperationId> =
        (0..2000).map(|token| ring.poll_once(server.as_fd(), Interest::Read, token).unwrap()).collect();
    assert_eq!(ring.in_flight(), 2000);
    for poll in polls {
        ring.cancel(poll).unwrap();
    }
    let mut seen = vec![false; 2000];
    for _ in 0..2000 {
        let told_of = next(&mut ring);
        assert_eq!(told_of.errno(), libc::ECANCELED);
        assert!(!std::mem::replace(&mut seen[told_of.token as usize], true), "told once");
    }
    assert_eq!(ring.in_flight(), 0);
}

/// Old kernels, the sysctl and sandboxes, each as its error number; a filter on this test's thread answers
/// for them.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_system_without_it_says_why() {
    for (errno, reason) in [(libc::ENOSYS, "no io_uring"), (libc::EINVAL, "6.1"), (libc::EPERM, "forbids")] {
        let error = std::thread::spawn(move || {
            refuse(libc::SYS_io_uring_setup, errno);
            Ring::new(SMALL).unwrap_err()
        });
        let error = error.join().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// Then nothing can be drained: dropping ends all the same, and leaks the memory that the kernel may still
/// write.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn a_kernel_that_answers_no_more_does_not_hold_the_ring_up() {
    let thread = std::thread::spawn(|| {
        let Some(mut ring) = ring(SMALL) else { return };
        let (_client, server) = pair();
        ring.recv_multishot(server.as_fd(), 1).unwrap();
        ring.send(server.as_fd(), vec![1; 32 << 20], 2).unwrap();
        ring.submit().unwrap();
        refuse(libc::SYS_io_uring_enter, libc::EPERM);
        assert_eq!(ring.wait(Some(PATIENCE)).unwrap_err().raw_os_error(), Some(libc::EPERM));
        let start = Instant::now();
        drop(ring);
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    });
    thread.join().unwrap();
}

/// From here on this thread gets `errno` in place of the system call.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn refuse(call: libc::c_long, errno: i32) {
    let line = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        line(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call as u32),
        line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        line(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: prctl(2) reads the program, which lives through both calls, and changes this thread alone.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(set, "a filter: {}", std::io::Error::last_os_error());
}
