//! Workers in simulated time: each has a clock of its own, and a link to the coordinator whose delays a seed
//! draws. One of them may have a fault.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crate::Error;
use crate::load::coordinator::worker::{self, WorkerLink};
use crate::load::{Generator, Load, LoadSettings, Measured, Progress, RequestCounts, Slice, Times, Window};

type Request = worker::Request<LoadSettings, Load>;
type Reply = worker::Reply<Measured>;

const US: u64 = 1_000;
pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000_000_000;

/// The checksum of the program that all workers should have.
pub(super) const BUILD: u32 = 7;

/// A fault of one worker, or of its link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    /// The order to begin is lost on the way, in this level.
    LostBegin {
        level: u64,
    },
    /// The order to begin takes so much longer.
    SlowBegin {
        level: u64,
        by_ns: u64,
    },
    /// It dies when it receives the request of this number.
    DiesOfRequest(u64),
    /// It dies at this moment.
    DiesAt(u64),
    /// It handles no request from this number on.
    Hangs(u64),
    /// The reply of this number takes so much longer; replies behind it do not overtake it.
    SlowReply {
        number: u64,
        by_ns: u64,
    },
    /// Its clock is set at a moment.
    Step {
        at_ns: u64,
        by_ns: i64,
    },
    /// Its clock runs fast or slow by this share: as clocks do, or as none does.
    Drift(f64),
    /// Its measurements arrive twice, the second time so much later.
    Twice {
        by_ns: u64,
    },
    OtherBuild,
    /// It is stopped for this long, in the middle of this level.
    Absent {
        level: u64,
        for_ns: u64,
    },
}

impl Fault {
    pub(super) fn draw(random: &mut fastrand::Rng) -> Fault {
        let level = random.u64(1..=3);
        match random.u32(..14) {
            0 => Fault::LostBegin { level },
            1 => Fault::SlowBegin { level, by_ns: random.u64(..3 * SECOND) },
            2 => Fault::DiesOfRequest(random.u64(..200)),
            3 => Fault::DiesAt(random.u64(..20 * SECOND)),
            4 => Fault::Hangs(random.u64(..200)),
            5 => Fault::SlowReply { number: random.u64(..300), by_ns: random.u64(..3 * SECOND) },
            6 | 7 => {
                let by_ns = SECOND as i64 * if random.bool() { 1 } else { -1 };
                Fault::Step { at_ns: random.u64(..20 * SECOND), by_ns }
            }
            8 => Fault::Drift((random.f64() - 0.5) * 2e-4),
            9 => Fault::Drift(if random.bool() { 0.02 } else { -0.02 }),
            10 => Fault::Twice { by_ns: random.u64(..3 * SECOND) },
            11 => Fault::OtherBuild,
            12 => Fault::Absent { level, for_ns: random.u64(100 * MS..SECOND) },
            _ => Fault::None,
        }
    }
}

/// The true course of a level in one worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Truth {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) absent_ns: u64,
    pub(super) completed: u64,
}

/// A load that a worker offers.
#[derive(Clone, Debug)]
struct Offered {
    level: u64,
    /// By its own clock.
    window: Window,
    begin_ns: u64,
    completed: u64,
}

struct SimulatedWorker {
    fault: Fault,
    /// How far its clock is ahead when the world begins.
    ahead_ns: u64,
    /// The least delays on the way there and back.
    there_ns: u64,
    back_ns: u64,
    is_dead: bool,
    requests: u64,
    replies: u64,
    prepared: Option<(u64, Load)>,
    offered: Option<Offered>,
    /// Messages keep their order.
    last_there_ns: u64,
    last_back_ns: u64,
    inbox: VecDeque<Option<Reply>>,
    /// By level.
    truths: BTreeMap<u64, Truth>,
}

impl SimulatedWorker {
    /// Its clock at a moment.
    fn clock_ns(&self, now_ns: u64) -> u64 {
        let drifted = match self.fault {
            Fault::Drift(share) => (now_ns as f64 * share) as i64,
            Fault::Step { at_ns, by_ns } if now_ns >= at_ns => by_ns,
            _ => 0,
        };
        (self.ahead_ns + now_ns).wrapping_add_signed(drifted)
    }

    /// The moment at which its clock shows this time, not before now.
    fn when_ns(&self, now_ns: u64, clock_ns: u64) -> u64 {
        let plain = clock_ns.saturating_sub(self.ahead_ns);
        let at_ns = match self.fault {
            Fault::Drift(share) => (plain as f64 / (1.0 + share)) as u64,
            Fault::Step { at_ns, by_ns } if now_ns >= at_ns || plain >= at_ns => {
                plain.wrapping_add_signed(-by_ns).max(at_ns)
            }
            _ => plain,
        };
        at_ns.max(now_ns)
    }
}

enum Event {
    ToWorker(usize, Request),
    /// `None` is the end of the link.
    ToCoordinator(usize, Option<Reply>),
    Progress(usize, u64),
    Finish(usize, u64),
    Die(usize),
}

pub(super) struct World {
    now_ns: u64,
    random: fastrand::Rng,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    workers: Vec<SimulatedWorker>,
}

impl World {
    pub(super) fn new(mut random: fastrand::Rng, faults: &[Fault]) -> Rc<RefCell<World>> {
        let mut workers = Vec::new();
        for &fault in faults {
            workers.push(SimulatedWorker {
                fault,
                ahead_ns: random.u64(10 * SECOND..10_000 * SECOND),
                there_ns: random.u64(20 * US..MS),
                back_ns: random.u64(20 * US..MS),
                is_dead: false,
                requests: 0,
                replies: 0,
                prepared: None,
                offered: None,
                last_there_ns: 0,
                last_back_ns: 0,
                inbox: VecDeque::new(),
                truths: BTreeMap::new(),
            });
        }
        let mut world = World { now_ns: SECOND, random, events: BTreeMap::new(), number: 0, workers };
        for (number, fault) in faults.iter().enumerate() {
            if let Fault::DiesAt(at_ns) = *fault {
                world.at(at_ns.max(SECOND), Event::Die(number));
            }
        }
        Rc::new(RefCell::new(world))
    }

    /// The true courses of a level, of the workers that have measured it.
    pub(super) fn truths(&self, level: u64) -> Vec<Truth> {
        self.workers.iter().filter_map(|worker| worker.truths.get(&level).copied()).collect()
    }

    pub(super) fn busy(&self) -> usize {
        self.workers.iter().filter(|worker| worker.offered.is_some() && !worker.is_dead).count()
    }

    pub(super) fn now_ns(&mut self) -> u64 {
        self.now_ns += 50;
        self.now_ns
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.number += 1;
        self.events.insert((at_ns, self.number), event);
    }

    /// A delay of at least this: most are little longer, one in ten is up to ten times as long.
    fn delay_ns(&mut self, least_ns: u64) -> u64 {
        let stretch = if self.random.u32(..10) == 0 { 9.0 } else { 0.5 };
        least_ns + (least_ns as f64 * stretch * self.random.f64()) as u64
    }

    fn send(&mut self, number: usize, request: Request) {
        let mut delay_ns = self.delay_ns(self.workers[number].there_ns);
        let worker = &mut self.workers[number];
        if let Request::Begin { level, .. } = request {
            match worker.fault {
                Fault::LostBegin { level: lost } if lost == level => return,
                Fault::SlowBegin { level: slow, by_ns } if slow == level => delay_ns += by_ns,
                _ => {}
            }
        }
        let at_ns = (self.now_ns + delay_ns).max(worker.last_there_ns + 1);
        worker.last_there_ns = at_ns;
        self.at(at_ns, Event::ToWorker(number, request));
    }

    fn reply(&mut self, number: usize, after_ns: u64, reply: Reply) {
        let mut delay_ns = after_ns + self.delay_ns(self.workers[number].back_ns);
        let again_ns = self.random.u64(..MS);
        let worker = &mut self.workers[number];
        match worker.fault {
            Fault::SlowReply { number, by_ns } if number == worker.replies => delay_ns += by_ns,
            _ => {}
        }
        worker.replies += 1;
        let at_ns = (self.now_ns + delay_ns).max(worker.last_back_ns + 1);
        worker.last_back_ns = at_ns;
        if let (Fault::Twice { by_ns }, Reply::Measured { .. }) = (worker.fault, &reply) {
            self.at(at_ns + again_ns + by_ns, Event::ToCoordinator(number, Some(reply.clone())));
        }
        self.at(at_ns, Event::ToCoordinator(number, Some(reply)));
    }

    /// Handles the next event, if it comes by then.
    fn step(&mut self, until_ns: u64) -> bool {
        let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= until_ns) else {
            self.now_ns = self.now_ns.max(until_ns);
            return false;
        };
        let ((at_ns, _), event) = entry.remove_entry();
        self.now_ns = self.now_ns.max(at_ns);
        match event {
            Event::ToCoordinator(number, reply) => self.workers[number].inbox.push_back(reply),
            Event::ToWorker(number, request) if !self.workers[number].is_dead => {
                self.handle(number, request);
            }
            Event::Progress(number, level) => {
                let is_busy = self.workers[number].offered.as_ref().is_some_and(|one| one.level == level);
                if is_busy && !self.workers[number].is_dead {
                    self.reply(number, 0, Reply::Progress(Progress::default()));
                    self.at(self.now_ns + 100 * MS, Event::Progress(number, level));
                }
            }
            Event::Finish(number, level) => {
                let is_busy = self.workers[number].offered.as_ref().is_some_and(|one| one.level == level);
                if is_busy && !self.workers[number].is_dead {
                    self.finish(number);
                }
            }
            Event::Die(number) => self.die(number),
            Event::ToWorker(..) => {}
        }
        true
    }

    fn die(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        if !std::mem::replace(&mut worker.is_dead, true) {
            let at_ns = (self.now_ns + worker.back_ns).max(worker.last_back_ns + 1);
            self.at(at_ns, Event::ToCoordinator(number, None));
        }
    }

    fn handle(&mut self, number: usize, request: Request) {
        let worker = &mut self.workers[number];
        let request_number = worker.requests;
        worker.requests += 1;
        match worker.fault {
            Fault::DiesOfRequest(last) if request_number >= last => return self.die(number),
            Fault::Hangs(first) if request_number >= first => return,
            _ => {}
        }
        let now_ns = self.now_ns;
        match request {
            Request::Settings { .. } => {
                let build = if worker.fault == Fault::OtherBuild { BUILD + 1 } else { BUILD };
                self.reply(number, MS, Reply::Accepted { build: Some(build) });
            }
            Request::Clock => {
                let ns = worker.clock_ns(now_ns);
                self.reply(number, 0, Reply::Clock { ns });
            }
            Request::Prepare { level, task } => {
                worker.prepared = Some((level, task));
                let after_ns = self.random.u64(..20 * MS);
                self.reply(number, after_ns, Reply::Ready { level });
            }
            Request::Begin { level, at_ns, .. } => self.begin(number, level, at_ns),
            Request::Stop if worker.offered.is_some() => self.finish(number),
            Request::Stop | Request::Follow => {}
        }
    }

    fn begin(&mut self, number: usize, level: u64, at_ns: u64) {
        let (late_ns, completed) = (self.random.u64(..100 * US), self.random.u64(1..1000));
        let (worker, now_ns) = (&mut self.workers[number], self.now_ns);
        let clock_ns = worker.clock_ns(now_ns);
        let Some((_, load)) = worker.prepared.take().filter(|(prepared, _)| *prepared == level) else {
            return self.reply(number, 0, Reply::Refused("out of order".to_owned()));
        };
        if clock_ns > at_ns {
            return self.reply(number, 0, Reply::TooLate { level, ns: clock_ns - at_ns });
        }
        let begin_ns = worker.when_ns(now_ns, at_ns) + late_ns;
        let until_ns = at_ns + load.duration.as_nanos() as u64;
        let absent_ns = match worker.fault {
            Fault::Absent { level: stopped, for_ns } if stopped == level => for_ns,
            _ => 0,
        };
        let window = Window { begin_ns: at_ns + late_ns, end_ns: until_ns, absent_ns };
        worker.offered = Some(Offered { level, window, begin_ns, completed });
        let end_ns = worker.when_ns(begin_ns, until_ns);
        self.at(end_ns, Event::Finish(number, level));
        self.at(begin_ns + 100 * MS, Event::Progress(number, level));
    }

    fn finish(&mut self, number: usize) {
        let (drain_ns, now_ns) = (self.random.u64(..50 * MS), self.now_ns);
        let worker = &mut self.workers[number];
        let Some(Offered { level, window, begin_ns, completed }) = worker.offered.take() else { return };
        let end_ns = worker.clock_ns(now_ns).min(window.end_ns).max(window.begin_ns);
        let window = Window { end_ns, ..window };
        let truth = Truth { begin_ns, end_ns: now_ns, absent_ns: window.absent_ns, completed };
        worker.truths.insert(level, truth);
        let measured = Box::new(measured(window, completed));
        self.reply(number, drain_ns, Reply::Measured { level, measured });
    }
}

/// The counts of a worker, with as many latencies.
fn measured(window: Window, completed: u64) -> Measured {
    let seconds = (window.end_ns - window.begin_ns) as f64 / 1e9;
    let mut latency = Times::new().expect("a histogram");
    (0..completed).for_each(|number| latency.record(MS + number));
    Measured {
        connections: 1,
        elapsed_seconds: seconds,
        requests: RequestCounts { started: completed, completed, ..RequestCounts::default() },
        slices: vec![Slice { begin_seconds: 0.0, seconds, started: completed, completed, latency }],
        window,
        ..Measured::nothing().expect("histograms")
    }
}

/// The link to a worker of the world.
pub(super) struct SimulatedLink {
    pub(super) world: Rc<RefCell<World>>,
    pub(super) number: usize,
    pub(super) name: String,
}

impl WorkerLink for SimulatedLink {
    type Work = Generator;

    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, request: &Request) -> Result<(), Error> {
        self.world.borrow_mut().send(self.number, request.clone());
        Ok(())
    }

    fn receive(&mut self, within: Duration) -> Result<Option<Reply>, Error> {
        let mut world = self.world.borrow_mut();
        let until_ns = world.now_ns.saturating_add(within.as_nanos() as u64);
        loop {
            let is_reply = world.workers[self.number].inbox.front().map(Option::is_some);
            match is_reply {
                Some(true) => return Ok(world.workers[self.number].inbox.pop_front().flatten()),
                // The end of a link stays its end.
                Some(false) => return Err(Error::at("read")(io::ErrorKind::UnexpectedEof.into())),
                None if !world.step(until_ns) => return Ok(None),
                None => {}
            }
        }
    }

    fn end(&mut self) {
        self.world.borrow_mut().workers[self.number].is_dead = true;
    }
}
