//! The resolver with scripted servers and a simulated clock.

use std::net::IpAddr;

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype, Serial, Ttl};
use domain::rdata::{A, Aaaa, Cname, Mx, Ns, Soa};
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

/// The records of a server: a name, a type and the data; several rows make a set. `!NXDOMAIN` and the like
/// are codes, and `SOA` makes the absence of all others certain.
type Row = (&'static str, &'static str, &'static str);

struct Network {
    resolver: Resolver,
    rows: Vec<Row>,
    now_ns: u64,
    /// Names and types that servers were asked for, with the server and whether over TCP.
    asked: Vec<(String, Rtype, usize, Transport)>,
    /// Messages that are lost before a server receives one.
    losses: usize,
    /// Answers over UDP that are cut.
    truncates: bool,
}

fn network(rows: &[Row], settings: ResolverSettings) -> Network {
    let resolver = Resolver::new(settings);
    Network { resolver, rows: rows.to_vec(), now_ns: 0, asked: Vec::new(), losses: 0, truncates: false }
}

fn name(text: &str) -> Name<Vec<u8>> {
    text.parse().unwrap()
}

impl Network {
    /// The response of the server to a query.
    fn respond(&self, query: &[u8], transport: Transport) -> Vec<u8> {
        let query = Message::from_octets(query).unwrap();
        let question = query.sole_question().unwrap();
        let owner = question.qname().to_string();
        let rows = self.rows.iter().filter(|(of, _, _)| of.eq_ignore_ascii_case(&owner));
        let code = match rows.clone().find_map(|(_, rtype, _)| rtype.strip_prefix('!')) {
            Some("NXDOMAIN") => Rcode::NXDOMAIN,
            Some("SERVFAIL") => Rcode::SERVFAIL,
            Some("REFUSED") => Rcode::REFUSED,
            _ => Rcode::NOERROR,
        };
        let mut answer = MessageBuilder::new_vec().start_answer(&query, code).unwrap();
        if self.truncates && transport == Transport::Udp {
            answer.header_mut().set_tc(true);
            return answer.finish();
        }
        let ttl = Ttl::from_secs(60);
        for (_, rtype, data) in rows.clone() {
            let is_wanted = question.qtype().to_string() == *rtype;
            match *rtype {
                "CNAME" => answer.push((question.qname(), ttl, Cname::new(name(data)))).unwrap(),
                "A" if is_wanted => {
                    answer.push((question.qname(), ttl, A::new(data.parse().unwrap()))).unwrap();
                }
                "AAAA" if is_wanted => {
                    answer.push((question.qname(), ttl, Aaaa::new(data.parse().unwrap()))).unwrap();
                }
                "MX" if is_wanted => {
                    let (preference, host) = data.split_once(' ').unwrap();
                    let data = Mx::new(preference.parse().unwrap(), name(host));
                    answer.push((question.qname(), ttl, data)).unwrap();
                }
                _ => {}
            }
        }
        let mut authority = answer.authority();
        for (_, rtype, data) in rows {
            match *rtype {
                "NS" => authority.push((name("test"), ttl, Ns::new(name(data)))).unwrap(),
                "SOA" => {
                    let soa = Soa::new(name("ns.test"), name("root.test"), Serial(1), ttl, ttl, ttl, ttl);
                    authority.push((name("test"), ttl, soa)).unwrap();
                }
                _ => {}
            }
        }
        authority.finish()
    }

    /// Until every domain has its answer; fails after so many turns.
    fn settle(&mut self) -> Vec<(u32, RouteAnswer)> {
        let mut answers = Vec::new();
        for _ in 0..100_000 {
            while let Some(transmit) = self.resolver.next_transmit() {
                let query = Message::from_octets(&transmit.message[..]).unwrap();
                let question = query.sole_question().unwrap();
                let qname = question.qname().to_string().to_lowercase();
                self.asked.push((qname, question.qtype(), transmit.server, transmit.transport));
                if self.losses > 0 {
                    self.losses -= 1;
                    continue;
                }
                let response = self.respond(&transmit.message, transmit.transport);
                self.now_ns += MS;
                assert!(self.resolver.on_message(
                    transmit.server,
                    transmit.transport,
                    &response,
                    self.now_ns
                ));
            }
            answers.extend(std::iter::from_fn(|| self.resolver.next_answer()));
            match self.resolver.next_deadline_ns() {
                Some(deadline_ns) => self.now_ns = self.now_ns.max(deadline_ns),
                None => {
                    assert_eq!(self.resolver.unresolved(), 0);
                    return answers;
                }
            }
            self.resolver.on_time(self.now_ns);
        }
        panic!("the resolver does not come to an end");
    }

    fn resolve(&mut self, domain: &str) -> RouteAnswer {
        self.resolver.ask(7, domain, self.now_ns);
        let mut answers = self.settle();
        let (number, answer) = answers.pop().unwrap();
        assert_eq!((number, answers.len()), (7, 0));
        answer
    }
}

fn resolve(rows: &[Row], domain: &str) -> RouteAnswer {
    network(rows, ResolverSettings::default()).resolve(domain)
}

/// Exchangers as text: preference, host and addresses.
fn text(answer: &RouteAnswer) -> Vec<String> {
    let RouteAnswer::Exchangers(list) = answer else { panic!("no exchangers: {answer:?}") };
    let one = |one: &Exchanger| format!("{} {} {:?}", one.preference, one.host, one.addresses);
    list.iter().map(one).collect()
}

#[test]
fn exchangers_come_by_preference_with_their_addresses() {
    let rows = [
        ("d.test", "MX", "20 b.test"),
        ("d.test", "MX", "10 A.test"),
        ("d.test", "MX", "30 none.test"),
        ("a.test", "AAAA", "fd00::1"),
        ("a.test", "A", "10.0.0.1"),
        ("a.test", "A", "10.0.0.2"),
        ("b.test", "CNAME", "c.test"),
        ("c.test", "A", "10.0.0.3"),
    ];
    let answer = resolve(&rows, "D.test.");
    assert_eq!(text(&answer), ["10 a.test [10.0.0.1, 10.0.0.2, fd00::1]", "20 b.test [10.0.0.3]"]);
}

#[test]
fn equal_preferences_are_shuffled_by_the_seed() {
    let hosts = ["a.test", "b.test", "c.test"];
    let mut rows: Vec<Row> = hosts.iter().map(|host| (*host, "A", "10.0.0.1")).collect();
    rows.extend([("d.test", "MX", "5 a.test"), ("d.test", "MX", "5 b.test"), ("d.test", "MX", "5 c.test")]);
    let first = |seed| {
        let settings = ResolverSettings { seed, ..ResolverSettings::default() };
        text(&network(&rows, settings).resolve("d.test"))[0].clone()
    };
    let mut firsts: Vec<String> = (0..60).map(first).collect();
    assert_eq!(firsts[7], first(7));
    firsts.sort();
    firsts.dedup();
    assert_eq!(firsts.len(), 3);
}

#[test]
fn a_domain_without_exchangers_is_its_own() {
    assert_eq!(text(&resolve(&[("d.test", "A", "10.0.0.1")], "d.test")), ["0 d.test [10.0.0.1]"]);
    assert_eq!(resolve(&[("d.test", "SOA", "")], "d.test"), RouteAnswer::NoExchanger);
    // With exchangers, the addresses of the domain do not count (RFC 5321, section 5.1).
    let rows = [("d.test", "A", "10.0.0.1"), ("d.test", "MX", "5 none.test")];
    assert_eq!(resolve(&rows, "d.test"), RouteAnswer::NoExchanger);
}

#[test]
fn what_is_permanent_and_what_is_not() {
    let codes = [
        ("!NXDOMAIN", RouteAnswer::NoSuchDomain),
        ("!SERVFAIL", RouteAnswer::Temporary(DnsFailure::ServerFailure)),
        ("!REFUSED", RouteAnswer::Temporary(DnsFailure::Refused)),
        ("NS", RouteAnswer::Temporary(DnsFailure::Lame)),
    ];
    for (code, expected) in codes {
        assert_eq!(resolve(&[("d.test", code, "ns.test")], "d.test"), expected);
    }
    assert_eq!(resolve(&[("d.test", "MX", "0 .")], "d.test"), RouteAnswer::NullMx);
    let rows = [("d.test", "MX", "5 a.test"), ("a.test", "!SERVFAIL", "")];
    assert_eq!(resolve(&rows, "d.test"), RouteAnswer::Temporary(DnsFailure::ServerFailure));
    for name in ["", ".", "\u{fffd}.test", "a b.test", "a..test", &"a".repeat(64), &"a.".repeat(140)] {
        assert_eq!(resolve(&[], name), RouteAnswer::NoSuchDomain, "{name}");
    }
    assert_eq!(resolve(&[], "[10.0.0]"), RouteAnswer::NoSuchDomain);
}

#[test]
fn a_domain_in_another_script_is_asked_for_by_its_a_labels() {
    let rows = [("xn--bcher-kva.test", "A", "10.0.0.1")];
    for name in ["bücher.test", "BÜCHER.test", "bu\u{308}cher.test", "xn--bcher-kva.test"] {
        assert_eq!(text(&resolve(&rows, name)), ["0 xn--bcher-kva.test [10.0.0.1]"], "{name}");
    }
}

#[test]
fn aliases_are_followed_and_loops_end() {
    let chain: Vec<(String, String)> =
        (0..20).map(|hop| (format!("c{hop}.test"), format!("c{}.test", hop + 1))).collect();
    let chain: &'static Vec<(String, String)> = Box::leak(Box::new(chain));
    let mut rows: Vec<Row> = chain.iter().map(|(from, to)| (from.as_str(), "CNAME", to.as_str())).collect();
    rows.push(("c20.test", "MX", "1 a.test"));
    rows.push(("a.test", "A", "10.0.0.1"));
    assert_eq!(text(&resolve(&rows, "c12.test")), ["1 a.test [10.0.0.1]"]);
    assert_eq!(resolve(&rows, "c11.test"), RouteAnswer::Temporary(DnsFailure::AliasLoop));
    let rows = [("a.test", "CNAME", "b.test"), ("b.test", "CNAME", "a.test"), ("c.test", "CNAME", "c.test")];
    for domain in ["a.test", "c.test"] {
        assert_eq!(resolve(&rows, domain), RouteAnswer::Temporary(DnsFailure::AliasLoop));
    }
}

const PLAIN: [Row; 2] = [("d.test", "MX", "5 a.test"), ("a.test", "A", "10.0.0.1")];

#[test]
fn lost_messages_are_sent_again_and_then_to_the_next_server() {
    let settings = ResolverSettings { servers: 2, ipv6: false, ..ResolverSettings::default() };
    for losses in 0..=7 {
        let mut network = network(&PLAIN, settings);
        network.losses = losses;
        let answer = network.resolve("d.test");
        let servers: Vec<usize> = network.asked.iter().map(|asked| asked.2).collect();
        if losses < 6 {
            assert_eq!(text(&answer).len(), 1);
            assert_eq!(servers[..=losses], [0, 0, 0, 1, 1, 1][..=losses]);
        } else {
            assert_eq!(answer, RouteAnswer::Temporary(DnsFailure::NoReply));
            assert_eq!(servers, [0, 0, 0, 1, 1, 1]);
            assert_eq!(network.now_ns, 14_000 * MS);
        }
    }
}

#[test]
fn what_is_truncated_is_asked_for_over_tcp() {
    let mut network = network(&PLAIN, ResolverSettings { ipv6: false, ..ResolverSettings::default() });
    network.truncates = true;
    assert_eq!(text(&network.resolve("d.test")), ["5 a.test [10.0.0.1]"]);
    let transports: Vec<Transport> = network.asked.iter().map(|asked| asked.3).collect();
    assert_eq!(transports, [Transport::Udp, Transport::Tcp, Transport::Udp, Transport::Tcp]);
}

#[test]
fn one_query_serves_all_that_ask_the_same() {
    let mut network = network(&PLAIN, ResolverSettings { ipv6: false, ..ResolverSettings::default() });
    for number in 0..50 {
        network.resolver.ask(number, "d.test", 0);
    }
    let answers = network.settle();
    assert_eq!((answers.len(), network.asked.len()), (50, 2));
    // And later the cache does, as long as the records hold.
    network.resolve("D.TEST");
    assert_eq!(network.asked.len(), 2);
    network.now_ns += 60_000 * MS;
    network.resolve("d.test");
    assert_eq!(network.asked.len(), 4);
}

#[test]
fn domains_wait_in_order_for_the_queries_under_way() {
    let settings = ResolverSettings { queries: 10, ..ResolverSettings::default() };
    let mut network = network(&[], settings);
    for number in 0..1000 {
        network.resolver.ask(number, &format!("d{number}.test"), 0);
    }
    let sent = std::iter::from_fn(|| network.resolver.next_transmit()).count();
    assert_eq!((sent, network.resolver.has_room()), (10, false));
    let answers = network.settle();
    assert_eq!((answers.len(), network.resolver.has_room()), (1000, true));
    let firsts: Vec<&str> =
        network.asked.iter().filter(|asked| asked.1 == Rtype::MX).map(|asked| asked.0.as_str()).collect();
    let place = |name: &str| firsts.iter().position(|one| *one == name).unwrap();
    assert!(place("d20.test") < place("d500.test") && place("d500.test") < place("d999.test"));
}

#[test]
fn messages_that_answer_nothing_are_dropped() {
    let mut network = network(&PLAIN, ResolverSettings { servers: 2, ..ResolverSettings::default() });
    network.resolver.ask(1, "d.test", 0);
    let transmit = network.resolver.next_transmit().unwrap();
    let response = network.respond(&transmit.message, Transport::Udp);
    let with = |at: usize, bits: u8| {
        let mut other = response.clone();
        other[at] ^= bits;
        other
    };
    // Another id, a query, another opcode, a name in another case, another type, cut, from another server.
    let lies =
        [with(0, 1), with(2, 0x80), with(2, 0x08), with(13, 0x20), with(22, 1), response[..11].to_vec()];
    for lie in &lies {
        assert!(!network.resolver.on_message(0, Transport::Udp, lie, MS), "{lie:?}");
    }
    assert!(!network.resolver.on_message(1, Transport::Udp, &response, MS));
    assert!(!network.resolver.on_message(0, Transport::Tcp, &response, MS));
    assert!(network.resolver.on_message(0, Transport::Udp, &response, MS));
    assert!(!network.resolver.on_message(0, Transport::Udp, &response, MS), "twice");
}

proptest! {
    #[test]
    fn no_response_is_fatal(
        damage in proptest::collection::vec((0_usize..200, any::<u8>()), 0..12),
        cut in 0_usize..200,
        tail in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let rows = [
            ("d.test", "MX", "5 a.test"), ("d.test", "MX", "7 b.test"), ("d.test", "CNAME", "e.test"),
            ("d.test", "SOA", ""), ("d.test", "NS", "ns.test"),
        ];
        let mut network = network(&rows, ResolverSettings::default());
        network.resolver.ask(1, "d.test", 0);
        let transmit = network.resolver.next_transmit().unwrap();
        let mut response = network.respond(&transmit.message, Transport::Udp);
        // The id and the question stay, so that the rest is looked at.
        let start = transmit.message.len();
        for (at, byte) in damage {
            let length = response.len();
            response[start + at % (length - start)] = byte;
        }
        response.truncate(start + cut);
        response.extend(tail);
        prop_assert!(network.resolver.on_message(0, Transport::Udp, &response, MS));
        prop_assert_eq!(network.settle().len(), 1);
    }
}

#[test]
fn a_million_domains_take_little_memory() {
    let mut resolver = Resolver::new(ResolverSettings { cache_entries: 1000, ..ResolverSettings::default() });
    for number in 0..1_000_000 {
        resolver.ask(number, &format!("d{number}.test"), 0);
    }
    assert_eq!(resolver.unresolved(), 1_000_000);
    assert!(resolver.waiting_bytes() <= 60_000_000, "{}", resolver.waiting_bytes());
    // Every server is silent for a while: no state of finished queries stays.
    let mut now_ns = 0;
    let mut done = 0;
    for _ in 0..2000 {
        while resolver.next_transmit().is_some() {}
        now_ns = resolver.next_deadline_ns().unwrap_or(now_ns);
        resolver.on_time(now_ns);
        done += std::iter::from_fn(|| resolver.next_answer()).count();
    }
    assert_eq!(done + resolver.unresolved(), 1_000_000);
    assert!(resolver.cached() <= 1000);
}

#[test]
fn addresses_of_one_host_are_limited() {
    let addresses: Vec<String> = (0..200).map(|last| format!("10.0.0.{last}")).collect();
    let addresses: &'static Vec<String> = Box::leak(Box::new(addresses));
    let rows: Vec<Row> = addresses.iter().map(|address| ("d.test", "A", address.as_str())).collect();
    let RouteAnswer::Exchangers(list) = resolve(&rows, "d.test") else { panic!("no exchangers") };
    assert_eq!(list[0].addresses.len(), 16);
    assert_eq!(list[0].addresses[0], "10.0.0.0".parse::<IpAddr>().unwrap());
}
