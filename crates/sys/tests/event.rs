//! Every event interface has the same properties; exceptions are stated here.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is the failure of a test")]

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sys::event::{Event, Flag, Interest, Poll, Poller, Select};
use sys::tcp::{Connection, Listener, Listening, Waiting};

/// Long enough for anything that will happen, should the machine be busy.
const PATIENCE: Duration = Duration::from_secs(10);

/// Numbers of descriptors are of the whole process: tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    sys::limit::raise_soft_to_hard().expect("limits");
    turn
}

/// Whether the system has the interface at all. A kernel may be built, or told, to have no io_uring.
fn is_there<P: Poller>() -> bool {
    P::new().map_err(|error| assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}")).is_ok()
}

/// Both ends of a connection; neither blocks.
fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().expect("a pair");
    near.set_nonblocking(true).expect("no blocking");
    far.set_nonblocking(true).expect("no blocking");
    (near, far)
}

/// The ready descriptors; it does not wait for later events.
fn look<P: Poller>(poller: &mut P) -> Vec<Event> {
    let mut events = vec![Event { token: 999_999, readable: true, writable: true }];
    poller.wait(&mut events, Some(Duration::ZERO)).expect("to look");
    events
}

fn tokens(mut events: Vec<Event>) -> Vec<usize> {
    events.sort_by_key(|event| event.token);
    events.iter().map(|event| event.token).collect()
}

/// Reads what is there, to the end or to `WouldBlock`, as an edge demands.
fn drain(mut from: &UnixStream) {
    let mut buffer = [0; 4096];
    while matches!(from.read(&mut buffer), Ok(1..)) {}
}

fn fill(mut into: &UnixStream) {
    while into.write(&[0; 4096]).is_ok() {}
}

fn nothing_is_ready_at_first<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    assert!(look(&mut poller).is_empty());
    let (near, _far) = pair();
    poller.add(near.as_fd(), 7, Interest::Read).expect("to add");
    assert!(look(&mut poller).is_empty());
}

fn input_is_reported_by_its_token_and_goes_when_it_is_read<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    poller.add(near.as_fd(), 4_000_000_000, Interest::Read).expect("to add");
    far.write_all(b"x").expect("to write");
    assert_eq!(look(&mut poller), [Event { token: 4_000_000_000, readable: true, writable: false }]);
    // A state is reported again, a change is not.
    assert_eq!(look(&mut poller).is_empty(), P::EDGE);
    drain(&near);
    assert!(look(&mut poller).is_empty());
    far.write_all(b"y").expect("to write");
    assert_eq!(tokens(look(&mut poller)), [4_000_000_000]);
}

fn several_are_reported_in_one_wait<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let pairs: Vec<_> = (0..10).map(|_| pair()).collect();
    for (token, (near, _)) in pairs.iter().enumerate() {
        poller.add(near.as_fd(), token, Interest::Read).expect("to add");
    }
    for token in [2, 3, 9] {
        (&pairs[token].1).write_all(b"x").expect("to write");
    }
    assert_eq!(tokens(look(&mut poller)), [2, 3, 9]);
}

fn what_was_ready_before_is_reported_once_added_or_changed<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    far.write_all(b"x").expect("to write");
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    assert_eq!(tokens(look(&mut poller)), [1]);
    poller.change(near.as_fd(), 2, Interest::Nothing).expect("to change");
    assert!(look(&mut poller).is_empty());
    poller.change(near.as_fd(), 3, Interest::Read).expect("to change");
    assert_eq!(tokens(look(&mut poller)), [3]);
    poller.change(near.as_fd(), 4, Interest::Write).expect("to change");
    assert_eq!(look(&mut poller), [Event { token: 4, readable: false, writable: true }]);
}

fn room_for_output_is_reported_when_there_is_some<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, far) = pair();
    poller.add(near.as_fd(), 1, Interest::Nothing).expect("to add");
    fill(&near);
    poller.change(near.as_fd(), 1, Interest::Write).expect("to change");
    assert!(look(&mut poller).is_empty());
    drain(&far);
    assert_eq!(look(&mut poller), [Event { token: 1, readable: false, writable: true }]);
}

fn input_and_room_are_waited_for_together<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    fill(&near);
    poller.change(near.as_fd(), 1, Interest::Both).expect("to change");
    assert!(look(&mut poller).is_empty());
    far.write_all(b"x").expect("to write");
    assert_eq!(look(&mut poller), [Event { token: 1, readable: true, writable: false }]);
    drain(&far);
    // Some interfaces report each by itself, and those that report changes have reported the input.
    assert!(look(&mut poller).iter().any(|event| event.token == 1 && event.writable));
}

fn a_half_closed_connection_is_readable<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    far.shutdown(std::net::Shutdown::Write).expect("to shut down");
    assert_eq!(look(&mut poller), [Event { token: 1, readable: true, writable: false }]);
    assert_eq!((&near).read(&mut [0; 8]).expect("the end"), 0);
    (&near).write_all(b"the other way is open").expect("to write");
}

fn the_end_behind_the_last_bytes_is_reported_too<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    far.write_all(b"last").expect("to write");
    assert_eq!(tokens(look(&mut poller)), [1]);
    drain(&near);
    far.shutdown(std::net::Shutdown::Write).expect("to shut down");
    assert_eq!(tokens(look(&mut poller)), [1]);
}

fn whoever_waits_either_way_is_reported_of_a_hang_up<P: Poller>() {
    for interest in [Interest::Read, Interest::Write] {
        let mut poller = P::new().expect("a poller");
        let (near, far) = pair();
        poller.add(near.as_fd(), 1, Interest::Nothing).expect("to add");
        fill(&near);
        poller.change(near.as_fd(), 1, interest).expect("to change");
        assert!(look(&mut poller).is_empty());
        drop(far);
        let told = look(&mut poller);
        assert_eq!(told.len(), 1, "{interest:?}");
        // select(2) sees only what it was asked about.
        let by_the_bits = std::any::type_name::<P>() == std::any::type_name::<Select>();
        assert_eq!(told[0].readable, !by_the_bits || interest == Interest::Read, "{interest:?}");
        assert_eq!(told[0].writable, !by_the_bits || interest == Interest::Write, "{interest:?}");
    }
}

fn whoever_waits_either_way_is_reported_of_a_reset<P: Poller>() {
    for interest in [Interest::Read, Interest::Write] {
        let mut poller = P::new().expect("a poller");
        let listener = Listener::bind("127.0.0.1:0".parse().expect("an address"), Listening::default());
        let listener = listener.expect("a listener");
        poller.add(listener.as_fd(), 0, Interest::Read).expect("to add");
        let address = listener.address().expect("an address");
        let client = Connection::connect(address, None, Waiting::Blocking).expect("to connect");
        assert_eq!(look(&mut poller), [Event { token: 0, readable: true, writable: false }]);
        let served = listener.accept(Waiting::NonBlocking).expect("to accept");
        poller.add(served.as_fd(), 1, Interest::Nothing).expect("to add");
        while served.send(&[0; 65536]).is_ok() {}
        poller.change(served.as_fd(), 1, interest).expect("to change");
        client.reset_on_close().expect("an option");
        client.close().expect("to close");
        let mut told = Vec::new();
        poller.wait(&mut told, Some(PATIENCE)).expect("to wait");
        assert_eq!(tokens(told), [1], "{interest:?}");
        let error = served.receive(&mut [0; 8]).expect_err("it was reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}

fn a_connection_that_nobody_waits_for_keeps_nobody_busy<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    poller.change(near.as_fd(), 1, Interest::Nothing).expect("to change");
    far.write_all(b"x").expect("to write");
    drop(far);
    let (also, mut other) = pair();
    other.write_all(b"x").expect("to write");
    drop(other);
    poller.add(also.as_fd(), 2, Interest::Nothing).expect("to add");
    // Older queue entries may end one wait early, without an event.
    look(&mut poller);
    let pause = Duration::from_millis(20);
    let (begun, mut events) = (Instant::now(), Vec::new());
    poller.wait(&mut events, Some(pause)).expect("to wait");
    assert!(events.is_empty() && begun.elapsed() >= pause, "{events:?} after {:?}", begun.elapsed());
    poller.change(near.as_fd(), 1, Interest::Read).expect("to change");
    assert_eq!(tokens(look(&mut poller)), [1]);
    poller.remove(near.as_fd(), 1).expect("to remove");
    poller.remove(also.as_fd(), 2).expect("to remove");
}

fn what_was_removed_is_reported_no_more<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let pairs: Vec<_> = (0..5).map(|_| pair()).collect();
    for (token, (near, _)) in pairs.iter().enumerate() {
        poller.add(near.as_fd(), token, Interest::Read).expect("to add");
    }
    for (_, far) in &pairs {
        (&*far).write_all(b"x").expect("to write");
    }
    for token in [0, 4, 2] {
        poller.remove(pairs[token].0.as_fd(), token).expect("to remove");
    }
    assert_eq!(tokens(look(&mut poller)), [1, 3]);
    for (near, mut far) in pairs.iter().map(|(near, far)| (near, far)) {
        drain(near);
        far.write_all(b"y").expect("to write");
    }
    assert_eq!(tokens(look(&mut poller)), [1, 3]);
}

fn the_next_with_the_same_number_hears_nothing_of_the_last<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    let number = near.as_raw_fd();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    far.write_all(b"x").expect("to write");
    poller.remove(near.as_fd(), 1).expect("to remove");
    drop((near, far));
    let (near, mut far) = pair();
    assert_eq!(near.as_raw_fd(), number);
    poller.add(near.as_fd(), 2, Interest::Read).expect("to add");
    assert!(look(&mut poller).is_empty());
    far.write_all(b"y").expect("to write");
    assert_eq!(tokens(look(&mut poller)), [2]);
}

fn five_hundred_at_once_are_all_reported<P: Poller>() {
    const COUNT: usize = 500;
    let mut poller = P::new().expect("a poller");
    let pairs: Vec<_> = (0..COUNT).map(|_| pair()).collect();
    for (token, (near, _)) in pairs.iter().enumerate() {
        poller.add(near.as_fd(), token, Interest::Read).expect("to add");
    }
    let all_reported = |poller: &mut P, among: &dyn Fn(usize) -> bool| {
        for (_, far) in &pairs {
            (&*far).write_all(b"x").expect("to write");
        }
        let mut times = [0; COUNT];
        loop {
            let events = look(poller);
            if events.is_empty() {
                break;
            }
            for event in events {
                times[event.token] += 1;
                drain(&pairs[event.token].0);
            }
        }
        for (token, (near, _)) in pairs.iter().enumerate() {
            drain(near);
            assert_eq!(times[token], usize::from(among(token)), "{token}");
        }
    };
    all_reported(&mut poller, &|_| true);
    // Not in their order, for that is what upsets an index.
    let goes = |token: usize| token * 7 % COUNT < COUNT / 3;
    for token in (0..COUNT).map(|token| token * 13 % COUNT).filter(|&token| goes(token)) {
        poller.remove(pairs[token].0.as_fd(), token).expect("to remove");
    }
    all_reported(&mut poller, &|token| !goes(token));
    for token in (0..COUNT).filter(|&token| goes(token)) {
        poller.add(pairs[token].0.as_fd(), token, Interest::Read).expect("to add");
    }
    all_reported(&mut poller, &|_| true);
}

fn a_wait_lasts_as_long_as_it_was_told_to<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, _far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    for us in [1, 900, 1500, 20_300] {
        let (begun, mut events) = (Instant::now(), Vec::new());
        poller.wait(&mut events, Some(Duration::from_micros(us))).expect("to wait");
        assert!(events.is_empty() && begun.elapsed() >= Duration::from_micros(us), "{us} us");
    }
}

fn what_comes_during_a_wait_ends_it<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, mut far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        far.write_all(b"x").expect("to write");
        far
    });
    let mut events = Vec::new();
    poller.wait(&mut events, None).expect("to wait");
    assert_eq!(tokens(events), [1]);
    drop(writer.join().expect("a writer"));
}

#[cfg(target_os = "linux")]
fn a_signal_ends_a_wait_with_nothing<P: Poller>() {
    sys::signal::watch().expect("handlers");
    let mut poller = P::new().expect("a poller");
    let (near, _far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    // The kernel gives a signal to the thread whose number was named, if that takes any.
    let waiting = rustix::thread::gettid();
    let sender = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        rustix::process::kill_process(waiting, rustix::process::Signal::USR1).expect("to send");
    });
    let (begun, mut events) = (Instant::now(), Vec::new());
    poller.wait(&mut events, Some(PATIENCE)).expect("to wait");
    assert!(events.is_empty() && begun.elapsed() < PATIENCE, "{events:?}");
    sender.join().expect("a sender");
}

/// There is no other way to send one thread a signal without unsafe code.
#[cfg(not(target_os = "linux"))]
fn a_signal_ends_a_wait_with_nothing<P: Poller>() {}

fn what_is_not_there_cannot_be_added_twice<P: Poller>() {
    let mut poller = P::new().expect("a poller");
    let (near, _far) = pair();
    poller.add(near.as_fd(), 1, Interest::Read).expect("to add");
    let error = poller.add(near.as_fd(), 2, Interest::Read).expect_err("it is there");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

macro_rules! each {
    ($($property:ident)*) => {
        mod select { each!(@ sys::event::Select: $($property)*); }
        mod poll { each!(@ sys::event::Poll: $($property)*); }
        #[cfg(target_os = "linux")]
        mod epoll { each!(@ sys::event::Epoll: $($property)*); }
        #[cfg(target_os = "linux")]
        mod epoll_edge { each!(@ sys::event::EpollEdge: $($property)*); }
        #[cfg(target_os = "linux")]
        mod signal_io { each!(@ sys::event::SignalIo: $($property)*); }
        mod uring { each!(@ sys::event::Uring: $($property)*); }
    };
    (@ $poller:path: $($property:ident)*) => {
        $(#[test] fn $property() {
            let _turn = super::turn();
            if super::is_there::<$poller>() {
                super::$property::<$poller>();
            }
        })*
    };
}

each! {
    nothing_is_ready_at_first
    input_is_reported_by_its_token_and_goes_when_it_is_read
    several_are_reported_in_one_wait
    what_was_ready_before_is_reported_once_added_or_changed
    room_for_output_is_reported_when_there_is_some
    input_and_room_are_waited_for_together
    a_half_closed_connection_is_readable
    the_end_behind_the_last_bytes_is_reported_too
    whoever_waits_either_way_is_reported_of_a_hang_up
    whoever_waits_either_way_is_reported_of_a_reset
    a_connection_that_nobody_waits_for_keeps_nobody_busy
    what_was_removed_is_reported_no_more
    the_next_with_the_same_number_hears_nothing_of_the_last
    five_hundred_at_once_are_all_reported
    a_wait_lasts_as_long_as_it_was_told_to
    what_comes_during_a_wait_ends_it
    a_signal_ends_a_wait_with_nothing
    what_is_not_there_cannot_be_added_twice
}

#[test]
fn select_says_that_a_descriptor_is_too_large_for_it() {
    const FD_SETSIZE: i32 = libc::FD_SETSIZE as i32;
    let _turn = turn();
    let (near, mut far) = pair();
    let largest = rustix::io::fcntl_dupfd_cloexec(&near, FD_SETSIZE - 1).expect("a descriptor");
    let beyond = rustix::io::fcntl_dupfd_cloexec(&near, FD_SETSIZE).expect("a descriptor");
    let mut select = Select::new().expect("a poller");
    select.add(largest.as_fd(), 1, Interest::Read).expect("to add");
    let error = select.add(beyond.as_fd(), 2, Interest::Read).expect_err("too large");
    assert!(error.to_string().contains("FD_SETSIZE"), "{error}");
    assert_eq!(sys::error::name(&error), "FD_SETSIZE");
    assert!(sys::error::advice(&error).contains("FD_SETSIZE"));
    assert!(sys::error::out_of_descriptors(&error));
    far.write_all(b"x").expect("to write");
    assert_eq!(tokens(look(&mut select)), [1]);
    let mut poll = Poll::new().expect("a poller");
    poll.add(beyond.as_fd(), 2, Interest::Read).expect("poll takes any");
    assert_eq!(tokens(look(&mut poll)), [2]);
}

#[test]
fn a_flag_is_readable_while_it_is_raised() {
    let _turn = turn();
    let (flag, mut poll) = (Flag::new().expect("a flag"), Poll::new().expect("a poller"));
    poll.add(flag.as_fd(), 1, Interest::Read).expect("to add");
    assert!(look(&mut poll).is_empty());
    flag.raise().expect("to raise");
    assert_eq!(tokens(look(&mut poll)), [1]);
    flag.lower().expect("to lower");
    assert!(look(&mut poll).is_empty());
    assert_eq!(flag.lower().expect_err("it is lowered").kind(), ErrorKind::WouldBlock);
}

#[cfg(target_os = "linux")]
mod signals {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use sys::event::SignalIo;

    /// A short queue, for as long as this lives.
    struct ShortQueue(Rlimit);

    impl ShortQueue {
        fn new() -> ShortQueue {
            let before = getrlimit(Resource::Sigpending);
            let short = Rlimit { current: Some(8), ..before };
            setrlimit(Resource::Sigpending, short).expect("a limit");
            ShortQueue(before)
        }
    }

    impl Drop for ShortQueue {
        fn drop(&mut self) {
            let _ = setrlimit(Resource::Sigpending, self.0);
        }
    }

    #[test]
    fn nobody_is_forgotten_when_the_queue_overflows() {
        let _turn = turn();
        let _short = ShortQueue::new();
        let mut poller = SignalIo::new().expect("a poller");
        let pairs: Vec<_> = (0..100).map(|_| pair()).collect();
        for (token, (near, _)) in pairs.iter().enumerate() {
            poller.add(near.as_fd(), token, Interest::Read).expect("to add");
        }
        for _ in 0..3 {
            for (_, far) in &pairs {
                (&*far).write_all(b"x").expect("to write");
            }
            assert_eq!(tokens(look(&mut poller)), (0..100).collect::<Vec<_>>());
            pairs.iter().for_each(|(near, _)| drain(near));
            assert!(look(&mut poller).is_empty());
        }
    }

    #[test]
    fn a_thread_has_one_queue_and_can_have_another_after_it() {
        let _turn = turn();
        let (near, mut far) = pair();
        let mut first = SignalIo::new().expect("a poller");
        assert!(SignalIo::new().is_err());
        first.add(near.as_fd(), 1, Interest::Read).expect("to add");
        far.write_all(b"x").expect("to write");
        drop(first);
        let mut second = SignalIo::new().expect("a poller");
        far.write_all(b"y").expect("to write");
        assert!(look(&mut second).is_empty());
        second.add(near.as_fd(), 2, Interest::Read).expect("to add");
        assert_eq!(tokens(look(&mut second)), [2]);
    }
}
