//! The recipients that wait: for the route of their domain, for a connection, or for another attempt.
//!
//! A domain waits in the list of one host: its current exchanger. A host with domains waits in the list of
//! those that are ready, unless it has as many connections as it may, or has just failed. So a connection
//! takes its next transaction in constant time, whatever the number of recipients.
//!
//! Timers lie in a heap. There are few: a recipient that was told to come again, a domain whose
//! exchangers all failed, a host that has just failed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::joint::Share;
use crate::recipients::Recipients;

/// The limits of connections and transactions at once, and the reaction to failures.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Connections to one host.
    pub connections_per_host: u32,
    /// Transactions of one domain under way.
    pub transactions_per_domain: u32,
    /// Recipients of one domain in a transaction.
    pub recipients_per_transaction: usize,
    /// Transactions that are sent together where a session is pipelined.
    pub batch: usize,
    /// Attempts for a recipient, and for a domain whose exchangers cannot be reached.
    pub attempts: u8,
    /// The first attempt is repeated after this time, and each later one after twice as long.
    pub retry_ms: u64,
    /// The longest of these times.
    pub retry_longest_ms: u64,
    /// The recipients of a domain begin anew when they are at their end, and so does the search for its
    /// hosts: a list that never ends.
    pub repeats: bool,
    /// The domains that are this engine's.
    pub share: Share,
}

impl Default for QueueSettings {
    fn default() -> QueueSettings {
        QueueSettings {
            connections_per_host: 20,
            transactions_per_domain: 20,
            recipients_per_transaction: 1,
            batch: 50,
            attempts: 5,
            retry_ms: 60_000,
            retry_longest_ms: 4_000_000,
            repeats: false,
            share: Share::default(),
        }
    }
}

impl QueueSettings {
    fn delay_ms(&self, attempts: u8) -> u64 {
        let doublings = u32::from(attempts.saturating_sub(1)).min(32);
        self.retry_ms.saturating_mul(1 << doublings).min(self.retry_longest_ms)
    }
}

/// Recipients of one domain that are named in one transaction.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) domain: u32,
    pub(crate) recipients: Vec<u32>,
}

#[derive(Debug)]
struct Domain {
    /// Places in the order of [`Recipients`] that were not taken yet.
    fresh: Range<u32>,
    /// Recipients that were given back.
    again: Vec<u32>,
    /// The exchangers, in [`Queue::routes`].
    route: u32,
    /// Which of them has its turn.
    exchanger: u8,
    /// How often all of them failed, or their lookup failed.
    attempts: u8,
    /// Transactions under way.
    transactions: u16,
    /// Whether it is in the list of its host.
    is_listed: bool,
    /// No further attempt is made for it.
    is_given_up: bool,
}

impl Domain {
    fn has_work(&self) -> bool {
        !self.fresh.is_empty() || !self.again.is_empty()
    }
}

#[derive(Debug)]
struct Host {
    address: SocketAddr,
    domains: VecDeque<u32>,
    connections: u32,
    /// It refused one while it had this many.
    connections_max: u32,
    /// Transactions that are sent to it together.
    batch: usize,
    /// Times that it failed in a row.
    failures: u8,
    /// Until then it is left alone; 0 if it did not fail.
    pause_end_ms: u64,
    is_listed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wake {
    Recipient(u32),
    Domain(u32),
    Host(u32),
}

/// A domain whose route is not known yet.
const NO_ROUTE: u32 = u32::MAX;

/// All recipients that have not ended.
#[derive(Debug)]
pub(crate) struct Queue<'list> {
    pub(crate) recipients: &'list Recipients,
    settings: QueueSettings,
    domains: Vec<Domain>,
    hosts: Vec<Host>,
    host_numbers: HashMap<SocketAddr, u32>,
    routes: Vec<Box<[u32]>>,
    route_numbers: HashMap<Box<[u32]>, u32>,
    attempts: Vec<u8>,
    ready: VecDeque<u32>,
    timers: BinaryHeap<Reverse<(u64, Wake)>>,
    /// Domains from here on were never looked up.
    unresolved: u32,
    /// Domains that are looked up again.
    unresolved_again: Vec<u32>,
    unfinished: usize,
}

impl<'list> Queue<'list> {
    pub(crate) fn new(recipients: &'list Recipients, settings: QueueSettings) -> Queue<'list> {
        let domain = |number| Domain {
            fresh: if settings.share.has(number) { recipients.of_domain(number) } else { 0..0 },
            again: Vec::new(),
            route: NO_ROUTE,
            exchanger: 0,
            attempts: 0,
            transactions: 0,
            is_listed: false,
            is_given_up: false,
        };
        let domains: Vec<Domain> = (0..recipients.domains() as u32).map(domain).collect();
        Queue {
            recipients,
            settings,
            unfinished: domains.iter().map(|domain| domain.fresh.len()).sum(),
            domains,
            hosts: Vec::new(),
            host_numbers: HashMap::new(),
            routes: Vec::new(),
            route_numbers: HashMap::new(),
            attempts: vec![0; recipients.len()],
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            unresolved: settings.share.number,
            unresolved_again: Vec::new(),
        }
    }

    /// How many have not ended.
    pub(crate) fn unfinished(&self) -> usize {
        self.unfinished
    }

    /// Attempts that were made for a recipient, without the present one.
    pub(crate) fn attempts(&self, recipient: u32) -> u8 {
        self.attempts[recipient as usize]
    }

    pub(crate) fn address(&self, host: u32) -> SocketAddr {
        self.hosts[host as usize].address
    }

    /// Transactions that are sent to a host together, at most.
    pub(crate) fn batch(&self, host: u32) -> usize {
        self.hosts[host as usize].batch
    }

    /// A connection to the host was lost amid a batch of that many at most.
    pub(crate) fn halve_batch(&mut self, host: u32, batch: usize) {
        let host = &mut self.hosts[host as usize];
        host.batch = host.batch.min((batch / 2).max(1));
    }

    /// The next domain whose route is to be looked up.
    pub(crate) fn next_unresolved(&mut self) -> Option<u32> {
        self.unresolved_again.pop().or_else(|| {
            let next = self.unresolved;
            let is_one = (next as usize) < self.domains.len();
            self.unresolved += if is_one { self.settings.share.of } else { 0 };
            is_one.then_some(next)
        })
    }

    /// The route of a domain is known: hosts, the preferred first.
    pub(crate) fn resolved(&mut self, domain: u32, hosts: &[SocketAddr]) {
        let numbers: Box<[u32]> = hosts.iter().map(|&host| self.host_number(host)).collect();
        let next = self.routes.len() as u32;
        let route = *self.route_numbers.entry(numbers).or_insert_with_key(|numbers| {
            self.routes.push(numbers.clone());
            next
        });
        let entry = &mut self.domains[domain as usize];
        (entry.route, entry.exchanger) = (route, 0);
        self.list(domain);
    }

    fn host_number(&mut self, address: SocketAddr) -> u32 {
        let next = self.hosts.len() as u32;
        *self.host_numbers.entry(address).or_insert_with(|| {
            self.hosts.push(Host {
                address,
                domains: VecDeque::new(),
                connections: 0,
                connections_max: self.settings.connections_per_host,
                batch: self.settings.batch.max(1),
                failures: 0,
                pause_end_ms: 0,
                is_listed: false,
            });
            next
        })
    }

    /// Puts the domain into the list of its host, if it has a recipient to take.
    fn list(&mut self, domain: u32) {
        let entry = &mut self.domains[domain as usize];
        let is_busy = u32::from(entry.transactions) >= self.settings.transactions_per_domain;
        if entry.is_listed || entry.route == NO_ROUTE || is_busy || !entry.has_work() {
            return;
        }
        let Some(&host) = self.routes[entry.route as usize].get(usize::from(entry.exchanger)) else { return };
        entry.is_listed = true;
        self.hosts[host as usize].domains.push_back(domain);
        self.list_host(host);
    }

    fn list_host(&mut self, number: u32) {
        let host = &mut self.hosts[number as usize];
        let may_connect = host.connections < host.connections_max && host.pause_end_ms == 0;
        if !host.is_listed && may_connect && !host.domains.is_empty() {
            host.is_listed = true;
            self.ready.push_back(number);
        }
    }

    /// A host to connect to, and the first transaction for that connection. All that is ready has its turn.
    pub(crate) fn take(&mut self) -> Option<(u32, Transaction)> {
        while let Some(number) = self.ready.pop_front() {
            let host = &mut self.hosts[number as usize];
            host.is_listed = false;
            if host.pause_end_ms > 0 || host.connections >= host.connections_max {
                continue;
            }
            if let Some(transaction) = self.take_for(number) {
                self.hosts[number as usize].connections += 1;
                self.list_host(number);
                return Some((number, transaction));
            }
        }
        None
    }

    /// Another transaction for a connection to that host.
    pub(crate) fn take_for(&mut self, host: u32) -> Option<Transaction> {
        let number = self.hosts[host as usize].domains.pop_front()?;
        let domain = &mut self.domains[number as usize];
        domain.is_listed = false;
        let mut recipients = Vec::with_capacity(self.settings.recipients_per_transaction.min(16));
        while recipients.len() < self.settings.recipients_per_transaction {
            match domain.fresh.next() {
                Some(place) => recipients.push(self.recipients.at(place)),
                None => match domain.again.pop() {
                    Some(recipient) => recipients.push(recipient),
                    None => break,
                },
            }
        }
        if domain.fresh.is_empty() && self.settings.repeats {
            domain.fresh = self.recipients.of_domain(number);
            // As in a new list; the answer of DNS may still hold.
            domain.route = NO_ROUTE;
            self.unresolved_again.push(number);
        }
        domain.transactions += 1;
        self.list(number);
        Some(Transaction { domain: number, recipients })
    }

    /// A transaction is over, with any result.
    pub(crate) fn transaction_ended(&mut self, domain: u32) {
        let entry = &mut self.domains[domain as usize];
        entry.transactions = entry.transactions.saturating_sub(1);
        self.list(domain);
    }

    pub(crate) fn connection_ended(&mut self, host: u32) {
        self.hosts[host as usize].connections -= 1;
        self.list_host(host);
    }

    /// The host has replied: it works, and so do the domains that it serves.
    pub(crate) fn host_is_well(&mut self, host: u32, domain: u32) {
        self.hosts[host as usize].failures = 0;
        self.domains[domain as usize].attempts = 0;
    }

    pub(crate) fn ended(&mut self) {
        if !self.settings.repeats {
            self.unfinished -= 1;
        }
    }

    /// The recipient was taken without an attempt, or its next attempt is due. Returns whether there will be
    /// one: its domain may have been given up meanwhile.
    #[must_use]
    pub(crate) fn give_back(&mut self, recipient: u32) -> bool {
        let Some(domain) = self.recipients.get(recipient).map(|recipient| recipient.domain) else {
            return false;
        };
        if self.settings.repeats {
            return true;
        }
        let entry = &mut self.domains[domain as usize];
        if entry.is_given_up {
            self.unfinished -= 1;
            return false;
        }
        entry.again.push(recipient);
        self.list(domain);
        true
    }

    /// An attempt failed for now. Returns whether there is another.
    pub(crate) fn retry(&mut self, recipient: u32, now_ms: u64) -> bool {
        if self.settings.repeats {
            return true;
        }
        let attempts = &mut self.attempts[recipient as usize];
        *attempts = attempts.saturating_add(1);
        if *attempts >= self.settings.attempts {
            self.unfinished -= 1;
            return false;
        }
        let due_ms = now_ms.saturating_add(self.settings.delay_ms(*attempts));
        self.timers.push(Reverse((due_ms, Wake::Recipient(recipient))));
        true
    }

    /// A connection to the host failed, or it sent the engine away. If others to it exist, it has reached its
    /// limit. Otherwise it is avoided for a while, and its domains turn to their next exchangers. `domain` is
    /// that of the connection's transaction. Returns the recipients that wait and for which there is no
    /// further attempt.
    pub(crate) fn host_failed(&mut self, number: u32, domain: u32, now_ms: u64) -> Vec<u32> {
        let host = &mut self.hosts[number as usize];
        // The connection that failed is still counted.
        if host.connections > 1 && host.pause_end_ms == 0 {
            host.connections_max = (host.connections - 1).min(host.connections_max);
            return Vec::new();
        }
        if host.pause_end_ms == 0 {
            host.failures = host.failures.saturating_add(1);
            host.pause_end_ms = now_ms.saturating_add(self.settings.delay_ms(host.failures)).max(1);
            self.timers.push(Reverse((host.pause_end_ms, Wake::Host(number))));
        }
        let mut waiting = std::mem::take(&mut host.domains);
        if !self.domains[domain as usize].is_listed {
            waiting.push_back(domain);
        }
        let mut given_up = Vec::new();
        for domain in waiting {
            self.domains[domain as usize].is_listed = false;
            given_up.extend(self.exchanger_failed(domain, number, now_ms));
        }
        given_up
    }

    /// The domain turns to the exchanger after that host, or waits for another attempt with all of them.
    fn exchanger_failed(&mut self, domain: u32, host: u32, now_ms: u64) -> Vec<u32> {
        let entry = &mut self.domains[domain as usize];
        let Some(route) = self.routes.get(entry.route as usize) else { return Vec::new() };
        if route.get(usize::from(entry.exchanger)) != Some(&host) {
            // Another connection has reported that already.
            return Vec::new();
        }
        entry.exchanger += 1;
        if usize::from(entry.exchanger) < route.len() {
            self.list(domain);
            return Vec::new();
        }
        self.domain_failed(domain, now_ms)
    }

    /// No exchanger of the domain can be reached, or looked up. Returns the recipients for which there is no
    /// further attempt.
    pub(crate) fn domain_failed(&mut self, domain: u32, now_ms: u64) -> Vec<u32> {
        let entry = &mut self.domains[domain as usize];
        (entry.route, entry.exchanger) = (NO_ROUTE, 0);
        entry.attempts = entry.attempts.saturating_add(1);
        if entry.attempts >= self.settings.attempts && !self.settings.repeats {
            return self.drain(domain);
        }
        let due_ms = now_ms.saturating_add(self.settings.delay_ms(entry.attempts));
        self.timers.push(Reverse((due_ms, Wake::Domain(domain))));
        Vec::new()
    }

    /// Ends all recipients of the domain that wait for a connection, and returns them.
    pub(crate) fn drain(&mut self, domain: u32) -> Vec<u32> {
        let entry = &mut self.domains[domain as usize];
        entry.is_given_up = true;
        let places = std::mem::take(&mut entry.fresh);
        let mut waiting: Vec<u32> = places.map(|place| self.recipients.at(place)).collect();
        waiting.append(&mut entry.again);
        self.unfinished -= waiting.len();
        waiting
    }

    /// Ends everything that waits, and returns it.
    pub(crate) fn drain_all(&mut self) -> Vec<u32> {
        let mut waiting: Vec<u32> =
            (0..self.domains.len() as u32).flat_map(|domain| self.drain(domain)).collect();
        for Reverse((_, wake)) in std::mem::take(&mut self.timers) {
            if let Wake::Recipient(recipient) = wake {
                waiting.push(recipient);
                self.unfinished -= 1;
            }
        }
        waiting
    }

    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.timers.peek().map(|Reverse((due_ms, _))| *due_ms)
    }

    /// Lists again the domains and recipients whose wait is over. Returns the recipients whose domain was
    /// given up meanwhile.
    pub(crate) fn expire(&mut self, now_ms: u64) -> Vec<u32> {
        let mut given_up = Vec::new();
        while let Some(&Reverse((due_ms, wake))) = self.timers.peek()
            && due_ms <= now_ms
        {
            self.timers.pop();
            match wake {
                Wake::Recipient(recipient) => {
                    if !self.give_back(recipient) {
                        given_up.push(recipient);
                    }
                }
                Wake::Domain(domain) => self.unresolved_again.push(domain),
                Wake::Host(number) => {
                    let host = &mut self.hosts[number as usize];
                    host.pause_end_ms = 0;
                    host.connections_max = self.settings.connections_per_host;
                    self.list_host(number);
                }
            }
        }
        given_up
    }
}

#[cfg(test)]
mod tests;
