//! Lookups of a name and a type: the cache, one query for all equal questions, retries, other servers, TCP
//! for truncated responses, and names that are aliases.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use domain::base::Rtype;
use fastrand::Rng;
use slab::Slab;

use super::message::{self, Reply};
use super::resolver::ResolverSettings;
use super::{Answer, DnsFailure, HostName};

/// How a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// In a datagram.
    Udp,
    /// On a connection, after its length in two bytes (RFC 7766).
    Tcp,
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The server's place in the list of servers.
    pub server: usize,
    /// How it is to be sent.
    pub transport: Transport,
    /// Without the length that TCP needs.
    pub message: Vec<u8>,
}

/// A reply that says "not now" is not followed by the next attempt at once, but after this part of the
/// timeout of a missing reply.
const REFUSAL_PART: u64 = 10;

struct Query<W> {
    key: Key,
    /// The name, and those that aliases have led to; the last one is asked for.
    seen: Vec<HostName>,
    /// How long the aliases hold.
    holds_s: u32,
    message: Vec<u8>,
    server: usize,
    /// Attempts with this server.
    attempts: u32,
    transport: Transport,
    deadline_ns: u64,
    failure: DnsFailure,
    waiters: Vec<W>,
}

/// Queries under way and waiting; `W` is the job that waits for an answer.
pub(super) struct Lookups<W> {
    settings: ResolverSettings,
    cache: Cache,
    queries: Slab<Query<W>>,
    by_key: HashMap<Key, usize>,
    by_id: HashMap<u16, usize>,
    /// Those for which there was no room yet, in order.
    ready: VecDeque<usize>,
    deadlines: BTreeSet<(u64, usize)>,
    pub(super) transmits: VecDeque<Transmit>,
    /// Answers, and the jobs that wait for them.
    pub(super) found: VecDeque<(W, Arc<Answer>)>,
    random: Rng,
}

impl<W> Lookups<W> {
    pub(super) fn new(settings: ResolverSettings) -> Lookups<W> {
        Lookups {
            cache: Cache::new(settings.cache_entries / 2),
            queries: Slab::new(),
            by_key: HashMap::new(),
            by_id: HashMap::new(),
            ready: VecDeque::new(),
            deadlines: BTreeSet::new(),
            transmits: VecDeque::new(),
            found: VecDeque::new(),
            random: Rng::with_seed(settings.seed),
            settings,
        }
    }

    /// Asks; the answer will be among those that are found, perhaps at once.
    pub(super) fn find(&mut self, name: &HostName, rtype: Rtype, waiter: W, now_ns: u64) {
        let key = (name.clone(), rtype);
        if let Some(answer) = self.cache.get(&key, now_ns) {
            self.found.push_back((waiter, answer));
        } else if let Some(&number) = self.by_key.get(&key) {
            self.queries[number].waiters.push(waiter);
        } else {
            let number = self.queries.insert(Query {
                key: key.clone(),
                seen: vec![name.clone()],
                holds_s: u32::MAX,
                message: Vec::new(),
                server: 0,
                attempts: 0,
                transport: Transport::Udp,
                deadline_ns: 0,
                failure: DnsFailure::NoReply,
                waiters: vec![waiter],
            });
            self.by_key.insert(key, number);
            self.ready.push_back(number);
            self.begin_ready(now_ns);
        }
    }

    /// Whether another query would be sent at once.
    pub(super) fn has_room(&self) -> bool {
        self.ready.is_empty() && self.by_id.len() < self.settings.queries_max()
    }

    /// When [`Lookups::on_time`] has something to do.
    pub(super) fn next_deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|&(deadline_ns, _)| deadline_ns)
    }

    pub(super) fn cached(&self) -> usize {
        self.cache.len()
    }

    fn begin_ready(&mut self, now_ns: u64) {
        while self.by_id.len() < self.settings.queries_max() {
            let Some(number) = self.ready.pop_front() else { return };
            self.begin(number, now_ns);
        }
    }

    /// Sends the query for the last name, with an id of its own.
    fn begin(&mut self, number: usize, now_ns: u64) {
        // Not half of all ids are ever taken.
        let id = loop {
            let id = self.random.u16(..);
            if !self.by_id.contains_key(&id) {
                break id;
            }
        };
        let letters = self.random.u128(..);
        let query = &mut self.queries[number];
        let name = query.seen.last().unwrap_or(&query.key.0);
        query.message = message::query(id, name, query.key.1, letters);
        query.transport = Transport::Udp;
        query.attempts = 0;
        self.by_id.insert(id, number);
        self.transmit(number, now_ns);
    }

    /// One attempt; the time for each is twice that of the one before, with the same server.
    fn transmit(&mut self, number: usize, now_ns: u64) {
        let query = &mut self.queries[number];
        let (server, transport) = (query.server, query.transport);
        self.transmits.push_back(Transmit { server, transport, message: query.message.clone() });
        query.attempts += 1;
        let wait_ns = self.settings.wait_ns(query.attempts);
        self.set_deadline(number, now_ns.saturating_add(wait_ns));
    }

    fn set_deadline(&mut self, number: usize, deadline_ns: u64) {
        let query = &mut self.queries[number];
        self.deadlines.remove(&(query.deadline_ns, number));
        query.deadline_ns = deadline_ns;
        self.deadlines.insert((deadline_ns, number));
    }

    /// Goes on with queries without a response in time.
    pub(super) fn on_time(&mut self, now_ns: u64) {
        while let Some(&(deadline_ns, number)) = self.deadlines.first()
            && deadline_ns <= now_ns
        {
            let query = &mut self.queries[number];
            if query.attempts >= self.settings.attempts {
                query.attempts = 0;
                query.server += 1;
            }
            if query.server < self.settings.servers {
                self.transmit(number, now_ns);
            } else {
                let failure = query.failure;
                self.finish(number, Answer::Failed(failure), None, now_ns);
            }
        }
    }

    /// A message has come from a server. A response without a matching query to this server is dropped.
    /// Returns whether it was an answer.
    pub(super) fn on_message(
        &mut self,
        server: usize,
        transport: Transport,
        response: &[u8],
        now_ns: u64,
    ) -> bool {
        let Some(&number) = message::id(response).and_then(|id| self.by_id.get(&id)) else { return false };
        let query = &mut self.queries[number];
        let is_answer = query.server == server
            && query.transport == transport
            && message::answers(response, &query.message);
        if !is_answer {
            return false;
        }
        match message::read(response, query.key.1, &mut query.seen) {
            Reply::Is(answer, ttl_s) => {
                let ttl_s = ttl_s.map(|ttl_s| ttl_s.min(query.holds_s));
                self.finish(number, answer, ttl_s, now_ns);
            }
            Reply::Alias(target, ttl_s) => {
                query.holds_s = query.holds_s.min(ttl_s);
                self.follow(number, target, now_ns);
            }
            Reply::Truncated if transport == Transport::Udp => {
                query.transport = Transport::Tcp;
                query.attempts = 0;
                self.transmit(number, now_ns);
            }
            Reply::Truncated => self.refused(number, DnsFailure::Malformed, now_ns),
            Reply::Failed(DnsFailure::AliasLoop) => {
                self.finish(number, Answer::Failed(DnsFailure::AliasLoop), None, now_ns);
            }
            Reply::Failed(failure) => self.refused(number, failure, now_ns),
        }
        true
    }

    /// The query with that message could not be sent, or its connection ended without a response.
    pub(super) fn on_unreachable(&mut self, server: usize, id: u16, now_ns: u64) {
        let Some(&number) = self.by_id.get(&id) else { return };
        if self.queries[number].server == server {
            self.refused(number, DnsFailure::Unreachable, now_ns);
        }
    }

    /// An attempt has failed: the next one follows soon.
    fn refused(&mut self, number: usize, failure: DnsFailure, now_ns: u64) {
        let query = &mut self.queries[number];
        query.failure = failure;
        let soon_ns = now_ns.saturating_add(self.settings.wait_ns(query.attempts) / REFUSAL_PART);
        let deadline_ns = query.deadline_ns.min(soon_ns);
        self.set_deadline(number, deadline_ns);
    }

    /// Looks up the target of an alias.
    fn follow(&mut self, number: usize, target: HostName, now_ns: u64) {
        self.forget_id(number);
        let query = &self.queries[number];
        let (rtype, holds_s) = (query.key.1, query.holds_s);
        match self.cache.get(&(target, rtype), now_ns) {
            // Its remaining time is not known here: it is looked up again where it is needed.
            Some(answer) => self.finish(number, (*answer).clone(), Some(holds_s.min(1)), now_ns),
            None => self.begin(number, now_ns),
        }
    }

    fn forget_id(&mut self, number: usize) {
        if let Some(id) = message::id(&self.queries[number].message) {
            self.by_id.remove(&id);
        }
    }

    fn finish(&mut self, number: usize, answer: Answer, ttl_s: Option<u32>, now_ns: u64) {
        self.forget_id(number);
        let query = self.queries.remove(number);
        self.deadlines.remove(&(query.deadline_ns, number));
        self.by_key.remove(&query.key);
        let answer = Arc::new(answer);
        if let Some(ttl_s) = ttl_s {
            self.cache.put(query.key, answer.clone(), ttl_s, now_ns);
        }
        self.found.extend(query.waiters.into_iter().map(|waiter| (waiter, answer.clone())));
        self.begin_ready(now_ns);
    }
}

/// The shortest and the longest time that an answer is kept, for any TTL.
const TTL_MIN_S: u32 = 1;
const TTL_MAX_S: u32 = 86_400;

type Key = (HostName, Rtype);

struct Entry {
    answer: Arc<Answer>,
    end_ns: u64,
}

/// At most twice as many answers as a generation has.
struct Cache {
    young: HashMap<Key, Entry>,
    old: HashMap<Key, Entry>,
    generation: usize,
}

impl Cache {
    pub(super) fn new(generation: usize) -> Cache {
        Cache { young: HashMap::new(), old: HashMap::new(), generation: generation.max(1) }
    }

    /// The answer, if it still holds.
    pub(super) fn get(&mut self, key: &Key, now_ns: u64) -> Option<Arc<Answer>> {
        if let Some(entry) = self.young.get(key) {
            return (entry.end_ns > now_ns).then(|| entry.answer.clone());
        }
        let (key, entry) = self.old.remove_entry(key)?;
        if entry.end_ns <= now_ns {
            return None;
        }
        let answer = entry.answer.clone();
        self.insert(key, entry);
        Some(answer)
    }

    /// Keeps an answer for this many seconds.
    pub(super) fn put(&mut self, key: Key, answer: Arc<Answer>, ttl_s: u32, now_ns: u64) {
        let ttl_s = ttl_s.clamp(TTL_MIN_S, TTL_MAX_S);
        let end_ns = now_ns.saturating_add(u64::from(ttl_s) * 1_000_000_000);
        self.insert(key, Entry { answer, end_ns });
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, entry);
    }

    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        (format!("d{number}.test").parse().unwrap(), Rtype::MX)
    }

    #[test]
    fn memory_has_a_limit_and_what_is_used_stays() {
        let mut cache = Cache::new(100);
        let answer = Arc::new(Answer::Nothing);
        for number in 0..10_000 {
            cache.put(key(number), answer.clone(), 60, 0);
            assert!(cache.len() <= 200);
            assert!(cache.get(&key(0), 1).is_some(), "after {number}");
        }
        assert!(cache.get(&key(5000), 1).is_none());
    }

    #[test]
    fn an_answer_holds_as_long_as_it_says_within_limits() {
        let mut cache = Cache::new(100);
        let second = 1_000_000_000;
        for (number, (ttl_s, holds_s)) in [(0, 1), (60, 60), (u32::MAX, 86_400)].into_iter().enumerate() {
            cache.put(key(number), Arc::new(Answer::Nothing), ttl_s, 0);
            assert!(cache.get(&key(number), holds_s * second - 1).is_some());
            assert!(cache.get(&key(number), holds_s * second).is_none());
        }
    }
}
