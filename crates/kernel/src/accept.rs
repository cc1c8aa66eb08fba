//! Time from connect(2) until the server reacts, while n connections are open and idle.
//!
//! **Question.** connect(2) returns before the server knows of the connection. How long does it take
//! until the server, which is a separate process, has accepted it, and how does that depend on the call
//! in which it waits?
//!
//! **Method.** A server process waits: in accept(2) alone, or in poll(2) or epoll_wait(2) for its
//! listener and all n idle connections, as event-driven servers do. It accepts, sends one byte and waits
//! again. The client times connect(2), and then the time until it has read the byte: waking the server,
//! accept(2), send(2) and waking the client. Everything is over loopback, and the connections stay. At
//! the end the client closes them in random order, each close(2) timed. It resets the connection, as in
//! `connect`, and the server that watches the connections closes its end too.
//!
//! **Expected answer.** Flat for accept and epoll. Linear for poll, because the server passes all n
//! descriptors to the kernel in every call. Where client and server share a processor, the server may run
//! as soon as it is woken. Then connect(2) returns after the byte was sent, and only the sum of both
//! times is meaningful.

use workload::resource::{DESCRIPTORS, EPOLL_WATCHES, MEMORY, PORTS};
use workload::{Expect, Need, Operation, Variant, Workload, on_unix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "accept",
    source: workload::page!("accept.rs"),
    grows: "open connections",
    variants: &[
        Variant { name: "blocking", summary: "the server waits in accept(2) alone" },
        Variant { name: "poll", summary: "the server waits in poll(2) for all of its connections" },
        Variant { name: "epoll", summary: "the server waits in epoll_wait(2) for all of its connections" },
    ],
    operations: &[
        Operation::up(
            "connect",
            Expect::Constant,
            "connect(2), until the connection is established for the client",
        )
        .detail(),
        Operation::up("greeting", Expect::Constant, "from then until the first byte of the server is read")
            .except(POLL)
            .detail(),
        Operation::sum(
            "all",
            &["connect", "greeting"],
            Expect::Constant,
            "connect(2) until the byte is read",
        )
        .except(POLL),
        Operation::down("close", Expect::Constant, "close(2) of the client's end, in random order").detail(),
    ],
    needs: &[
        Need::new(DESCRIPTORS, 1),
        Need::new(PORTS, 1),
        Need::new(MEMORY, 10 << 10),
        Need::new(EPOLL_WATCHES, 1).only_in(&["epoll"]),
    ],
    run: on_unix!(measured::run, "its server is a process that fork(2) makes"),
    ..Workload::CURVE
};

/// The server hands all n to the kernel in each of its rounds.
const POLL: &[(&str, Expect)] = &[("poll", Expect::Linear)];

#[cfg(unix)]
mod measured {
    use std::io::{self, ErrorKind};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use sys::event::{Interest, Poll, Poller};
    use sys::memory::Shared;
    use sys::process;
    use sys::tcp::{Connection, Listener, Listening, Waiting};
    use workload::{Trial, TrialError};

    const GREETING: &[u8] = b"!";

    /// A greeting that takes longer will not come.
    const PATIENCE: Duration = Duration::from_secs(5);

    /// The listener's token; connections have their places.
    const LISTENER: usize = u32::MAX as usize - 1;

    pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
        let listening = Listening { blocking: true, ..Listening::default() };
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let listener = Listener::bind(address, listening).map_err(TrialError::at("to listen on loopback"))?;
        let to = listener.address().map_err(TrialError::at("to ask for the listener's address"))?;
        let cpu = trial.server_cpu();
        let life: fn(&Listener, &AtomicU64) -> io::Result<()> = match trial.variant() {
            "poll" => watch::<Poll>,
            #[cfg(target_os = "linux")]
            "epoll" => watch::<sys::event::Epoll>,
            #[cfg(not(target_os = "linux"))]
            "epoll" => {
                return Err(TrialError::at("to wait")(sys::Unsupported("epoll exists only on Linux").into()));
            }
            _ => block,
        };
        // A server that only accepts does not notice the end of a connection: those of the warm-up would stay
        // open, and take descriptors that the sweep needs.
        let shared = Shared::create(1).map_err(TrialError::at("to share memory with the server"))?;
        let is_counted = &shared.slots()[0];
        let server = Server::start(|| {
            // The system chooses the processor where it cannot be set.
            let _ = cpu.map(sys::cpu::pin);
            life(&listener, is_counted)
        })?;
        // Only the server holds it now: when it ends, connecting is refused.
        drop(listener);

        let prepare = || -> io::Result<Connection> {
            let client = Connection::prepare(to, None, Waiting::Blocking)?;
            client.receive_timeout(Some(PATIENCE))?;
            client.reset_on_close()?;
            Ok(client)
        };
        trial.warm(|| {
            let client = prepare()?;
            client.begin(to)?;
            hear(&client)?;
            client.close()
        });
        is_counted.store(1, Ordering::Release);
        let mut strange = 0;
        let clients = trial.timed_steps(&["connect", "greeting"], |_, lap| {
            let client = prepare()?;
            lap.skip();
            client.begin(to)?;
            lap.mark();
            let is_greeting = hear(&client)?;
            lap.mark();
            strange += usize::from(!is_greeting);
            Ok(client)
        })?;
        trial.check("every connection received its byte", strange == 0);
        let clients = trial.shuffled(clients);
        trial.timed_down("close", clients, Connection::close)?;
        drop(server);
        Ok(())
    }

    /// Whether the server's first byte is what it should be.
    #[inline]
    fn hear(client: &Connection) -> io::Result<bool> {
        let mut bytes = [0; 2];
        match client.receive(&mut bytes)? {
            0 => Err(io::Error::other("the server has closed the connection")),
            count => Ok(&bytes[..count] == GREETING),
        }
    }

    /// A server that waits in accept(2) and keeps what it accepted, once connections count.
    fn block(listener: &Listener, is_counted: &AtomicU64) -> io::Result<()> {
        let mut idle = Vec::new();
        loop {
            match greet(listener.accept(Waiting::Blocking)) {
                Ok(connection) if is_counted.load(Ordering::Acquire) == 1 => idle.push(connection),
                Ok(_) => {}
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A server that waits for all of its connections, and closes those that end.
    fn watch<P: Poller>(listener: &Listener, _: &AtomicU64) -> io::Result<()> {
        let mut poller = P::new()?;
        poller.add(listener.as_fd(), LISTENER, Interest::Read)?;
        let mut places: Vec<Option<Connection>> = Vec::new();
        let mut free = Vec::new();
        let mut events = Vec::new();
        loop {
            poller.wait(&mut events, None)?;
            for event in &events {
                if event.token != LISTENER {
                    if let Some(connection) = places.get_mut(event.token).and_then(Option::take) {
                        poller.remove(connection.as_fd(), event.token)?;
                        free.push(event.token);
                    }
                    continue;
                }
                let connection = match greet(listener.accept(Waiting::Blocking)) {
                    Err(error) if is_of_the_client(&error) => continue,
                    answer => answer?,
                };
                let place = free.pop().unwrap_or_else(|| {
                    places.push(None);
                    places.len() - 1
                });
                poller.add(connection.as_fd(), place, Interest::Read)?;
                places[place] = Some(connection);
            }
        }
    }

    fn greet(accepted: io::Result<Connection>) -> io::Result<Connection> {
        let connection = accepted?;
        connection.send(GREETING)?;
        Ok(connection)
    }

    /// A closed client is no reason to end.
    fn is_of_the_client(error: &io::Error) -> bool {
        use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, Interrupted};
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | Interrupted)
    }

    /// The server's process; it ends with this, or with its parent.
    struct Server(u32);

    /// How long the end of the server is waited for, and how often it is looked for.
    const END_MAX: Duration = Duration::from_secs(2);
    const LOOK: Duration = Duration::from_millis(1);

    impl Server {
        fn start(life: impl FnOnce() -> io::Result<()>) -> Result<Server, TrialError> {
            let forked = process::fork(|| u8::from(life().is_err()));
            forked.map(Server).map_err(TrialError::at("to fork the server"))
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            // An error means that it has ended already.
            let _ = process::kill(self.0);
            let begun = Instant::now();
            while begun.elapsed() < END_MAX && matches!(process::ended_child(), Ok(None)) {
                std::thread::sleep(LOOK);
            }
        }
    }
}
