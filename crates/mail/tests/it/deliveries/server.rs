//! A server of SMTP whose every reply a test can choose: a thread for each connection, commands in, replies out.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The recipients and messages that a server took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    /// Recipients that it accepted, in transactions that ended with RSET.
    pub(crate) tested: Vec<String>,
    /// Recipients that it accepted and the message that followed.
    pub(crate) delivered: Vec<(String, String)>,
    pub(crate) connections: usize,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    taken: Arc<Mutex<Taken>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A server that accepts everything, but for command lines to which the script has another reply. An empty
    /// reply of the script means its own, and `None` closes the connection.
    pub(crate) fn start(script: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Server {
        Server::start_with_peers(move |_, command| script(command))
    }

    /// The same with a script that has the address of the client.
    pub(crate) fn start_with_peers(
        script: impl Fn(IpAddr, &str) -> Option<String> + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (taken, stop) = (Arc::new(Mutex::new(Taken::default())), Arc::new(AtomicBool::new(false)));
        let script = Arc::new(script);
        let (all, ordered) = (taken.clone(), stop.clone());
        let thread = thread::spawn(move || {
            loop {
                let (stream, peer) = listener.accept().expect("a connection");
                if ordered.load(Ordering::Relaxed) {
                    return;
                }
                let (script, taken) = (script.clone(), all.clone());
                locked(&taken).connections += 1;
                // It ends with its connection, which the engine closes.
                thread::spawn(move || {
                    let script = |command: &str| script(peer.ip(), command);
                    serve(&stream, &script, &taken)
                });
            }
        });
        Server { address, taken, stop, thread: Some(thread) }
    }

    pub(crate) fn taken(&self) -> Taken {
        locked(&self.taken).clone()
    }
}

fn locked(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().expect("no test has panicked here")
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes its accept(2).
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// The extensions that the servers of these tests have.
pub(crate) const EHLO: &str = "250-test\r\n250-PIPELINING\r\n250-8BITMIME\r\n250 SIZE 100000";

fn serve(stream: &TcpStream, script: &impl Fn(&str) -> Option<String>, taken: &Mutex<Taken>) -> Option<()> {
    // Otherwise each reply would wait for the acknowledgement of the one before.
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let mut input = BufReader::new(stream);
    let say = |command: &str, own: &str| send(stream, Chosen::new(&script(command)?, own)?);
    say("CONNECT", "220 test")?;
    let mut accepted: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        if input.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let command = line.trim_end();
        let verb = command.split([' ', ':']).next().unwrap_or_default();
        let own = match verb {
            "EHLO" => EHLO,
            "DATA" => "354 go on",
            "QUIT" => "221 bye",
            _ => "250 ok",
        };
        let reply = match verb {
            "BDAT" => String::new(),
            // Noted before the reply, because a client may check it as soon as it has the reply.
            "RSET" => {
                let chosen = Chosen::new(&script(command)?, own)?;
                if chosen.reply.starts_with("250") {
                    locked(taken).tested.append(&mut accepted);
                }
                send(stream, chosen)?
            }
            _ => say(command, own)?,
        };
        match verb {
            "RCPT" if reply.starts_with("25") => {
                let address = command.trim_start_matches("RCPT TO:<").trim_end_matches('>');
                accepted.push(address.to_owned());
            }
            "DATA" if reply.starts_with("354") => {
                let mut message = String::new();
                while message != ".\r\n" && !message.ends_with("\r\n.\r\n") {
                    if input.read_line(&mut message).ok()? == 0 {
                        return None;
                    }
                }
                let whole = accepted.drain(..).map(|address| (address, message.clone()));
                locked(taken).delivered.extend(whole);
                say("MESSAGE", "250 ok")?;
            }
            "BDAT" => {
                let bytes = command.split(' ').nth(1)?.parse().ok()?;
                let mut message = vec![0; bytes];
                std::io::Read::read_exact(&mut input, &mut message).ok()?;
                let message = String::from_utf8(message).ok()?;
                let whole = accepted.drain(..).map(|address| (address, message.clone()));
                locked(taken).delivered.extend(whole);
                say("MESSAGE", "250 ok")?;
            }
            // The client then sends no command.
            "STARTTLS" if reply.starts_with("220") => {
                std::io::Read::read_exact(&mut input, &mut [0; 5]).ok()?;
                say("TLS", "")?;
                return std::io::copy(&mut input, &mut std::io::sink()).ok().map(drop);
            }
            "QUIT" => return None,
            _ => {}
        }
    }
}

/// The reply of a script, or the server's own where that is empty, and where it is cut.
struct Chosen {
    cut: usize,
    reply: String,
}

impl Chosen {
    fn new(scripted: &str, own: &str) -> Option<Chosen> {
        let (cut, reply) = match scripted.strip_prefix(CUT).and_then(|rest| rest.split_once(' ')) {
            Some((cut, reply)) => (cut.parse().ok()?, reply),
            None => (0, scripted),
        };
        let reply = if reply.is_empty() { own } else { reply };
        Some(Chosen { cut, reply: reply.to_owned() })
    }
}

fn send(mut stream: &TcpStream, Chosen { cut, reply }: Chosen) -> Option<String> {
    if reply != SILENCE {
        let line = format!("{reply}\r\n");
        let (before, behind) = line.as_bytes().split_at(cut % line.len());
        if !before.is_empty() {
            stream.write_all(before).ok()?;
            // Long enough for the client to take it, mostly.
            thread::sleep(Duration::from_millis(1));
        }
        stream.write_all(behind).ok()?;
    }
    Some(reply)
}

/// Begins a reply of a script that comes in two pieces: the number of bytes of the first, a space, and the reply.
pub(crate) const CUT: &str = "cut ";

/// A reply of a script that never comes.
pub(crate) const SILENCE: &str = "silence";
