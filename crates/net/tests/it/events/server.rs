//! A server of each architecture, in a thread, and a service that shows what a connection does.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::arch::{ALL, Architecture};
use net::output::Output;
use net::service::{self, Flow, OpenService, Session, SessionStage};
use net::worker::{Accept, COUNTERS, Counter, Counters, Limits, StopFlag, WorkerContext};
use sys::tcp::{Listener, Listening};

/// All that can run here, side by side.
pub(crate) fn each(test: impl Fn(&'static Architecture) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for architecture in able() {
            let named = std::thread::Builder::new().name(architecture.name.to_owned());
            named.spawn_scoped(scope, move || test(architecture)).unwrap();
        }
    });
}

/// Those that run in a process with threads: driven by events, or threads that wait.
pub(crate) fn each_and_threads(test: impl Fn(&'static Architecture) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        let waiting = ["thread", "pool"].map(|name| net::arch::find(name).unwrap());
        for architecture in able().into_iter().chain(waiting) {
            let named = std::thread::Builder::new().name(architecture.name.to_owned());
            named.spawn_scoped(scope, move || test(architecture)).unwrap();
        }
    });
}

pub(crate) fn able() -> Vec<&'static Architecture> {
    let driven_by_events = || ALL.iter().copied().filter(|architecture| !architecture.is_blocking());
    let (able, unable): (Vec<_>, Vec<_>) =
        driven_by_events().partition(|each| each.unavailable_reason().is_none());
    assert!(able.len() >= 5, "only {} architectures can run", able.len());
    for architecture in unable {
        assert!(
            architecture.unavailable_reason().is_some_and(|why| !why.is_empty()),
            "{} gives no reason",
            architecture.name
        );
    }
    able
}

/// Held by a test that opens hundreds of descriptors: two such tests at once leave none below 1,024, and
/// select(2), which others test in the same process, takes no other.
pub(crate) fn with_many_descriptors() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) counters: Counters,
    pub(crate) stop: StopFlag,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Server {
    pub(crate) fn start(
        architecture: &'static Architecture,
        machine: Arc<dyn OpenService>,
        limits: Limits,
    ) -> Server {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let blocking = architecture.is_blocking();
        let listener = Listener::bind(anywhere, Listening { blocking, ..Listening::default() }).unwrap();
        if blocking {
            limits.inherit(&listener).unwrap();
        }
        let address = listener.address().unwrap();
        let (counters, stop) = (Counters::new(1).unwrap(), StopFlag::default());
        let worker = WorkerContext {
            listener,
            service: machine,
            limits,
            counters: counters.clone(),
            stop: stop.clone(),
            log: None,
            session_command: Vec::new(),
            pool: 4,
            accept: Accept::default(),
            is_supervised: false,
        };
        let serve = architecture.serve.unwrap();
        let thread = Some(std::thread::spawn(move || serve(&worker)));
        Server { address, counters, stop, thread }
    }

    /// With a [`Lines`] of so many bytes.
    pub(crate) fn of_lines(architecture: &'static Architecture, limits: Limits) -> Server {
        Server::start(architecture, Arc::new(Lines::new()), limits)
    }

    pub(crate) fn serving(architecture: &'static Architecture, service: &str) -> Server {
        let machine = service::find(service).unwrap().open(&serde_json::json!({}), false).unwrap();
        Server::start(architecture, machine, Limits::default())
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        client
    }

    pub(crate) fn count(&self, count: Counter) -> u64 {
        self.counters.sums()[count as usize]
    }

    /// Waits until a count has come that far.
    pub(crate) fn until(&self, count: Counter, least: u64) {
        let begin = Instant::now();
        while self.count(count) < least {
            assert!(
                begin.elapsed() < Duration::from_secs(10),
                "{} stays below {least}",
                COUNTERS[count as usize]
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops it, and returns its counts once it has ended.
    pub(crate) fn end(mut self) -> [u64; COUNTERS.len()] {
        self.stop.order();
        self.thread.take().unwrap().join().unwrap().unwrap();
        let sums = self.counters.sums();
        assert_eq!(
            sums[Counter::Accepted as usize],
            sums[Counter::Ended as usize],
            "some are counted as open"
        );
        sums
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.order();
    }
}

/// Answers lines: `ok` to any, much to `shared` and `file`, a reset to `reset`. One that begins with `data` may
/// be long.
pub(crate) struct Lines {
    shared: Arc<[u8]>,
    file: Arc<File>,
}

pub(crate) const MUCH: usize = 50 << 20;

/// The content of large responses.
pub(crate) fn much() -> &'static Arc<[u8]> {
    static MUCH_BYTES: OnceLock<Arc<[u8]>> = OnceLock::new();
    MUCH_BYTES.get_or_init(|| (0..MUCH).map(|place| (place / 3) as u8).collect())
}

impl Lines {
    pub(crate) fn new() -> Lines {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(much()).unwrap();
        Lines { shared: Arc::clone(much()), file: Arc::new(file) }
    }
}

impl OpenService for Lines {
    fn session(&self, _peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(Line { shared: Arc::clone(&self.shared), file: Arc::clone(&self.file), line: Vec::new() })
    }
}

pub(crate) struct Line {
    shared: Arc<[u8]>,
    file: Arc<File>,
    line: Vec<u8>,
}

impl Session for Line {
    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        for byte in input {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            match std::mem::take(&mut self.line).as_slice() {
                b"shared" => output.shared(Arc::clone(&self.shared)),
                b"reset" => {
                    output.bytes().extend_from_slice(b"never seen\n");
                    return Flow::Reset;
                }
                b"file" => output.file(Arc::clone(&self.file), 0, MUCH as u64),
                _ => output.bytes().extend_from_slice(b"ok\n"),
            }
            output.answered();
        }
        Flow::More
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        output.bytes().extend_from_slice(b"late\n");
        Flow::Linger
    }

    fn stage(&self) -> SessionStage {
        match &self.line[..] {
            [] => SessionStage::Idle,
            line if line.starts_with(b"data") => SessionStage::Data,
            _ => SessionStage::Request,
        }
    }
}

pub(crate) fn asked(client: &mut TcpStream, line: &str) -> String {
    client.write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut response = [0; 3];
    client.read_exact(&mut response).unwrap();
    String::from_utf8(response.to_vec()).unwrap()
}

pub(crate) fn short() -> Limits {
    let limit = Duration::from_millis(400);
    Limits { idle: limit, request: limit, send: limit, ..Limits::default() }
}

pub(crate) fn echoed(client: &mut TcpStream, said: &[u8]) {
    client.write_all(said).unwrap();
    let mut heard = vec![0; said.len()];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(heard, said);
}
