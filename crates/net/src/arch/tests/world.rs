//! The simulated network: connections of two ends, and the bytes between them with their times. All chance
//! comes from one seed.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read};
use std::rc::Rc;

use super::Witness;
use crate::worker::{Limits, StopFlag};

pub(super) const MS: u64 = 1_000_000;

pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

/// `EMFILE` and `ECONNRESET` of Linux.
const NO_DESCRIPTOR: i32 = 24;
const RESET: i32 = 104;

/// A future event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    /// The link's connection is made: it waits to be accepted.
    Arrive(usize),
    /// Bytes, or the end of them, travel from this end of the link.
    Move(usize, usize),
    /// A reset reaches this end of the link.
    Reset(usize, usize),
    /// The network breaks the link.
    Break(usize),
    /// The client of that number goes on.
    Step(usize),
    /// The order to stop.
    Stop,
}

#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) inbox: VecDeque<u8>,
    inbox_max: usize,
    /// The other end's last byte is in the inbox, or was.
    pub(super) ended: bool,
    pub(super) reset: bool,
    outbox: VecDeque<u8>,
    outbox_max: usize,
    finished: bool,
    pub(super) closed: bool,
    resets: bool,
    /// Its input comes in small pieces, one after the other.
    trickles: bool,
    moving: bool,
    /// The last send found no room for all of it.
    pub(super) blocked: bool,
    /// Changes that an edge has to report.
    pub(super) edge_read: bool,
    pub(super) edge_write: bool,
}

impl End {
    pub(super) fn room(&self) -> usize {
        self.outbox_max.saturating_sub(self.outbox.len())
    }

    pub(super) fn is_readable(&self) -> bool {
        !self.inbox.is_empty() || self.ended || self.reset
    }

    /// As sockets are: not before a part of the buffer is free.
    pub(super) fn is_writable(&self) -> bool {
        self.outbox.len() * 3 <= self.outbox_max * 2 || self.reset
    }
}

/// Moves so many bytes from the output of one end to the input of the other. In slices: responses have up to
/// 90 KB, and byte by byte they took a third of a simulation's time.
fn move_bytes(ends: &mut [End; 2], from: usize, count: usize) {
    let [client, server] = ends;
    let (sender, receiver) = if from == CLIENT { (client, server) } else { (server, client) };
    let (front, back) = sender.outbox.as_slices();
    let of_front = count.min(front.len());
    receiver.inbox.extend(&front[..of_front]);
    receiver.inbox.extend(&back[..count - of_front]);
    sender.outbox.drain(..count);
}

/// A connection, from the beginning of its making.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) ends: [End; 2],
    pub(super) client: usize,
    pub(super) worker: usize,
    pub(super) witness: Witness,
    /// Whether the loop has it.
    is_shown: bool,
}

#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) waiting: VecDeque<usize>,
    pub(super) edge: bool,
    refuses: bool,
}

/// A planted fault of the network, to prove that the promises find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The set counts a change as reported without reporting it.
    LostWakeUp,
    /// The service counts its responses twice.
    CountedTwice,
    /// A clock that stands still for the loop, so that no time-out comes.
    StandingClock,
    /// A byte that is changed on its way.
    WrongByte,
}

pub(super) struct World {
    pub(super) now_ns: u64,
    pub(super) random: fastrand::Rng,
    pub(super) fault: Fault,
    happenings: BTreeMap<(u64, u64), Happening>,
    number: u64,
    pub(super) links: Vec<Link>,
    pub(super) backlogs: Vec<Backlog>,
    pub(super) stop: StopFlag,
    /// When the order to stop was given.
    pub(super) stopped_ns: Option<u64>,
    /// Connections that the servers may have open at a time.
    pub(super) descriptors: usize,
    pub(super) limits: Limits,
    /// Whether a request that is there in part has a time limit of its own.
    pub(super) has_stages: bool,
    pub(super) refused: u64,
    /// The largest buffers of both ends.
    pub(super) buffer_max: usize,
    pub(super) accepted: u64,
    pub(super) exhausted: u64,
    /// When a listener ran out of descriptors last.
    pub(super) paused_ns: Vec<Option<u64>>,
    /// Since when connections do not wake a worker's ring, although it waits for them.
    pub(super) missed_ns: Vec<Option<u64>>,
    pub(super) faults: Vec<String>,
    /// Whether all events are printed.
    traces: bool,
}

pub(super) type Shared = Rc<RefCell<World>>;

impl World {
    pub(super) fn new(seed: u64, fault: Fault, workers: usize) -> World {
        let mut random = fastrand::Rng::with_seed(seed);
        let descriptors = if random.u8(..4) == 0 { random.usize(1..4) } else { usize::MAX };
        World {
            now_ns: MS,
            random,
            fault,
            happenings: BTreeMap::new(),
            number: 0,
            links: Vec::new(),
            backlogs: (0..workers).map(|_| Backlog::default()).collect(),
            stop: StopFlag::default(),
            stopped_ns: None,
            descriptors,
            limits: Limits::default(),
            has_stages: false,
            refused: 0,
            buffer_max: 64 << 10,
            accepted: 0,
            exhausted: 0,
            paused_ns: vec![None; workers],
            missed_ns: vec![None; workers],
            faults: Vec::new(),
            traces: std::env::var_os("OSDYNO_SEED").is_some(),
        }
    }

    pub(super) fn plan(&mut self, delay_ns: u64, happening: Happening) {
        self.number += 1;
        self.happenings.insert((self.now_ns + delay_ns, self.number), happening);
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        self.happenings.first_key_value().map(|(key, _)| key.0)
    }

    /// The next event, if it is due.
    pub(super) fn take_due(&mut self) -> Option<Happening> {
        let entry = self.happenings.first_entry()?;
        (entry.key().0 <= self.now_ns).then(|| entry.remove())
    }

    pub(super) fn wrong(&mut self, link: usize, text: &str) {
        let at_ms = self.now_ns / MS;
        self.faults.push(format!("at {at_ms} ms, connection {link}: {text}"));
    }

    /// The time by the clock of a loop, in milliseconds.
    pub(super) fn loop_ms(&self) -> u64 {
        if self.fault == Fault::StandingClock { 1 } else { self.now_ns / MS }
    }

    pub(super) fn trace(&self, subject: &dyn std::fmt::Debug, what: &dyn std::fmt::Debug) {
        if self.traces {
            println!("{:>10} us  {subject:?}: {what:?}", self.now_ns / 1000);
        }
    }

    /// Mostly soon, sometimes late.
    pub(super) fn delay_ns(&mut self) -> u64 {
        match self.random.u8(..16) {
            0 => self.random.u64(..200 * MS),
            1..5 => 0,
            _ => self.random.u64(..3 * MS),
        }
    }

    fn buffer(&mut self) -> usize {
        match self.random.u8(..4) {
            0 => self.random.usize(self.buffer_max / 64..=self.buffer_max).max(1),
            1 => self.random.usize(self.buffer_max / 8..=self.buffer_max).max(1),
            _ => self.buffer_max,
        }
    }

    /// A client begins to connect.
    pub(super) fn connect(&mut self, client: usize) -> usize {
        let worker = self.random.usize(..self.backlogs.len());
        let mut ends = [End::default(), End::default()];
        for end in &mut ends {
            (end.inbox_max, end.outbox_max) = (self.buffer(), self.buffer());
        }
        ends[SERVER].trickles = self.random.u8(..8) == 0;
        self.links.push(Link { ends, client, worker, witness: Witness::default(), is_shown: false });
        let delay_ns = self.delay_ns();
        self.plan(delay_ns, Happening::Arrive(self.links.len() - 1));
        self.links.len() - 1
    }

    pub(super) fn happen(&mut self, happening: Happening) {
        self.trace(&"network", &happening);
        match happening {
            Happening::Arrive(link) => {
                let backlog = &mut self.backlogs[self.links[link].worker];
                if backlog.refuses {
                    return self.refuse(link);
                }
                backlog.waiting.push_back(link);
                backlog.edge = true;
            }
            Happening::Move(link, from) => self.carry(link, from),
            Happening::Reset(link, to) => self.reset(link, to),
            Happening::Break(link) => {
                self.links[link].witness.excuse("the network broke it");
                self.reset(link, CLIENT);
                self.reset(link, SERVER);
            }
            Happening::Stop => {
                self.stopped_ns = Some(self.now_ns);
                self.stop.order();
            }
            Happening::Step(_) => {}
        }
    }

    fn refuse(&mut self, link: usize) {
        self.links[link].witness.excuse("the server refused it");
        self.links[link].ends[SERVER].closed = true;
        self.plan(0, Happening::Reset(link, CLIENT));
    }

    fn reset(&mut self, link: usize, to: usize) {
        let end = &mut self.links[link].ends[to];
        if !end.closed && !end.reset {
            end.reset = true;
            end.outbox.clear();
            (end.edge_read, end.edge_write) = (true, true);
            self.tell(link, to);
        }
    }

    /// The client is called when bytes arrive; a server's loop polls.
    fn tell(&mut self, link: usize, to: usize) {
        if to == CLIENT {
            let delay_ns = self.delay_ns();
            self.plan(delay_ns, Happening::Step(self.links[link].client));
        }
    }

    /// Some bytes of one end reach the other.
    fn carry(&mut self, link: usize, from: usize) {
        let to = 1 - from;
        let ends = &mut self.links[link].ends;
        ends[from].moving = false;
        if ends[from].reset || (ends[from].outbox.is_empty() && !ends[from].finished) {
            return;
        }
        if ends[to].closed {
            // A reset destroys bytes on the way (RFC 9112, section 9.6).
            self.links[link].witness.excuse("bytes came to an end that was closed");
            return self.plan(0, Happening::Reset(link, from));
        }
        let room = ends[to].inbox_max.saturating_sub(ends[to].inbox.len()).min(ends[from].outbox.len());
        let count = if room > 1 && self.random.bool() { self.random.usize(1..=room) } else { room };
        move_bytes(ends, from, count);
        if count > 0 && self.fault == Fault::WrongByte && self.random.u8(..4) == 0 {
            ends[to].inbox[0] ^= 1;
        }
        let has_ended = ends[from].outbox.is_empty() && ends[from].finished && !ends[to].ended;
        ends[to].ended |= has_ended;
        if count > 0 || has_ended {
            ends[to].edge_read = true;
        }
        if ends[from].blocked && ends[from].is_writable() {
            (ends[from].blocked, ends[from].edge_write) = (false, true);
        }
        if from == SERVER && count > 0 {
            self.links[link].witness.acknowledged(count, self.now_ns);
        }
        if count > 0 || has_ended {
            self.tell(link, to);
        }
        if count > 0 {
            if from == CLIENT {
                // The client may have more to send.
                self.tell(link, from);
            }
            self.set_out(link, from);
        }
    }

    /// Starts the transfer of an end's pending bytes, unless it runs already or there is no room.
    fn set_out(&mut self, link: usize, from: usize) {
        let ends = &mut self.links[link].ends;
        let has_room = ends[1 - from].inbox.len() < ends[1 - from].inbox_max || ends[1 - from].closed;
        let has_end = ends[from].outbox.is_empty() && ends[from].finished && !ends[1 - from].ended;
        if !ends[from].moving && (has_end || !ends[from].outbox.is_empty() && has_room) {
            ends[from].moving = true;
            let delay_ns = self.delay_ns();
            self.plan(delay_ns, Happening::Move(link, from));
        }
    }

    /// Sends the bytes that fit, or a part of them.
    pub(super) fn send(&mut self, link: usize, from: usize, pieces: &[&[u8]]) -> io::Result<usize> {
        let end = &mut self.links[link].ends[from];
        if end.reset {
            return Err(io::Error::from_raw_os_error(RESET));
        }
        let room = end.room();
        let all: usize = pieces.iter().map(|piece| piece.len()).sum();
        let count = all.min(room);
        end.blocked = count < all;
        let mut left = count;
        for piece in pieces {
            let taken = left.min(piece.len());
            end.outbox.extend(&piece[..taken]);
            left -= taken;
        }
        if count == 0 && all > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.set_out(link, from);
        Ok(count)
    }

    /// Receives the available bytes, or the first `most` of them.
    pub(super) fn receive(&mut self, link: usize, at: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let end = &mut self.links[link].ends[at];
        if end.inbox.is_empty() {
            return match (end.reset, end.ended) {
                (true, _) => Err(io::Error::from_raw_os_error(RESET)),
                (_, true) => Ok(0),
                _ => Err(ErrorKind::WouldBlock.into()),
            };
        }
        let all = end.inbox.len().min(buffer.len());
        // The rest comes while the loop has its turn: it finds more again and again.
        let count = if end.trickles { self.random.usize(1..=all.min(8)) } else { all };
        let end = &mut self.links[link].ends[at];
        end.inbox.read_exact(&mut buffer[..count])?;
        self.set_out(link, 1 - at);
        Ok(count)
    }

    pub(super) fn finish_sending(&mut self, link: usize, from: usize) -> io::Result<()> {
        if self.links[link].ends[from].reset {
            return Err(ErrorKind::NotConnected.into());
        }
        self.links[link].ends[from].finished = true;
        self.set_out(link, from);
        Ok(())
    }

    pub(super) fn reset_on_close(&mut self, link: usize, at: usize) {
        self.links[link].ends[at].resets = true;
    }

    pub(super) fn close(&mut self, link: usize, at: usize) {
        let end = &mut self.links[link].ends[at];
        if end.closed {
            return;
        }
        end.closed = true;
        if end.resets || !end.inbox.is_empty() {
            end.outbox.clear();
            self.plan(0, Happening::Reset(link, 1 - at));
        } else {
            end.finished = true;
            self.set_out(link, at);
        }
    }

    /// The server closes its end: it needs a reason.
    pub(super) fn closed_by_server(&mut self, link: usize) {
        let (now_ns, limits) = (self.now_ns, self.limits);
        let grace_ns = limits.grace.as_nanos() as u64;
        let stops = self.stopped_ns.is_some();
        let is_cut = self.stopped_ns.is_some_and(|at_ns| now_ns >= at_ns + grace_ns);
        let witness = &mut self.links[link].witness;
        let has_reason = witness.closed(now_ns, &limits);
        if is_cut {
            witness.excuse("its time of grace was over");
        }
        if !stops && !has_reason && witness.excuse.is_none() {
            self.wrong(link, "the server closed it without a reason");
        }
    }

    /// Connections of servers that are open.
    pub(super) fn open(&self) -> usize {
        self.links.iter().filter(|link| link.witness.is_open()).count()
    }

    /// Accepts the connection that has waited for longest.
    pub(super) fn accept(&mut self, worker: usize) -> io::Result<usize> {
        self.paused_ns[worker] = None;
        if self.backlogs[worker].waiting.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        if self.open() >= self.descriptors {
            self.exhausted += 1;
            self.paused_ns[worker] = Some(self.now_ns);
            return Err(io::Error::from_raw_os_error(NO_DESCRIPTOR));
        }
        if self.random.u8(..64) == 0 {
            return Err(ErrorKind::Interrupted.into());
        }
        let Some(link) = self.backlogs[worker].waiting.pop_front() else { unreachable!("looked at above") };
        if self.random.u8(..64) == 0 {
            self.refuse(link);
            return Err(ErrorKind::ConnectionAborted.into());
        }
        self.accepted += 1;
        let (now_ns, limits, has_stages) = (self.now_ns, self.limits, self.has_stages);
        self.links[link].witness.accepted(now_ns, &limits, has_stages);
        Ok(link)
    }

    /// The loop accepts a connection: at this moment the open ones are counted.
    pub(super) fn show(&mut self, link: usize) {
        let worker = self.links[link].worker;
        let beside = |other: &&Link| other.worker == worker && other.is_shown && other.witness.is_open();
        if self.links.iter().filter(beside).count() >= self.limits.connections {
            self.refused += 1;
            self.links[link].witness.excuse("there were too many");
        }
        self.links[link].is_shown = true;
    }

    pub(super) fn refuse_more(&mut self, worker: usize) {
        self.backlogs[worker].refuses = true;
        for link in std::mem::take(&mut self.backlogs[worker].waiting) {
            self.refuse(link);
        }
    }
}
