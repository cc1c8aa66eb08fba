//! The queue: limits, failures, memory; and after any failure every recipient ends once.

use proptest::prelude::*;

use super::*;
use crate::recipients::{DomainSizes, GeneratedList};

fn list(recipients: u32, domains: u32) -> Recipients {
    let sizes = DomainSizes::Zipf;
    Recipients::generate(&GeneratedList { recipients, domains, sizes, seed: 11 })
}

fn host(number: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 1000 + number))
}

const SETTINGS: QueueSettings = QueueSettings {
    connections_per_host: 3,
    transactions_per_domain: 2,
    recipients_per_transaction: 2,
    batch: 8,
    attempts: 3,
    retry_ms: 10,
    retry_longest_ms: 50,
    repeats: false,
    share: Share { number: 0, of: 1 },
};

#[test]
fn a_host_has_as_many_connections_as_it_may() {
    let list = list(100, 5);
    let mut queue = Queue::new(&list, SETTINGS);
    while let Some(domain) = queue.next_unresolved() {
        queue.resolved(domain, &[host(0)]);
    }
    let taken: Vec<_> = std::iter::from_fn(|| queue.take()).collect();
    assert_eq!(taken.len(), 3);
    queue.connection_ended(taken[0].0);
    assert!(queue.take().is_some() && queue.take().is_none());
}

#[test]
fn a_domain_turns_to_its_next_exchanger() {
    let list = list(10, 1);
    let mut queue = Queue::new(&list, SETTINGS);
    assert_eq!(queue.next_unresolved(), Some(0));
    queue.resolved(0, &[host(0), host(1)]);
    let (first, transaction) = queue.take().unwrap();
    assert_eq!(queue.address(first), host(0));
    assert!(queue.host_failed(first, 0, 1).is_empty());
    queue.connection_ended(first);
    for recipient in transaction.recipients {
        assert!(queue.give_back(recipient));
    }
    queue.transaction_ended(0);
    assert_eq!(queue.take().map(|(second, _)| queue.address(second)), Some(host(1)));
}

#[test]
fn delays_double_up_to_the_longest() {
    let delays: Vec<u64> = (1..=5).map(|attempts| SETTINGS.delay_ms(attempts)).collect();
    assert_eq!(delays, [10, 20, 40, 50, 50]);
    assert_eq!(QueueSettings::default().delay_ms(255), 4_000_000);
}

#[test]
fn a_million_that_wait_take_less_than_200_bytes_each() {
    for domains in [1, 1_000_000] {
        let list = list(1_000_000, domains);
        let queue = Queue::new(&list, SETTINGS);
        let of_domains = queue.domains.capacity() * size_of::<Domain>();
        let bytes = list.bytes() + of_domains + queue.attempts.capacity();
        // A recipient that waits for another attempt is in the list of its domain, and was in the heap.
        let again = size_of::<u32>() + size_of::<Reverse<(u64, Wake)>>();
        let most = bytes / 1_000_000 + 2 * again;
        assert!(most <= 200, "{most} bytes with {domains} domains");
    }
}

proptest! {
    /// After any failure every recipient ends once.
    #[test]
    fn each_recipient_ends_once(seed: u64, recipients in 1_u32..200, domains in 1_u32..20) {
        let list = list(recipients, domains);
        let mut queue = Queue::new(&list, SETTINGS);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut ended = vec![0; list.len()];
        let mut connections: Vec<(u32, Transaction)> = Vec::new();
        let mut now_ms = 0;
        while queue.unfinished() > 0 {
            now_ms += 1;
            prop_assert!(now_ms < 1_000_000, "{} are left", queue.unfinished());
            while let Some(domain) = queue.next_unresolved() {
                if random.u8(..10) == 0 {
                    queue.domain_failed(domain, now_ms).iter().for_each(|&one| ended[one as usize] += 1);
                } else {
                    queue.resolved(domain, &[host(random.u16(..3)), host(random.u16(3..6))]);
                }
            }
            connections.extend(queue.take());
            queue.expire(now_ms).iter().for_each(|&one| ended[one as usize] += 1);
            if connections.is_empty() || random.bool() {
                continue;
            }
            let (host, transaction) = connections.swap_remove(random.usize(..connections.len()));
            let failure = random.u8(..4);
            for &recipient in &transaction.recipients {
                let has_ended = match failure {
                    0 => !queue.give_back(recipient),
                    1 => !queue.retry(recipient, now_ms),
                    _ => { queue.ended(); true }
                };
                ended[recipient as usize] += u32::from(has_ended);
            }
            if failure == 0 {
                let given_up = queue.host_failed(host, transaction.domain, now_ms);
                given_up.iter().for_each(|&one| ended[one as usize] += 1);
            }
            queue.transaction_ended(transaction.domain);
            let next = if failure > 1 { queue.take_for(host) } else { None };
            match next {
                Some(next) => connections.push((host, next)),
                None => queue.connection_ended(host),
            }
        }
        prop_assert!(ended.iter().all(|&times| times == 1), "{:?}", ended);
    }
}
