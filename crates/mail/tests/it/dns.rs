//! The client of DNS and our own server, over real sockets: the answers equal the computed zone.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mail::DomainName;
use mail::Permission;
use mail::dns::servers_of_resolv_conf;
use mail::dns::{
    Authority, AuthorityConduct, AuthorityCounts, DnsClient, DnsError, DnsFailure, DomainKind,
    ResolverSettings, RouteAnswer, ZoneHost, ZonePlan,
};
use sys::event::{Poll, Poller};

const SECOND_NS: u64 = 1_000_000_000;

/// The answers about all domains of the plan and one more, in order.
fn resolve<P: Poller>(server: SocketAddr, domains: u32, settings: ResolverSettings) -> Vec<RouteAnswer> {
    let mut poller = P::new().unwrap();
    let mut client = DnsClient::new(&[server], &Permission::default(), settings).unwrap();
    client.register(&mut poller).unwrap();
    let began = Instant::now();
    let now_ns = || began.elapsed().as_nanos() as u64;
    let (mut next, mut answers, mut events) = (0, Vec::new(), Vec::new());
    while (answers.len() as u32) <= domains {
        while next <= domains && client.has_room() {
            client.ask(next, &DomainName(next).to_string(), &mut poller, now_ns());
            next += 1;
        }
        answers.extend(std::iter::from_fn(|| client.next_answer()));
        let wait_ns = client.next_deadline_ns().map_or(0, |deadline_ns| deadline_ns.saturating_sub(now_ns()));
        poller.wait(&mut events, Some(Duration::from_nanos(wait_ns))).unwrap();
        for event in events.iter().filter(|event| DnsClient::owns(event.token)) {
            client.on_event(*event, &mut poller, now_ns());
        }
        client.on_time(&mut poller, now_ns());
    }
    assert_eq!(client.unresolved(), 0);
    answers.sort_by_key(|(domain, _)| *domain);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The result of the clients of a server, which get its address, and its counts.
fn with_authority<T>(
    plan: ZonePlan,
    conduct: AuthorityConduct,
    clients: impl FnOnce(SocketAddr) -> T,
) -> (T, AuthorityCounts) {
    let authority = Authority::bind("127.0.0.1:0".parse().unwrap(), plan, conduct).unwrap();
    let (address, stop) = (authority.address().unwrap(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let server = scope.spawn(|| authority.run(&stop));
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| clients(address)));
        stop.store(true, Ordering::Relaxed);
        let counts = server.join().unwrap().unwrap();
        (result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), counts)
    })
}

/// The same with a server that answers at once, and every query.
fn with_plain_authority<T>(clients: impl FnOnce(SocketAddr) -> T) -> (T, AuthorityCounts) {
    with_authority(ZonePlan::default(), AuthorityConduct::default(), clients)
}

/// The answers, and the counts of the server.
fn serve<P: Poller>(
    plan: &ZonePlan,
    conduct: AuthorityConduct,
    settings: ResolverSettings,
) -> (Vec<RouteAnswer>, AuthorityCounts) {
    with_authority(plan.clone(), conduct, |address| resolve::<P>(address, plan.domains, settings))
}

/// Each exchanger with its preference and address, in any order among those of the same preference.
fn hosts(answer: &RouteAnswer) -> Vec<(u16, String, IpAddr)> {
    let RouteAnswer::Exchangers(list) = answer else { return Vec::new() };
    assert!(list.is_sorted_by_key(|exchanger| exchanger.preference));
    let mut hosts: Vec<_> =
        list.iter().map(|one| (one.preference, one.host.clone(), one.addresses[0])).collect();
    hosts.sort();
    hosts
}

fn check(plan: &ZonePlan, domain: u32, answer: &RouteAnswer) {
    let host = |&(preference, host): &(u16, ZoneHost)| {
        (preference, host.to_string(), IpAddr::from(plan.address(host).unwrap()))
    };
    match plan.kind(domain) {
        DomainKind::Exchangers => {
            let mut expected: Vec<_> = plan.exchangers(domain).iter().map(host).collect();
            expected.sort();
            assert_eq!(hosts(answer), expected, "{domain}: {answer:?}");
        }
        DomainKind::NoMx => {
            let own = (0, DomainName(domain).to_string(), plan.own_address(domain).unwrap().into());
            assert_eq!(hosts(answer), [own]);
        }
        DomainKind::NullMx => assert_eq!(*answer, RouteAnswer::NullMx),
        DomainKind::NoSuchDomain => assert_eq!(*answer, RouteAnswer::NoSuchDomain),
        DomainKind::ServerFailure => {
            assert_eq!(*answer, RouteAnswer::Temporary(DnsFailure::ServerFailure));
        }
        DomainKind::AliasLoop => assert_eq!(*answer, RouteAnswer::Temporary(DnsFailure::AliasLoop)),
    }
}

/// So many attempts that not even a busy machine loses all.
fn patient() -> ResolverSettings {
    ResolverSettings { timeout_ns: SECOND_NS / 2, attempts: 8, ..ResolverSettings::default() }
}

fn mixed() -> ZonePlan {
    let share = 0.03;
    ZonePlan {
        seed: 5,
        dead: share,
        no_such_domain: share,
        null_mx: share,
        no_mx: share,
        alias_loop: share,
        truncated: share,
        ..ZonePlan::default()
    }
}

#[test]
fn all_domains_are_found_through_losses_and_lies() {
    let plan = mixed();
    let conduct = AuthorityConduct { drops: 0.01, lies: 0.05, ..AuthorityConduct::default() };
    let (answers, counts) = serve::<Poll>(&plan, conduct, patient());
    assert_eq!(answers.len(), 9114);
    for (domain, answer) in answers.iter().enumerate() {
        check(&plan, domain as u32, answer);
    }
    let AuthorityCounts { queries, responses, connections } = counts;
    assert!(responses.dropped > 0 && responses.lies > 0 && responses.truncated > 0, "{counts:?}");
    assert!(connections > 0 && responses.no_such_domain > 0 && queries.malformed == 0, "{counts:?}");
    // The addresses of 512 hosts and of domains that are their own, and not one query for each domain's host.
    assert!(queries.a < 2500, "{counts:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interface_of_edges_misses_no_response() {
    let plan = ZonePlan { domains: 2000, truncated: 0.5, ..ZonePlan::default() };
    let conduct = AuthorityConduct { latency: Duration::from_millis(3), ..AuthorityConduct::default() };
    let (answers, counts) = serve::<sys::event::EpollEdge>(&plan, conduct, patient());
    for (domain, answer) in answers.iter().enumerate() {
        check(&plan, domain as u32, answer);
    }
    assert!(counts.connections >= 900, "{counts:?}");
}

#[test]
fn a_failure_of_the_server_is_tried_again() {
    let plan = ZonePlan { domains: 20, server_failure: 1.0, ..ZonePlan::default() };
    let settings = ResolverSettings { timeout_ns: 2 * SECOND_NS, ..ResolverSettings::default() };
    let (answers, counts) = serve::<Poll>(&plan, AuthorityConduct::default(), settings);
    for (domain, answer) in answers.iter().enumerate() {
        check(&plan, domain as u32, answer);
    }
    assert!(counts.responses.server_failure >= 60, "{counts:?}");
}

#[test]
fn no_message_stops_the_server() {
    let good = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x02d7\x04test\0\0\x0f\0\x01";
    let (is_answered, counts) = with_plain_authority(|address| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        socket.connect(address).unwrap();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2000 {
            let mut bad = good.to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bad.len());
                bad[at] = random.u8(..);
            }
            // Not the id that is waited for.
            bad[0] = 0x55;
            bad.truncate(random.usize(..=bad.len()));
            socket.send(&bad).unwrap();
        }
        let mut buffer = [0; 1000];
        let began = Instant::now();
        let mut turns = (0..5000).take_while(|_| began.elapsed() < Duration::from_secs(60));
        turns.any(|turn| {
            // Some of a flood are lost.
            if turn % 100 == 0 {
                socket.send(good).unwrap();
            }
            socket.recv(&mut buffer).is_ok_and(|length| length > good.len() && buffer[..2] == good[..2])
        })
    });
    assert!(is_answered && counts.queries.malformed > 0, "{counts:?}");
}

/// A query over TCP, with its length before it.
const QUERY: &[u8] = b"\0\x19\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x02d7\x04test\0\0\x0f\0\x01";

#[test]
fn connections_that_are_idle_starve_no_query() {
    let ((), counts) = with_plain_authority(|address| {
        let mut idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
        // Nor those that never end their query.
        idle.iter_mut().step_by(2).for_each(|stream| drop(stream.write(&QUERY[..5])));
        let mut stream = TcpStream::connect(address).unwrap();
        // Idle ones are left after ten seconds, and then there would be room.
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(QUERY).unwrap();
        let mut response = [0; 4];
        stream.read_exact(&mut response).unwrap();
        assert_eq!(response[2..], QUERY[2..4]);
    });
    assert!(counts.connections > 256, "{counts:?}");
}

#[test]
fn a_query_that_never_ends_is_not_waited_for() {
    with_plain_authority(|address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        stream.write_all(&[0x0f, 0xff]).unwrap();
        // Ten a second, of 4095.
        let is_closed = (0..200).any(|_| {
            let received = stream.read(&mut [0; 1]).map_err(|error| error.kind());
            let is_waiting = matches!(received, Err(ErrorKind::WouldBlock | ErrorKind::TimedOut));
            !is_waiting || stream.write_all(&[0]).is_err()
        });
        assert!(is_closed);
    });
}

#[test]
fn a_client_needs_servers_that_are_permitted() {
    let client = |servers: &[&str], named: &str| {
        let servers: Vec<SocketAddr> = servers.iter().map(|server| server.parse().unwrap()).collect();
        DnsClient::new(&servers, &Permission::parse(named).unwrap(), ResolverSettings::default())
    };
    assert!(matches!(client(&[], "192.0.2.1"), Err(DnsError::NoServer)));
    assert!(matches!(client(&["127.0.0.1:53", "192.0.2.1:53"], ""), Err(DnsError::NotPermitted(_))));
    // To name one is not to name another.
    assert!(matches!(client(&["192.0.2.1:53"], "192.0.2.2"), Err(DnsError::NotPermitted(_))));
    assert!(client(&["127.0.0.1:53"], "").is_ok());
}

#[test]
fn the_servers_of_resolv_conf_are_the_first_three() {
    let text = "# nameserver 10.0.0.9\nsearch example.test\nnameserver 10.0.0.1\n nameserver\tfd00::1 # two\n\
        nameserver\nnameserver nonsense\nnameserverx 10.0.0.8\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n";
    let servers: Vec<String> = servers_of_resolv_conf(text).iter().map(SocketAddr::to_string).collect();
    assert_eq!(servers, ["10.0.0.1:53", "[fd00::1]:53", "10.0.0.2:53"]);
}
