//! One simulation: loops and clients take turns until all is over, and their counts are compared with those
//! of the network.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use sys::event::Event;

use super::ends::Clients;
use super::kernel::{SimulatedRing, SimulatedSet};
use super::world::{Fault, Happening, MS, SERVER, Shared, World};
use super::{FILES, SLACK_NS, Witness};
use crate::Error;
use crate::arch::proactor::Proactor;
use crate::arch::reactor::Reactor;
use crate::client::{Client, ClientSettings, ClientVisitor};
use crate::output::Output;
use crate::service::{Flow, OpenService, Session, SessionStage};
use crate::worker::{COUNTERS, Counter, Counters, Limits, TICK, Terms};

/// The architectures whose loops are simulated.
pub(super) const LOOPS: [&str; 6] = ["select", "poll", "epoll", "epoll-et", "sigio", "uring"];

/// An architecture with a foreign loop.
pub(super) const FOREIGN_LOOP: &str = "tokio";

/// More turns than any simulation needs.
const TURNS_MAX: u32 = 200_000;

/// A loop has no processor for so long at most, at a time.
const PREEMPTED_MAX_NS: u64 = 30 * MS;

/// A loop of a worker, as the simulation drives it.
trait Loop {
    /// Whether it has something to do now.
    fn is_awake(&mut self) -> bool;
    fn turn(&mut self) -> io::Result<()>;
    fn is_over(&self) -> bool;
    fn finish(&mut self);
}

struct Reacting<'a, const EDGE: bool, const FORGETS_CLOSED: bool> {
    reactor: Reactor<'a, SimulatedSet<EDGE, FORGETS_CLOSED>>,
    events: Vec<Event>,
    slots: Vec<u32>,
}

impl<const EDGE: bool, const FORGETS_CLOSED: bool> Loop for Reacting<'_, EDGE, FORGETS_CLOSED> {
    fn is_awake(&mut self) -> bool {
        self.reactor.patience() == Duration::ZERO || self.reactor.network.has_events()
    }

    fn turn(&mut self) -> io::Result<()> {
        self.reactor.turn(&mut self.events, &mut self.slots)
    }

    fn is_over(&self) -> bool {
        self.reactor.is_over()
    }

    fn finish(&mut self) {
        self.reactor.finish();
    }
}

fn reacting<'a, const EDGE: bool, const FORGETS_CLOSED: bool>(
    world: &Shared,
    worker: usize,
    most: usize,
    terms: Terms<'a>,
) -> Box<dyn Loop + 'a> {
    let set = SimulatedSet::<EDGE, FORGETS_CLOSED>::new(world, worker, most);
    Box::new(Reacting { reactor: Reactor::new(set, terms), events: Vec::new(), slots: Vec::new() })
}

struct Proacting<'a> {
    proactor: Proactor<'a, SimulatedRing>,
    expired: Vec<u32>,
}

impl Loop for Proacting<'_> {
    fn is_awake(&mut self) -> bool {
        self.proactor.ring.has_completions()
    }

    fn turn(&mut self) -> io::Result<()> {
        self.proactor.turn(&mut self.expired)
    }

    fn is_over(&self) -> bool {
        self.proactor.is_over()
    }

    fn finish(&mut self) {
        self.proactor.finish();
    }
}

/// The loop of the architecture of that name.
fn loop_of<'a>(name: &str, world: &Shared, worker: usize, terms: Terms<'a>) -> Box<dyn Loop + 'a> {
    match name {
        "select" => {
            let random = &mut world.borrow_mut().random;
            let most = if random.u8(..3) == 0 { random.usize(1..4) } else { usize::MAX };
            reacting::<false, false>(world, worker, most, terms)
        }
        "poll" => reacting::<false, false>(world, worker, usize::MAX, terms),
        "epoll" => reacting::<false, true>(world, worker, usize::MAX, terms),
        "epoll-et" => reacting::<true, true>(world, worker, usize::MAX, terms),
        "sigio" => reacting::<true, false>(world, worker, usize::MAX, terms),
        "uring" => {
            let ring = SimulatedRing::new(world, worker);
            let proactor = Proactor::new(ring, terms).expect("a ring");
            Box::new(Proacting { proactor, expired: Vec::new() })
        }
        other => unreachable!("no loop is called {other}"),
    }
}

pub(super) struct Attempt<'a> {
    pub(super) seed: u64,
    pub(super) name: &'a str,
    pub(super) service: &'a dyn OpenService,
    pub(super) service_name: &'a str,
    pub(super) response_bytes: usize,
    pub(super) fault: Fault,
}

impl ClientVisitor for Attempt<'_> {
    type Output = Result<(), String>;

    fn visit<S: ClientSettings>(self, settings: S) -> Result<Self::Output, Error> {
        let mut client = settings.open()?;
        rehearse(&mut client, self.service);
        Ok(self.simulate(client, settings.server_closes()))
    }
}

impl Attempt<'_> {
    fn simulate<C: Client>(&self, client: C, closes: bool) -> Result<(), String> {
        let mut seeded = fastrand::Rng::with_seed(self.seed);
        let workers = [1, 1, 2, 3][seeded.usize(..4)];
        let mut world = World::new(self.seed, self.fault, workers);
        world.limits = limits(&mut world.random);
        world.has_stages = self.service_name == "http";
        world.buffer_max = [64 << 10, self.response_bytes][world.random.usize(..2)];
        let stops_early = world.random.bool();
        if stops_early {
            let at_ns = world.random.u64(..3000 * MS);
            world.plan(at_ns, Happening::Stop);
        }
        let clients = Clients::new(client, closes, &mut world);
        let (limits, stop) = (world.limits, world.stop.clone());
        let world = Rc::new(RefCell::new(world));
        let counters = Counters::new(workers).map_err(|error| error.to_string())?;
        let rows: Vec<Counters> = (0..workers).map(|number| counters.of_worker(number)).collect();
        let twice = CountsTwice(self.service);
        let service = if self.fault == Fault::CountedTwice { &twice } else { self.service };
        let loops = rows.iter().enumerate().map(|(worker, counters)| {
            let terms = Terms { service, limits: &limits, counters, stop: &stop, log: None };
            Some(loop_of(self.name, &world, worker, terms))
        });
        let loops = loops.collect();
        let wakes_ns = vec![world.borrow().now_ns + TICK.as_nanos() as u64; workers];
        Simulation { world: Rc::clone(&world), clients, loops, wakes_ns, stops_early }.run()?;
        check(&world.borrow(), &counters, self.service_name)
    }
}

/// Limits that are over within a simulation.
fn limits(random: &mut fastrand::Rng) -> Limits {
    let mut between = |from: u64, to: u64| Duration::from_millis(random.u64(from..to));
    Limits {
        idle: between(300, 3000),
        request: between(300, 2000),
        send: between(400, 2000),
        grace: between(200, 3000),
        connections: if random.u8(..4) == 0 { random.usize(1..4) } else { usize::MAX },
    }
}

/// Makes the client learn the right responses, without any network.
fn rehearse<C: Client>(client: &mut C, service: &dyn OpenService) {
    if C::SERVER_BEGINS {
        return;
    }
    let (mut asking, mut answering) = (client.session(), service.session(None));
    for _ in 0..FILES.len() {
        let mut output = Output::default();
        answering.on_input(client.request(&mut asking), &mut output);
        while !output.is_empty() {
            let mut bytes = Vec::with_capacity(64 << 10);
            output.fill(&mut bytes).expect("a response");
            client.on_input(&mut asking, &bytes).expect("a right response");
        }
    }
}

struct Simulation<'a, C: Client> {
    world: Shared,
    clients: Clients<C>,
    /// None where a loop has ended.
    loops: Vec<Option<Box<dyn Loop + 'a>>>,
    /// When each loop has waited for long enough.
    wakes_ns: Vec<u64>,
    /// Whether the order to stop comes independently of the clients.
    stops_early: bool,
}

impl<C: Client> Simulation<'_, C> {
    fn run(mut self) -> Result<(), String> {
        for _ in 0..TURNS_MAX {
            if let Some(fault) = self.world.borrow().faults.first() {
                return Err(fault.clone());
            }
            if let Some(worker) = self.next_loop() {
                self.turn(worker)?;
                continue;
            }
            self.check_quiet()?;
            if !self.stops_early && self.clients.are_over() {
                self.stops_early = true;
                self.world.borrow_mut().plan(0, Happening::Stop);
            }
            if self.clients.are_over() && self.loops.iter().all(Option::is_none) {
                return Ok(());
            }
            self.advance()?;
        }
        Err("it never ends".to_owned())
    }

    /// A loop that has work, or whose wait is over.
    fn next_loop(&mut self) -> Option<usize> {
        let now_ns = self.world.borrow().now_ns;
        let (loops, wakes_ns) = (&mut self.loops, &self.wakes_ns);
        let is_due = |worker: &usize| {
            let living = loops[*worker].as_mut();
            living.is_some_and(|living| now_ns >= wakes_ns[*worker] || living.is_awake())
        };
        let due: Vec<usize> = (0..wakes_ns.len()).filter(is_due).collect();
        let random = &mut self.world.borrow_mut().random;
        (!due.is_empty()).then(|| due[random.usize(..due.len())])
    }

    fn turn(&mut self, worker: usize) -> Result<(), String> {
        {
            let mut world = self.world.borrow_mut();
            if world.random.u8(..50) == 0 {
                world.now_ns += world.random.u64(..PREEMPTED_MAX_NS);
            }
        }
        let Some(running) = &mut self.loops[worker] else { return Ok(()) };
        running.turn().map_err(|error| format!("the loop: {error}"))?;
        if running.is_over() {
            running.finish();
            self.loops[worker] = None;
        }
        self.wakes_ns[worker] = self.world.borrow().now_ns + TICK.as_nanos() as u64;
        Ok(())
    }

    /// Checks, before time goes on, the steps that every connection and every loop must have made by now.
    fn check_quiet(&self) -> Result<(), String> {
        let world = self.world.borrow();
        let now_ns = world.now_ns;
        let fail = |link: usize, text: &str| Err(format!("at {} ms, connection {link}: {text}", now_ns / MS));
        for (number, link) in world.links.iter().enumerate() {
            if !link.witness.is_open() || self.loops[link.worker].is_none() {
                continue;
            }
            let end = &link.ends[SERVER];
            if link.witness.is_sending && end.is_writable() {
                return fail(number, "there is room for output, and nothing will wake it");
            }
            if !link.witness.is_sending && end.is_readable() {
                return fail(number, "there is input, and nothing will wake it");
            }
            if now_ns > link.witness.due_ns(&world.limits).1 {
                return fail(number, "its time limit is over, and nothing came of it");
            }
        }
        for (worker, backlog) in world.backlogs.iter().enumerate() {
            // After a pause it begins again, and it waits anew now and then.
            let paused_ns = world.paused_ns[worker].map(|at_ns| at_ns + TICK.as_nanos() as u64);
            let missed_ns = world.missed_ns[worker].map(|at_ns| at_ns + 2 * TICK.as_nanos() as u64);
            let excused_ns = paused_ns.max(missed_ns).map(|until_ns| until_ns + SLACK_NS);
            if let (Some(&first), true) = (backlog.waiting.front(), self.loops[worker].is_some())
                && excused_ns.is_none_or(|until_ns| now_ns > until_ns)
            {
                return fail(first, "it waits to be accepted, and nothing will wake the listener");
            }
        }
        let end_ns = |stopped_ns: u64| stopped_ns + world.limits.grace.as_nanos() as u64 + SLACK_NS;
        if world.stopped_ns.is_some_and(|at_ns| now_ns > end_ns(at_ns))
            && self.loops.iter().any(Option::is_some)
        {
            return Err("a loop goes on after its time of grace".to_owned());
        }
        Ok(())
    }

    /// Goes on to the next thing that happens, or that a loop waits for.
    fn advance(&mut self) -> Result<(), String> {
        let living = self.loops.iter().zip(&self.wakes_ns).filter(|(living, _)| living.is_some());
        let wakes_ns = living.map(|(_, &wakes_ns)| wakes_ns).min();
        let mut world = self.world.borrow_mut();
        let next_ns = wakes_ns.into_iter().chain(world.next_ns()).min();
        let Some(next_ns) = next_ns else { return Err("a client waits, and nothing will happen".to_owned()) };
        world.now_ns = world.now_ns.max(next_ns);
        while let Some(happening) = world.take_due() {
            match happening {
                Happening::Step(client) => self.clients.step(client, &mut world),
                other => world.happen(other),
            }
            if world.random.u8(..4) == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// Both ends counted the same, and every request that was received has its response.
fn check(world: &World, counters: &Counters, service: &str) -> Result<(), String> {
    if let Some(fault) = world.faults.first() {
        return Err(fault.clone());
    }
    for (number, link) in world.links.iter().enumerate() {
        let (complete, witness) = (link.witness.complete(), &link.witness);
        let is_excused = witness.excuse.is_some();
        if witness.answered > complete || (witness.answered < complete && !is_excused) {
            let text = format!("{} responses to {complete} requests", witness.answered);
            return Err(format!("connection {number}: {text}"));
        }
    }
    let sum = |of: &dyn Fn(&Witness) -> u64| world.links.iter().map(|link| of(&link.witness)).sum::<u64>();
    let expected = [
        (Counter::Accepted, world.accepted),
        (Counter::Ended, world.accepted),
        (Counter::Refused, world.refused),
        (Counter::Exhausted, world.exhausted),
        (Counter::Received, sum(&|witness| witness.received)),
        (Counter::Sent, sum(&|witness| witness.sent)),
        (Counter::Slow, sum(&|witness| u64::from(witness.is_slow))),
        (Counter::Restarts, 0),
    ];
    let counts = counters.sums();
    for (counter, expected) in expected {
        let (name, count) = (COUNTERS[counter as usize], counts[counter as usize]);
        if count != expected {
            return Err(format!("{name}: {count} counted, {expected} seen"));
        }
    }
    let most = sum(&|witness| u64::from(witness.saw_error));
    // An error of a connection that was over by then is none.
    let least = sum(&|witness| u64::from(witness.saw_error && !witness.is_cancelled));
    let broken = counts[Counter::Broken as usize];
    if !(least..=most).contains(&broken) {
        return Err(format!("broken: {broken} counted, from {least} to {most} seen"));
    }
    // A service that is no protocol of requests answers pieces.
    let most = sum(&|witness| witness.complete() + u64::from(witness.is_slow));
    let least = sum(&|witness| if witness.excuse.is_none() { witness.complete() } else { 0 });
    let responses = counts[Counter::Responses as usize];
    if service != "echo" && !(least..=most).contains(&responses) {
        return Err(format!("responses: {responses} counted, from {least} to {most} seen"));
    }
    Ok(())
}

/// A service that counts each of its responses twice, which the simulation must find.
struct CountsTwice<'a>(pub(super) &'a dyn OpenService);

struct CountingTwice(Box<dyn Session>);

impl OpenService for CountsTwice<'_> {
    fn session(&self, peer: Option<SocketAddr>) -> Box<dyn Session> {
        Box::new(CountingTwice(self.0.session(peer)))
    }
}

impl Session for CountingTwice {
    fn begin(&mut self, output: &mut Output) -> Flow {
        self.0.begin(output)
    }

    fn on_input(&mut self, input: &[u8], output: &mut Output) -> Flow {
        let flow = self.0.on_input(input, output);
        for _ in 0..output.take_responses() * 2 {
            output.answered();
        }
        flow
    }

    fn end(&mut self, output: &mut Output) -> Flow {
        self.0.end(output)
    }

    fn too_slow(&mut self, output: &mut Output) -> Flow {
        self.0.too_slow(output)
    }

    fn stage(&self) -> SessionStage {
        self.0.stage()
    }
}
