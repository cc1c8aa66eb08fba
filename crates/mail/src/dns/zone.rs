//! Our own zone `test`: its content, computed from a seed and a few numbers and never stored, and the
//! responses of our server. So a million domains take no memory, and a checker with the same numbers knows
//! the right answers.
//!
//! Domains have one to three exchangers. These are the hosts `mx0.test`, `mx1.test` and so on, or their twins
//! `dead0.test` and so on, with addresses at which nothing listens.

use std::net::Ipv4Addr;

use domain::base::iana::{Class, Opcode, Rcode};
use domain::base::message_builder::{AnswerBuilder, MessageBuilder, PushError, StaticCompressor};
use domain::base::{Header, Message, Name, Rtype, Serial, Ttl};
use domain::rdata::{A, Cname, Mx, Soa};
use serde::{Deserialize, Serialize};

use super::HostName;
use super::lookup::Transport;
use crate::recipients::{DomainName, TOP};

/// Numbers from which a zone is computed. Shares are between 0 and 1, of domains unless stated otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ZonePlan {
    /// Domains that exist, from number 0 on.
    pub domains: u32,
    /// Addresses of exchangers, one host each.
    pub hosts: Vec<Ipv4Addr>,
    /// Addresses at which nothing listens.
    pub dead_hosts: Vec<Ipv4Addr>,
    /// How long answers hold, in seconds.
    pub ttl_s: u32,
    /// Decides the properties of each domain.
    pub seed: u64,
    /// The share of exchangers that are dead.
    pub dead: f64,
    /// Domains that do not exist though their numbers do.
    pub no_such_domain: f64,
    /// Domains that fail now and later (SERVFAIL).
    pub server_failure: f64,
    /// Domains that declare that they take no mail (RFC 7505).
    pub null_mx: f64,
    /// Domains that have an address and no exchanger.
    pub no_mx: f64,
    /// Domains that are aliases of themselves.
    pub alias_loop: f64,
    /// Domains whose answers are cut when they go over UDP.
    pub truncated: f64,
}

impl Default for ZonePlan {
    fn default() -> ZonePlan {
        ZonePlan {
            domains: 9113,
            hosts: (0..=255).map(|last| Ipv4Addr::new(127, 1, 0, last)).collect(),
            dead_hosts: (0..=255).map(|last| Ipv4Addr::new(127, 2, 0, last)).collect(),
            ttl_s: 3600,
            seed: 0,
            dead: 0.0,
            no_such_domain: 0.0,
            server_failure: 0.0,
            null_mx: 0.0,
            no_mx: 0.0,
            alias_loop: 0.0,
            truncated: 0.0,
        }
    }
}

/// The properties of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainKind {
    /// It has exchangers.
    Exchangers,
    /// It does not exist.
    NoSuchDomain,
    /// Lookups fail.
    ServerFailure,
    /// It takes no mail.
    NullMx,
    /// It has an address only.
    NoMx,
    /// It is an alias of itself.
    AliasLoop,
}

/// A host of the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneHost {
    /// Its place among those of its kind.
    pub number: u32,
    /// Whether nothing listens there.
    pub is_dead: bool,
}

/// A name of the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneName {
    Domain(u32),
    Host(ZoneHost),
}

/// The counters of a server, and the answer of `osdyno dns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityCounts {
    /// The queries.
    pub queries: AuthorityQueries,
    /// The responses.
    pub responses: AuthorityResponses,
    /// Connections.
    pub connections: u64,
}

/// Queries by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityQueries {
    /// For mail exchangers.
    pub mx: u64,
    /// For IPv4 addresses.
    pub a: u64,
    /// For IPv6 addresses.
    pub aaaa: u64,
    /// For anything else.
    pub other: u64,
    /// Messages that are not readable queries.
    pub malformed: u64,
}

/// Responses by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorityResponses {
    /// With records, or without, where the name has none of the type.
    pub answered: u64,
    /// NXDOMAIN.
    pub no_such_domain: u64,
    /// SERVFAIL.
    pub server_failure: u64,
    /// REFUSED.
    pub refused: u64,
    /// Cut, so that the query comes again over TCP.
    pub truncated: u64,
    /// Datagrams that were lost on purpose.
    pub dropped: u64,
    /// Forged responses before a real one.
    pub lies: u64,
}

const HOST: &str = "mx";
const DEAD_HOST: &str = "dead";

/// The purpose of a domain's random number, so that its properties do not depend on each other.
#[derive(Clone, Copy)]
enum Draw {
    Kind,
    Truncated,
    Count,
    Own,
    Exchanger(u64),
    Dead(u64),
    Preference(u64),
}

impl ZonePlan {
    /// The properties of a domain.
    pub fn kind(&self, domain: u32) -> DomainKind {
        if domain >= self.domains {
            return DomainKind::NoSuchDomain;
        }
        let shares = [
            (self.no_such_domain, DomainKind::NoSuchDomain),
            (self.server_failure, DomainKind::ServerFailure),
            (self.null_mx, DomainKind::NullMx),
            (self.no_mx, DomainKind::NoMx),
            (self.alias_loop, DomainKind::AliasLoop),
        ];
        let mut rest = self.share(domain, Draw::Kind);
        for (share, kind) in shares {
            if rest < share {
                return kind;
            }
            rest -= share;
        }
        DomainKind::Exchangers
    }

    /// Whether answers about it are cut over UDP.
    pub(super) fn is_truncated(&self, domain: u32) -> bool {
        self.share(domain, Draw::Truncated) < self.truncated
    }

    /// The exchangers of a domain that has some, in no order; none is there twice.
    pub fn exchangers(&self, domain: u32) -> Vec<(u16, ZoneHost)> {
        let hosts = self.hosts.len().max(1) as u64;
        let first = self.draw(domain, Draw::Exchanger(0)) % hosts;
        let count = 1 + self.draw(domain, Draw::Count) % 3.min(hosts);
        let exchanger = |place: u64| {
            let is_dead = self.share(domain, Draw::Dead(place)) < self.dead && !self.dead_hosts.is_empty();
            let number = (first + place) % hosts;
            let number = if is_dead { number % self.dead_hosts.len() as u64 } else { number } as u32;
            let preference = 10 * (1 + self.draw(domain, Draw::Preference(place)) % 3);
            (preference as u16, ZoneHost { number, is_dead })
        };
        (0..count).map(exchanger).collect()
    }

    /// The address of a domain without exchangers.
    pub fn own_address(&self, domain: u32) -> Option<Ipv4Addr> {
        self.hosts.get((self.draw(domain, Draw::Own) % self.hosts.len().max(1) as u64) as usize).copied()
    }

    /// The address of a host.
    pub fn address(&self, host: ZoneHost) -> Option<Ipv4Addr> {
        let list = if host.is_dead { &self.dead_hosts } else { &self.hosts };
        list.get(host.number as usize).copied()
    }

    /// A number of 64 bits that only the seed, the domain and the purpose decide (Steele, Lea, Flood: Fast
    /// Splittable Pseudorandom Number Generators, 2014; splitmix64).
    fn draw(&self, domain: u32, draw: Draw) -> u64 {
        let purpose = match draw {
            Draw::Kind => 0,
            Draw::Truncated => 1,
            Draw::Count => 2,
            Draw::Own => 3,
            Draw::Exchanger(place) => 4 + 3 * place,
            Draw::Dead(place) => 5 + 3 * place,
            Draw::Preference(place) => 6 + 3 * place,
        };
        mixed(mixed(self.seed ^ mixed(u64::from(domain))) ^ purpose)
    }

    /// The same between 0 and 1.
    fn share(&self, domain: u32, draw: Draw) -> f64 {
        self.draw(domain, draw) as f64 / u64::MAX as f64
    }
}

fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl std::fmt::Display for ZoneHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let label = if self.is_dead { DEAD_HOST } else { HOST };
        write!(formatter, "{label}{}.{TOP}", self.number)
    }
}

impl ZoneName {
    /// `None` for names that the zone lacks. Letters may have either case.
    pub(super) fn parse(name: &str) -> Option<ZoneName> {
        if let Some(DomainName(domain)) = DomainName::parse(name) {
            return Some(ZoneName::Domain(domain));
        }
        let name = name.to_ascii_lowercase();
        let (label, top) = name.strip_suffix('.').unwrap_or(&name).split_once('.')?;
        let (digits, is_dead) = match label.strip_prefix(HOST) {
            Some(digits) => (digits, false),
            None => (label.strip_prefix(DEAD_HOST)?, true),
        };
        let host = ZoneHost { number: digits.parse().ok()?, is_dead };
        // Neither "mx01" nor "mx+1" is a second name of "mx1".
        (top == TOP && host.number.to_string() == digits).then_some(ZoneName::Host(host))
    }
}

type Builder = AnswerBuilder<StaticCompressor<Vec<u8>>>;

/// The response, without the length that TCP needs; `None` to a message that is no query, or has no header.
pub fn respond(
    plan: &ZonePlan,
    query: &[u8],
    transport: Transport,
    counts: &mut AuthorityCounts,
) -> Option<Vec<u8>> {
    let message = Message::from_slice(query).ok()?;
    if message.header().qr() {
        return None;
    }
    let question = message.sole_question();
    let is_plain = message.header().opcode() == Opcode::QUERY;
    let Some(question) = question.ok().filter(|question| is_plain && question.qclass() == Class::IN) else {
        counts.queries.malformed += 1;
        let code = if is_plain { Rcode::FORMERR } else { Rcode::NOTIMP };
        return Some(refusal(message.header(), code));
    };
    let rtype = question.qtype();
    match rtype {
        Rtype::MX => counts.queries.mx += 1,
        Rtype::A => counts.queries.a += 1,
        Rtype::AAAA => counts.queries.aaaa += 1,
        _ => counts.queries.other += 1,
    }
    let name = question.qname().to_string();
    let Some(known) = ZoneName::parse(&name) else {
        let is_ours = name.to_ascii_lowercase().ends_with(&format!(".{TOP}"));
        let code = if is_ours { Rcode::NXDOMAIN } else { Rcode::REFUSED };
        return finish(start(message, code)?, plan, is_ours, counts).ok();
    };
    if let ZoneName::Domain(domain) = known
        && transport == Transport::Udp
        && plan.is_truncated(domain)
    {
        counts.responses.truncated += 1;
        let mut answer = start(message, Rcode::NOERROR)?;
        answer.header_mut().set_tc(true);
        return Some(answer.finish().into_target());
    }
    let code = match known {
        ZoneName::Domain(domain) => match plan.kind(domain) {
            DomainKind::NoSuchDomain => Rcode::NXDOMAIN,
            DomainKind::ServerFailure => Rcode::SERVFAIL,
            _ => Rcode::NOERROR,
        },
        ZoneName::Host(host) if plan.address(host).is_none() => Rcode::NXDOMAIN,
        ZoneName::Host(_) => Rcode::NOERROR,
    };
    let mut answer = start(message, code)?;
    if code == Rcode::NOERROR {
        push(&mut answer, plan, known, &question.qname().to_string().parse().ok()?, rtype).ok()?;
    }
    finish(answer, plan, code != Rcode::SERVFAIL, counts).ok()
}

/// Without the questions: names of a query can be compressed, and hundreds of questions that share one would
/// make a response longer than a datagram.
fn refusal(query: Header, code: Rcode) -> Vec<u8> {
    let mut response = MessageBuilder::new_vec();
    let header = response.header_mut();
    header.set_id(query.id());
    header.set_qr(true);
    header.set_opcode(query.opcode());
    header.set_rd(query.rd());
    header.set_rcode(code);
    response.finish()
}

fn start(query: &Message<[u8]>, code: Rcode) -> Option<Builder> {
    let target = StaticCompressor::new(Vec::with_capacity(512));
    let mut answer = MessageBuilder::from_target(target).ok()?.start_answer(query, code).ok()?;
    answer.header_mut().set_aa(matches!(code, Rcode::NOERROR | Rcode::NXDOMAIN));
    Some(answer)
}

/// The records of a name that exists.
fn push(
    answer: &mut Builder,
    plan: &ZonePlan,
    known: ZoneName,
    owner: &HostName,
    rtype: Rtype,
) -> Result<(), PushError> {
    let ttl = Ttl::from_secs(plan.ttl_s);
    let address = match known {
        ZoneName::Host(host) => plan.address(host),
        ZoneName::Domain(domain) => match plan.kind(domain) {
            DomainKind::AliasLoop => return answer.push((owner, ttl, Cname::new(owner))),
            DomainKind::NullMx if rtype == Rtype::MX => {
                return answer.push((owner, ttl, Mx::new(0, Name::root_slice())));
            }
            DomainKind::Exchangers if rtype == Rtype::MX => {
                for (preference, host) in plan.exchangers(domain) {
                    if let Ok(host) = host.to_string().parse::<HostName>() {
                        answer.push((owner, ttl, Mx::new(preference, host)))?;
                    }
                }
                None
            }
            DomainKind::NoMx => plan.own_address(domain),
            _ => None,
        },
    };
    match address.filter(|_| rtype == Rtype::A) {
        Some(address) => answer.push((owner, ttl, A::new(address))),
        None => Ok(()),
    }
}

/// With the record SOA where there is nothing else, so that the absence can be cached.
fn finish(
    answer: Builder,
    plan: &ZonePlan,
    is_ours: bool,
    counts: &mut AuthorityCounts,
) -> Result<Vec<u8>, PushError> {
    let code = answer.header().rcode();
    match code {
        Rcode::NOERROR => counts.responses.answered += 1,
        Rcode::NXDOMAIN => counts.responses.no_such_domain += 1,
        Rcode::SERVFAIL => counts.responses.server_failure += 1,
        _ => counts.responses.refused += 1,
    }
    let is_empty = answer.counts().ancount() == 0;
    let mut authority = answer.authority();
    if is_ours && is_empty {
        let ttl = Ttl::from_secs(plan.ttl_s);
        let zone = Name::<Vec<u8>>::vec_from_str(TOP);
        if let Ok(zone) = zone {
            let soa = Soa::new(&zone, &zone, Serial(1), ttl, ttl, ttl, ttl);
            authority.push((&zone, ttl, soa))?;
        }
    }
    Ok(authority.finish().into_target())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name of 60 bytes, and 600 questions that point to it (RFC 1035, section 4.1.4).
    #[test]
    fn a_malformed_query_is_not_repeated() {
        let mut query = vec![7, 7, 1, 0, 2, 89, 0, 0, 0, 0, 0, 0, 58];
        query.extend([b'a'; 58]);
        query.extend([0, 0, 1, 0, 1]);
        (0..600).for_each(|_| query.extend([0xc0, 12, 0, 1, 0, 1]));
        let mut counts = AuthorityCounts::default();
        let response = respond(&ZonePlan::default(), &query, Transport::Udp, &mut counts).unwrap();
        assert_eq!(response, [7, 7, 0x81, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(counts.queries.malformed, 1);
    }
}
