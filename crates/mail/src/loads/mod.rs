//! The group `mail`: the engine with n connections; one file for each mode. Here are the series, variants and
//! levels, which all modes share.
//!
//! `measured` is a trial: the engine in this process, opposite a sink and a DNS server in processes of their
//! own.

mod deliver;
mod lockstep;
mod measured;
mod pipelined;

use workload::resource::{DESCRIPTORS, MEMORY, PORTS};
use workload::{
    Expect, Group, LevelRecorder, Need, Operation, Setting, Sizes, Unit, Values, Variant, Workload,
};

use crate::EVENT_INTERFACES;
use crate::context::{MailMeasured, MailStep};

/// The modes, in the order in which reports show them.
pub const GROUP: Group = Group {
    name: "mail",
    title: "Mail engine under rising connections",
    workloads: &[&lockstep::WORKLOAD, &pipelined::WORKLOAD, &deliver::WORKLOAD],
};

/// The defaults of modes, for `..MODE`.
const MODE: Workload = Workload {
    grows: "simultaneous connections",
    sizes: Sizes::Levels(sizes),
    // Its levels have a warm-up of their own, and a discarded pass would find all domains once more.
    warms_up: false,
    variants: VARIANTS,
    rivals: true,
    core_variants: CORE_VARIANTS,
    // At each end a descriptor; the memory is that of both ends, most of it in the kernel.
    needs: &[Need::new(DESCRIPTORS, 1), Need::new(PORTS, 1), Need::new(MEMORY, 24 << 10)],
    classic_n: 2500,
    ..Workload::LOAD
};

/// The steps of a delivery with RSET in place of DATA.
const TEST_STEPS: [MailStep; 8] = [
    MailStep::Dns,
    MailStep::Connect,
    MailStep::Banner,
    MailStep::Ehlo,
    MailStep::Mail,
    MailStep::Rcpt,
    MailStep::Rset,
    MailStep::Quit,
];
const TEST_OPERATIONS: [Operation; 13] = operations(&TEST_STEPS);

/// The series of a mode with these steps.
const fn operations<const COUNT: usize>(steps: &[MailStep]) -> [Operation; COUNT] {
    let mut all = [THROUGHPUT; COUNT];
    let of_deliveries = [THROUGHPUT, CPU, P50, P99, P999];
    assert!(COUNT == of_deliveries.len() + steps.len());
    let mut place = 0;
    while place < COUNT {
        all[place] = match place.checked_sub(of_deliveries.len()) {
            None => of_deliveries[place],
            Some(step) => latency_of(steps[step]),
        };
        place += 1;
    }
    all
}

/// The size that MAIL states, where no other is chosen.
const MESSAGE_BYTES: usize = 1000;

/// The number of deliveries on a connection.
const fn deliveries(default: &'static str) -> Setting {
    Setting {
        name: "deliveries",
        default,
        values: Values::Number { least: 1, most: 1000 },
        summary: "deliveries for which a connection is used",
    }
}

const DOMAINS: Setting = Setting {
    name: "domains",
    default: "9113",
    values: Values::Number { least: 1, most: 1_000_000 },
    summary: "domains of the generated recipients",
};

const BYTES: Setting = Setting {
    name: "bytes",
    default: "1000",
    values: Values::Number { least: 100, most: 10_000_000 },
    summary: "length of the message",
};

const THROUGHPUT: Operation =
    Operation::reported("throughput", Unit::PerSecond, Expect::Constant, "deliveries per second");

const P50: Operation = latency("p50", "median time of a delivery");
const P99: Operation = latency("p99", "time that 99 % of deliveries do not exceed");
const P999: Operation = latency("p999", "time that 99.9 % of deliveries do not exceed");

/// Its name, which is not among [`LIMITED`]: it does not depend on how fast a sink replies.
const ENGINE_CPU: &str = "engine cpu";

const CPU: Operation = Operation::reported(
    ENGINE_CPU,
    Unit::Seconds,
    Expect::Constant,
    "processor time of the engine per delivery",
);

/// A closed loop: each of n connections waits for its turn.
const fn latency(name: &'static str, summary: &'static str) -> Operation {
    Operation::reported(name, Unit::Seconds, Expect::Linear, summary)
}

/// The 99th percentile of a step.
const fn latency_of(step: MailStep) -> Operation {
    let (name, summary) = words(step);
    latency(name, summary)
}

/// The names of series, and their steps.
const fn words(step: MailStep) -> (&'static str, &'static str) {
    match step {
        MailStep::Dns => ("dns p99", "time to find the exchangers of a domain, which 99 % do not exceed"),
        MailStep::Connect => ("connect p99", "time of connect(2), which 99 % do not exceed"),
        MailStep::Banner => ("banner p99", "time from there to the greeting, which 99 % do not exceed"),
        MailStep::Ehlo => ("ehlo p99", "time of EHLO, which 99 % do not exceed"),
        MailStep::Tls => ("tls p99", "time of STARTTLS and the handshake, which 99 % do not exceed"),
        MailStep::Mail => ("mail p99", "time of MAIL, which 99 % do not exceed"),
        MailStep::Rcpt => ("rcpt p99", "time of RCPT, which 99 % do not exceed"),
        MailStep::Rset => ("rset p99", "time of RSET, which 99 % do not exceed"),
        MailStep::Data => ("data p99", "time of DATA up to its go-ahead, which 99 % do not exceed"),
        MailStep::Message => {
            ("message p99", "time of the message until it is accepted, which 99 % do not exceed")
        }
        MailStep::Quit => ("quit p99", "time of QUIT, which 99 % do not exceed"),
        MailStep::Delivery => ("p99", "time that 99 % of deliveries do not exceed"),
    }
}

/// The series that a saturated sink changes.
const LIMITED: [&str; 4] = ["throughput", "p50", "p99", "p999"];

/// The series of these operations that a saturated sink limits.
fn limited(steps: &[MailStep]) -> Vec<&'static str> {
    LIMITED.into_iter().chain(steps.iter().map(|&step| words(step).0)).collect()
}

/// A window of time, and the engine's resources in it.
struct Window {
    elapsed_seconds: f64,
    /// Processor time, where the system reports it.
    cpu_seconds: Option<f64>,
}

impl Window {
    /// Processor time as a share of the time that passed.
    fn cpu_share(&self) -> Option<f64> {
        self.cpu_seconds.map(|seconds| seconds / self.elapsed_seconds.max(1e-9))
    }
}

/// Reports the measurements of the engine within this time.
fn report(measured: &MailMeasured, window: &Window, steps: &[MailStep], recorder: &mut LevelRecorder<'_>) {
    let delivered = measured.counts.accepted() as f64;
    recorder.value("throughput", delivered / window.elapsed_seconds.max(1e-9));
    let of_delivery = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)];
    for (name, share) in of_delivery {
        recorder.value(name, quantile(measured, MailStep::Delivery, share));
    }
    for &step in steps {
        recorder.value(words(step).0, quantile(measured, step, 0.99));
    }
    recorder.value(ENGINE_CPU, window.cpu_seconds.map_or(f64::NAN, |seconds| seconds / delivered.max(1.0)));
}

/// In seconds; `NAN` where the step was never made, or was always complete when the engine checked.
fn quantile(measured: &MailMeasured, step: MailStep, share: f64) -> f64 {
    let times = measured.times(step);
    match times.count() {
        0 => f64::NAN,
        _ => Some(times.quantile_ns(share)).filter(|&ns| ns > 0).map_or(f64::NAN, |ns| ns as f64 / 1e9),
    }
}

/// Every event interface. Those of other systems are included, with the reason why they cannot run here.
const VARIANTS: &[Variant] = &variants();

/// The interface of 2001, and those by which servers wait today.
const CORE_VARIANTS: &[&str] = &["poll", "epoll", "kqueue"];

const fn variants() -> [Variant; EVENT_INTERFACES.len()] {
    let mut all = [Variant { name: "", summary: "" }; EVENT_INTERFACES.len()];
    let mut place = 0;
    while place < all.len() {
        let name = EVENT_INTERFACES[place];
        all[place] = Variant { name, summary: summary(name) };
        place += 1;
    }
    all
}

const fn summary(name: &str) -> &'static str {
    match name.as_bytes() {
        b"poll" => "poll(2), which is given all connections in every wait",
        b"select" => "select(2), the same in sets of bits, which end at FD_SETSIZE",
        b"epoll" => "epoll(7), which keeps the set of connections in the kernel",
        b"uring" => "io_uring, with a poll request for every connection",
        b"kqueue" => "kqueue(2), which keeps the set of connections in the kernel",
        _ => "",
    }
}

/// The first levels of 2001, and those around which its figure bends and ends.
const CONNECTIONS: [u64; 13] = [10, 20, 50, 100, 200, 500, 1000, 1500, 2500, 5000, 10_000, 20_000, 50_000];

/// The levels below `top`, and `top` itself.
fn sizes(top: u64) -> Vec<u64> {
    let below = CONNECTIONS.into_iter().filter(|&n| n < top);
    below.chain((top > 0).then_some(top)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_is_a_variant_with_a_few_words() {
        for (variant, name) in VARIANTS.iter().zip(EVENT_INTERFACES) {
            assert_eq!(variant.name, name);
            assert!(!variant.summary.is_empty(), "{name}");
        }
    }

    #[test]
    fn levels_end_at_the_top() {
        assert_eq!(sizes(7), [7]);
        assert_eq!(sizes(2500), [10, 20, 50, 100, 200, 500, 1000, 1500, 2500]);
        assert_eq!(sizes(100_000).len(), 14);
        assert!(sizes(0).is_empty());
    }
}
