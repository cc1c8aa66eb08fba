//! An ordinary client beside hostile ones: it asks again and again, and remembers how long it had to wait, and
//! how long this machine itself lets threads wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::wire::{Wire, get};

/// A client at work.
pub(crate) struct Witness {
    ended: Arc<AtomicBool>,
    client: Option<JoinHandle<Vec<Duration>>>,
    machine: Option<JoinHandle<Vec<Duration>>>,
}

/// How long somebody waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub(crate) median: Duration,
    pub(crate) longest: Duration,
}

impl Waits {
    fn of(mut times: Vec<Duration>) -> Waits {
        times.sort();
        Waits { median: times[times.len() / 2], longest: times[times.len() - 1] }
    }
}

/// The observations of a witness.
#[derive(Debug)]
pub(crate) struct Seen {
    /// For a response.
    pub(crate) client: Waits,
    /// For a processor, beyond the time that was slept.
    pub(crate) machine: Waits,
}

/// A median of fewer says how long a single one took.
const WAITS_MIN: usize = 20;

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(3);

impl Witness {
    /// Asks for the file, which must have this content, over one connection that is kept.
    pub(crate) fn start(address: SocketAddr, path: &'static str, content: &'static [u8]) -> Witness {
        let ended = Arc::new(AtomicBool::new(false));
        let client = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                let (mut wire, mut times) = (Wire::connect(address), Vec::new());
                while times.len() < WAITS_MIN || !ended.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    wire.send(get(path));
                    let response = wire.response();
                    times.push(began.elapsed());
                    assert_eq!((response.status, &response.body[..]), (200, content), "{}", response.head);
                    std::thread::sleep(PAUSE);
                }
                times
            }
        });
        let machine = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                let mut times = Vec::new();
                while times.len() < WAITS_MIN || !ended.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    std::thread::sleep(PAUSE);
                    times.push(began.elapsed().saturating_sub(PAUSE));
                }
                times
            }
        });
        Witness { ended, client: Some(client), machine: Some(machine) }
    }

    /// Ends it. Fails when a response was not right.
    pub(crate) fn end(mut self) -> Seen {
        self.ended.store(true, Ordering::Relaxed);
        let waits = |work: &mut Option<JoinHandle<Vec<Duration>>>| {
            Waits::of(work.take().expect("a thread").join().expect("the witness was served"))
        };
        Seen { client: waits(&mut self.client), machine: waits(&mut self.machine) }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
