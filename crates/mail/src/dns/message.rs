//! Queries as a stub resolver sends them, and the content of responses (RFC 1035, section 4).

use std::net::IpAddr;

use domain::base::iana::{Opcode, Rcode};
use domain::base::message_builder::MessageBuilder;
use domain::base::name::ToName;
use domain::base::wire::ParseError;
use domain::base::{Message, Name, ParsedName, ParsedRecord, Rtype};
use domain::rdata::{A, Aaaa, Cname, Mx, Soa};

use super::{Answer, DnsFailure, HostName};

/// Names that an alias may lead to one after the other.
pub(super) const ALIASES_MAX: usize = 8;

/// Records of one response that are read.
const RECORDS_MAX: usize = 512;

/// Bytes before the question.
const HEADER_BYTES: usize = 12;

/// A recursive query without EDNS: a response beyond 512 bytes is requested again over TCP. Letters of the
/// name have the case of the `letters`, bit by bit, and a response must repeat it: this makes a forged one
/// harder (draft-vixie-dnsext-dns0x20).
pub(super) fn query(id: u16, name: &HostName, rtype: Rtype, mut letters: u128) -> Vec<u8> {
    let mut question = MessageBuilder::new_vec().question();
    question.header_mut().set_id(id);
    question.header_mut().set_rd(true);
    // The longest question is 259 bytes, and a vector has room for it.
    let _ = question.push((name, rtype));
    let mut bytes = question.finish();
    // Lengths of labels are below 64, where no letters are.
    for byte in bytes.iter_mut().skip(HEADER_BYTES).take(name.as_slice().len()) {
        if byte.is_ascii_alphabetic() {
            *byte ^= (letters as u8 & 1) << 5;
            letters = letters.rotate_right(1);
        }
    }
    bytes
}

/// The id of a message; `None` where there is no room for one.
pub(super) fn id(message: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(message.get(..2)?.try_into().ok()?))
}

/// Whether the response repeats the id and the question, byte by byte.
pub(super) fn answers(response: &[u8], query: &[u8]) -> bool {
    let Ok(message) = Message::from_slice(response) else { return false };
    let header = message.header();
    header.qr()
        && header.opcode() == Opcode::QUERY
        && message.header_counts().qdcount() == 1
        && response.get(..2) == query.get(..2)
        && response.get(HEADER_BYTES..query.len()) == query.get(HEADER_BYTES..)
}

/// The content of a response.
#[derive(Debug)]
pub(super) enum Reply {
    /// The answer, and for how many seconds it holds; `None` if it must not be kept.
    Is(Answer, Option<u32>),
    /// The name is an alias, and the response lacks the records of its target. How many seconds that holds.
    Alias(HostName, u32),
    /// The rest must be requested over TCP.
    Truncated,
    /// This server does not answer.
    Failed(DnsFailure),
}

/// Reads a response to the question. `seen` are the names that aliases have led through; the first is the one
/// in the question's name, and those of this response are added.
pub(super) fn read(response: &[u8], rtype: Rtype, seen: &mut Vec<HostName>) -> Reply {
    let Ok(message) = Message::from_slice(response) else { return Reply::Failed(DnsFailure::Malformed) };
    if message.header().tc() {
        return Reply::Truncated;
    }
    match message.header().rcode() {
        Rcode::NOERROR | Rcode::NXDOMAIN => {}
        Rcode::SERVFAIL => return Reply::Failed(DnsFailure::ServerFailure),
        Rcode::REFUSED => return Reply::Failed(DnsFailure::Refused),
        _ => return Reply::Failed(DnsFailure::NotImplemented),
    }
    follow(message, rtype, seen).unwrap_or(Reply::Failed(DnsFailure::Malformed))
}

fn follow(message: &Message<[u8]>, rtype: Rtype, seen: &mut Vec<HostName>) -> Result<Reply, ParseError> {
    let mut holds_s = u32::MAX;
    let before = seen.len();
    loop {
        let Some(name) = seen.last() else { return Err(ParseError::ShortInput) };
        match records(message, name, rtype)? {
            Found::Records(answer, ttl_s) => return Ok(Reply::Is(answer, Some(holds_s.min(ttl_s)))),
            Found::Alias(target, ttl_s) => {
                holds_s = holds_s.min(ttl_s);
                if seen.len() > ALIASES_MAX || seen.contains(&target) {
                    return Ok(Reply::Failed(DnsFailure::AliasLoop));
                }
                seen.push(target);
            }
            Found::Nothing => break,
        }
    }
    let authority = authority(message)?;
    let is_none = message.header().rcode() == Rcode::NXDOMAIN;
    let negative_ttl_s = authority.negative_ttl_s.map(|ttl_s| ttl_s.min(holds_s));
    Ok(match seen.last() {
        _ if is_none => Reply::Is(Answer::NoSuchDomain, negative_ttl_s),
        Some(target) if seen.len() > before && negative_ttl_s.is_none() => {
            Reply::Alias(target.clone(), holds_s)
        }
        // A referral: other servers are named, and this one does not resolve.
        _ if authority.is_referral => Reply::Failed(DnsFailure::Lame),
        _ => Reply::Is(Answer::Nothing, negative_ttl_s),
    })
}

enum Found {
    Records(Answer, u32),
    Alias(HostName, u32),
    Nothing,
}

/// The records of a name and type, or the target of its alias.
fn records(message: &Message<[u8]>, name: &HostName, rtype: Rtype) -> Result<Found, ParseError> {
    let (mut exchangers, mut addresses, mut alias) = (Vec::new(), Vec::new(), None);
    let mut holds_s = u32::MAX;
    for record in message.answer()?.take(RECORDS_MAX) {
        let record = record?;
        if !record.owner().name_eq(name) || record.class() != domain::base::iana::Class::IN {
            continue;
        }
        let is_wanted = record.rtype() == rtype;
        if is_wanted {
            holds_s = holds_s.min(record.ttl().as_secs());
        }
        match record.rtype() {
            Rtype::CNAME => alias = cname(&record)?,
            Rtype::A if is_wanted => addresses.extend(a(&record)?),
            Rtype::AAAA if is_wanted => addresses.extend(aaaa(&record)?),
            Rtype::MX if is_wanted => exchangers.extend(mx(&record)?),
            _ => {}
        }
    }
    Ok(match alias {
        _ if !exchangers.is_empty() => Found::Records(Answer::Exchangers(exchangers), holds_s),
        _ if !addresses.is_empty() => Found::Records(Answer::Addresses(addresses), holds_s),
        Some((target, ttl_s)) => Found::Alias(target, ttl_s),
        None => Found::Nothing,
    })
}

type Parsed<'a> = ParsedRecord<'a, [u8]>;

fn cname(record: &Parsed<'_>) -> Result<Option<(HostName, u32)>, ParseError> {
    let data = record.to_record::<Cname<ParsedName<_>>>()?;
    Ok(data.map(|record| (owned(record.data().cname()), record.ttl().as_secs())))
}

fn mx(record: &Parsed<'_>) -> Result<Option<(u16, HostName)>, ParseError> {
    let data = record.to_record::<Mx<ParsedName<_>>>()?;
    Ok(data.map(|record| (record.data().preference(), owned(record.data().exchange()))))
}

fn a(record: &Parsed<'_>) -> Result<Option<IpAddr>, ParseError> {
    Ok(record.to_record::<A>()?.map(|record| record.data().addr().into()))
}

fn aaaa(record: &Parsed<'_>) -> Result<Option<IpAddr>, ParseError> {
    Ok(record.to_record::<Aaaa>()?.map(|record| record.data().addr().into()))
}

struct Authority {
    /// Of the record SOA, RFC 2308, section 5. Without one a negative answer is not kept.
    negative_ttl_s: Option<u32>,
    is_referral: bool,
}

fn authority(message: &Message<[u8]>) -> Result<Authority, ParseError> {
    let mut found = Authority { negative_ttl_s: None, is_referral: false };
    for record in message.authority()?.take(RECORDS_MAX) {
        let record = record?;
        found.is_referral |= record.rtype() == Rtype::NS;
        if let Some(record) = record.to_record::<Soa<ParsedName<_>>>()? {
            found.negative_ttl_s = Some(record.ttl().as_secs().min(record.data().minimum().as_secs()));
        }
    }
    let header = message.header();
    found.is_referral &= found.negative_ttl_s.is_none() && !header.aa();
    Ok(found)
}

fn owned(name: &impl ToName) -> HostName {
    let name: Name<Vec<u8>> = name.to_canonical_name();
    name
}
