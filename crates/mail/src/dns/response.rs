//! The responses of our own DNS server (RFC 1035, section 4; RFC 2308 for negative ones).

use domain::base::iana::{Class, Opcode, Rcode};
use domain::base::message_builder::{AnswerBuilder, MessageBuilder, PushError, StaticCompressor};
use domain::base::{Header, Message, Name, Rtype, Serial, Ttl};
use domain::rdata::{A, Cname, Mx, Soa};

use super::HostName;
use super::authority::AuthorityCounts;
use super::lookup::Transport;
use super::zone::{DomainKind, ZoneName, ZonePlan};
use crate::recipients::TOP;

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
        counts.malformed += 1;
        let code = if is_plain { Rcode::FORMERR } else { Rcode::NOTIMP };
        return Some(refusal(message.header(), code));
    };
    let rtype = question.qtype();
    match rtype {
        Rtype::MX => counts.mx += 1,
        Rtype::A => counts.a += 1,
        Rtype::AAAA => counts.aaaa += 1,
        _ => counts.other += 1,
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
        counts.truncated += 1;
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
        Rcode::NOERROR => counts.answered += 1,
        Rcode::NXDOMAIN => counts.no_such_domain += 1,
        Rcode::SERVFAIL => counts.server_failure += 1,
        _ => counts.refused += 1,
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
        assert_eq!(counts.malformed, 1);
    }
}
