//! An ordinary client beside hostile ones: it asks again and again, and remembers how long it had to wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::wire::{Wire, get};

/// A client at work.
pub(crate) struct Witness {
    ended: Arc<AtomicBool>,
    work: Option<JoinHandle<Vec<Duration>>>,
}

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(3);

impl Witness {
    /// Asks for the file, which must have this content, over one connection that is kept.
    pub(crate) fn start(address: SocketAddr, path: &'static str, content: &'static [u8]) -> Witness {
        let ended = Arc::new(AtomicBool::new(false));
        let work = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || {
                let (mut wire, mut times) = (Wire::connect(address), Vec::new());
                while !ended.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    wire.send(get(path));
                    let answer = wire.answer();
                    times.push(began.elapsed());
                    assert_eq!((answer.status, &answer.body[..]), (200, content), "{}", answer.head);
                    std::thread::sleep(PAUSE);
                }
                times
            }
        });
        Witness { ended, work: Some(work) }
    }

    /// Ends it; the median and the longest time that it waited for an answer. Fails when one was not right.
    pub(crate) fn end(mut self) -> (Duration, Duration) {
        self.ended.store(true, Ordering::Relaxed);
        let mut times = self.work.take().expect("a thread").join().expect("the witness was served");
        times.sort();
        (times[times.len() / 2], times[times.len() - 1])
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
