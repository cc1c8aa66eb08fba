//! The hostile clients, one file for each kind. Each kind has a thread of its own, which makes its
//! connections, rests, and begins again until the attack is over.

mod changes;
mod crowds;
mod field;
mod garbage;
mod resets;
mod slow;

use std::time::Duration;

use fastrand::Rng;

pub(super) use crowds::hold;
pub(super) use field::Battlefield;

/// A kind of hostile client.
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// One go: makes a few connections, and returns how many.
    go: fn(&Battlefield, &mut Rng) -> u64,
}

pub(super) const ATTACKS: &[Attack] = &[
    Attack { name: "slow readers", go: slow::readers },
    Attack { name: "slow writers", go: slow::writers },
    Attack { name: "resets", go: resets::resets },
    Attack { name: "crowds", go: crowds::crowds },
    Attack { name: "half-open", go: crowds::half_open },
    Attack { name: "garbage", go: garbage::garbage },
    Attack { name: "truncated", go: garbage::truncated },
    Attack { name: "changing files", go: changes::readers },
];

/// Between two goes of one kind, at most: eight kinds and a generator take about half of a processor.
const REST_MILLISECONDS: u64 = 250;

/// Attacks in every way until it is over; the connections of each kind, in the order of [`ATTACKS`].
pub(super) fn attack(field: &Battlefield, seed: u64) -> Vec<u64> {
    std::thread::scope(|scope| {
        scope.spawn(move || changes::change(field, &mut Rng::with_seed(seed)));
        let start = |(number, attack): (u64, &'static Attack)| {
            let mut rng = Rng::with_seed(seed.wrapping_add(1 + number));
            scope.spawn(move || {
                let mut connections = 0;
                while !field.is_over() {
                    connections += (attack.go)(field, &mut rng);
                    field.rest(Duration::from_millis(rng.u64(1..REST_MILLISECONDS)));
                }
                connections
            })
        };
        let threads: Vec<_> = (0..).zip(ATTACKS).map(start).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        // A panic of a hostile client is a fault of ours, and no reason to lose what the others did.
        ended
            .map(|count| count.unwrap_or_else(|_| field.findings.lost("a hostile client panicked")))
            .collect()
    })
}
