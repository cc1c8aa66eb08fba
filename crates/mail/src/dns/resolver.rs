//! Finds the exchangers of domains and their addresses, as a stub resolver of servers that resolve for it. It
//! has neither a socket nor a clock: the caller sends its queries, and reports responses and times.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use domain::base::name::ToName;
use domain::base::{Name, Rtype};
use fastrand::Rng;
use slab::Slab;

use super::lookup::{Lookups, Transmit, Transport};
use super::{Answer, DnsFailure, Exchanger, HostName, RouteAnswer};

/// The most exchangers of a domain that are looked up, the preferred ones, and the most addresses of each.
const EXCHANGERS_MAX: usize = 16;
const ADDRESSES_MAX: usize = 16;

/// A domain that is being resolved.
struct Job {
    domain: u32,
    name: HostName,
    exchangers: Vec<(u16, HostName, Vec<IpAddr>)>,
    /// Answers that are still missing.
    pending: usize,
    failure: Option<DnsFailure>,
}

/// The part of a job that an answer is for.
#[derive(Clone, Copy, Debug)]
enum Part {
    Exchangers,
    /// Of the exchanger with that number.
    Addresses(usize),
}

/// Domains on their way to a [`RouteAnswer`].
pub struct Resolver {
    lookups: Lookups<(usize, Part)>,
    jobs: Slab<Job>,
    /// Domains that wait, in order: their numbers, and their names one after the other as they are in
    /// messages, which takes less than 60 bytes for a name of up to 20.
    waiting: VecDeque<u32>,
    waiting_names: VecDeque<u8>,
    answers: VecDeque<(u32, RouteAnswer)>,
    ipv6: bool,
    random: Rng,
}

impl Resolver {
    /// A resolver without questions.
    pub fn new(settings: ResolverSettings) -> Resolver {
        Resolver {
            lookups: Lookups::new(settings),
            jobs: Slab::new(),
            waiting: VecDeque::new(),
            waiting_names: VecDeque::new(),
            answers: VecDeque::new(),
            ipv6: settings.ipv6,
            random: Rng::with_seed(settings.seed ^ 0x5eed),
        }
    }

    /// Begins to resolve a domain. `domain` is the caller's number for it, with which the answer comes. A
    /// name that cannot be in DNS does not exist.
    pub fn ask(&mut self, domain: u32, name: &str, now_ns: u64) {
        let Some(name) = host_name(name) else {
            return self.answers.push_back((domain, RouteAnswer::NoSuchDomain));
        };
        if self.has_room() {
            self.begin(domain, name, now_ns);
            self.settle(now_ns);
        } else {
            self.waiting.push_back(domain);
            self.waiting_names.extend(name.as_slice());
        }
    }

    /// Whether another domain would be resolved at once. A waiting domain takes no memory here.
    pub fn has_room(&self) -> bool {
        self.waiting.is_empty() && self.lookups.has_room()
    }

    /// The next message to send. The caller need not report an unsent datagram: it counts as lost.
    pub fn next_transmit(&mut self) -> Option<Transmit> {
        self.lookups.transmits.pop_front()
    }

    /// A finished domain, and its answer.
    pub fn next_answer(&mut self) -> Option<(u32, RouteAnswer)> {
        self.answers.pop_front()
    }

    /// A message has come from a server. A response without a matching query to this server is dropped.
    /// Returns whether it was an answer.
    pub fn on_message(&mut self, server: usize, transport: Transport, message: &[u8], now_ns: u64) -> bool {
        let is_answer = self.lookups.on_message(server, transport, message, now_ns);
        self.settle(now_ns);
        is_answer
    }

    /// The query with that id did not reach the server, or its connection ended without a response.
    pub(super) fn on_unreachable(&mut self, server: usize, id: u16, now_ns: u64) {
        self.lookups.on_unreachable(server, id, now_ns);
    }

    /// Repeats, or gives up, queries without a response in time.
    pub fn on_time(&mut self, now_ns: u64) {
        self.lookups.on_time(now_ns);
        self.settle(now_ns);
    }

    /// When [`Resolver::on_time`] is to be called; `None` while nothing is under way.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.lookups.next_deadline_ns()
    }

    /// Domains that have no answer yet.
    pub fn unresolved(&self) -> usize {
        self.jobs.len() + self.waiting.len()
    }

    /// Bytes that waiting domains take.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<u32>() + self.waiting_names.capacity()
    }

    /// Answers in the cache.
    pub fn cached(&self) -> usize {
        self.lookups.cached()
    }

    fn begin(&mut self, domain: u32, name: HostName, now_ns: u64) {
        let job = Job { domain, name: name.clone(), exchangers: Vec::new(), pending: 1, failure: None };
        let number = self.jobs.insert(job);
        self.lookups.find(&name, Rtype::MX, (number, Part::Exchangers), now_ns);
    }

    /// Gives answers to the jobs that wait for them, and begins others in their place.
    fn settle(&mut self, now_ns: u64) {
        loop {
            while let Some(((number, part), answer)) = self.lookups.found.pop_front() {
                self.deliver(number, part, &answer, now_ns);
            }
            if !self.lookups.has_room() {
                return;
            }
            let Some(domain) = self.waiting.pop_front() else { return };
            match self.take_waiting_name() {
                Some(name) => self.begin(domain, name, now_ns),
                None => self.answers.push_back((domain, RouteAnswer::NoSuchDomain)),
            }
        }
    }

    /// The first of the names that wait: labels, each after its length, up to an empty one.
    fn take_waiting_name(&mut self) -> Option<HostName> {
        let mut end = 0;
        while let Some(&label) = self.waiting_names.get(end) {
            end += 1 + usize::from(label);
            if label == 0 {
                break;
            }
        }
        Name::from_octets(self.waiting_names.drain(..end.min(self.waiting_names.len())).collect()).ok()
    }

    fn deliver(&mut self, number: usize, part: Part, answer: &Arc<Answer>, now_ns: u64) {
        let Some(job) = self.jobs.get_mut(number) else { return };
        job.pending -= 1;
        let done = match (part, &**answer) {
            (Part::Exchangers, Answer::NoSuchDomain) => Some(RouteAnswer::NoSuchDomain),
            (Part::Exchangers, Answer::Failed(failure)) => Some(RouteAnswer::Temporary(*failure)),
            (Part::Exchangers, Answer::Exchangers(list)) => match &list[..] {
                [(_, host)] if host.is_root() => Some(RouteAnswer::NullMx),
                _ => {
                    job.exchangers = preferred(list, &mut self.random);
                    self.ask_addresses(number, now_ns)
                }
            },
            // Without records MX the domain is its own exchanger.
            (Part::Exchangers, _) => {
                job.exchangers = vec![(0, job.name.clone(), Vec::new())];
                self.ask_addresses(number, now_ns)
            }
            (Part::Addresses(place), Answer::Addresses(list)) => {
                let addresses = &mut job.exchangers[place].2;
                addresses.extend(list.iter().take(ADDRESSES_MAX));
                None
            }
            (_, Answer::Failed(failure)) => {
                job.failure = Some(*failure);
                None
            }
            (_, _) => None,
        };
        match done {
            Some(answer) => self.finish(number, answer),
            None if self.jobs[number].pending == 0 => self.assemble(number),
            None => {}
        }
    }

    /// Asks for the addresses of all exchangers. Their answers come through `deliver`, never from here.
    fn ask_addresses(&mut self, number: usize, now_ns: u64) -> Option<RouteAnswer> {
        let types: &[Rtype] = if self.ipv6 { &[Rtype::A, Rtype::AAAA] } else { &[Rtype::A] };
        let job = &mut self.jobs[number];
        job.pending = job.exchangers.len() * types.len();
        let hosts: Vec<HostName> = job.exchangers.iter().map(|(_, host, _)| host.clone()).collect();
        for (place, host) in hosts.iter().enumerate() {
            for &rtype in types {
                self.lookups.find(host, rtype, (number, Part::Addresses(place)), now_ns);
            }
        }
        hosts.is_empty().then_some(RouteAnswer::NoExchanger)
    }

    fn assemble(&mut self, number: usize) {
        let job = &mut self.jobs[number];
        let mut exchangers = Vec::new();
        for (preference, host, mut addresses) in std::mem::take(&mut job.exchangers) {
            addresses.sort_by_key(IpAddr::is_ipv6);
            if !addresses.is_empty() {
                exchangers.push(Exchanger { preference, host: host.to_string(), addresses });
            }
        }
        let answer = match job.failure {
            _ if !exchangers.is_empty() => RouteAnswer::Exchangers(exchangers),
            Some(failure) => RouteAnswer::Temporary(failure),
            None => RouteAnswer::NoExchanger,
        };
        self.finish(number, answer);
    }

    fn finish(&mut self, number: usize, answer: RouteAnswer) {
        let job = self.jobs.remove(number);
        self.answers.push_back((job.domain, answer));
    }
}

/// By preference, those of the same one in random order (RFC 5321, section 5.1). The root is no host.
fn preferred(list: &[(u16, HostName)], random: &mut Rng) -> Vec<(u16, HostName, Vec<IpAddr>)> {
    let mut list: Vec<_> = list.iter().filter(|(_, host)| !host.is_root()).collect();
    random.shuffle(&mut list);
    list.sort_by_key(|(preference, _)| *preference);
    list.dedup_by(|one, other| one.1 == other.1);
    let with_room = |(preference, host): &(u16, HostName)| (*preference, host.clone(), Vec::new());
    list.into_iter().take(EXCHANGERS_MAX).map(with_room).collect()
}

/// In lower case; `None` for the root and for a malformed name.
fn host_name(name: &str) -> Option<HostName> {
    // A domain in another script is asked for by its A-labels (RFC 6531, section 3.2).
    let name = if name.is_ascii() { name.into() } else { idna::domain_to_ascii(name).ok()? };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.bytes().all(is_plain) {
        return None;
    }
    let name: HostName = name.parse().ok()?;
    let name: HostName = name.to_canonical_name();
    (!name.is_root()).then_some(name)
}

/// The settings of a resolver.
#[derive(Clone, Copy, Debug)]
pub struct ResolverSettings {
    /// The number of servers; each is used when the one before has failed.
    pub servers: usize,
    /// Queries under way at once, at most 16,384; more wait in order.
    pub queries: usize,
    /// Attempts with each server.
    pub attempts: u32,
    /// How long the first attempt waits for a response; each later one waits twice as long as the one before.
    pub timeout_ns: u64,
    /// Whether addresses of IPv6 are asked for, too.
    pub ipv6: bool,
    /// Answers that are kept.
    pub cache_entries: usize,
    /// Decides ids, and the order of exchangers with the same preference.
    pub seed: u64,
}

impl Default for ResolverSettings {
    fn default() -> ResolverSettings {
        ResolverSettings {
            servers: 1,
            queries: 100,
            attempts: 3,
            timeout_ns: 1_000_000_000,
            ipv6: true,
            cache_entries: 20_000,
            seed: 0,
        }
    }
}

impl ResolverSettings {
    /// A quarter of all ids, so that a free one is found.
    pub(super) fn queries_max(&self) -> usize {
        self.queries.clamp(1, 1 << 14)
    }

    pub(super) fn wait_ns(&self, attempt: u32) -> u64 {
        self.timeout_ns.max(1).saturating_mul(1 << attempt.saturating_sub(1).min(16))
    }
}
