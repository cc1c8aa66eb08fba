//! Whether the load generator, and not the server, set the limit: judged from its own record. Of several
//! generators, each is judged by its part of the load.
//!
//! A saturated load generator measures itself. Its measurements are then lower bounds of the server's rate. A
//! rate ranks as such a bound; nothing else is ranked or compared.

use record::{GeneratorLevel, GeneratorPart, LimitedBy, SeriesKind, Side, Tester};

/// A generator in a closed loop that is busier than this leaves connections waiting that have been answered:
/// a queue that is served 85 % of the time holds nearly six on average (M/M/1: ρ / (1 − ρ)).
const BUSY_SHARE: f64 = 0.85;
/// A generator in an open loop that is later than this, and than [`LATE_SHARE`] of the median latency, no
/// longer offers the requested load. Timers and schedulers take a millisecond anyway.
const LATE_SECONDS: f64 = 1e-3;
/// Lateness below this share of the median latency is indistinguishable from the latency.
const LATE_SHARE: f64 = 0.1;
/// Where more than this share of the requests of an open loop, or of the connections of a closed loop, got no
/// response, the server is behind, even if the generator was busy.
const BEHIND_SHARE: f64 = 0.01;

/// The evidence that a load generator was the limit. Shares are of the time, in whole percent.
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// It was busy, or waited for a processor that others had.
    Busy {
        /// Share of a processor that it used.
        busy_percent: u32,
        /// How long it waited for one.
        run_delay_percent: u32,
    },
    /// It sent requests late.
    Late {
        /// 1 % of them were later than this.
        seconds: f64,
        /// How long it waited for a processor.
        run_delay_percent: u32,
    },
    /// The reason in the record.
    Recorded(String),
    /// That of one of several generators.
    OfPart {
        /// Its name.
        name: String,
        /// Its evidence.
        evidence: Box<Evidence>,
    },
}

/// The limit of a load that was offered once.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadVerdict {
    /// Only the server, by the record of the load generator.
    Sound,
    /// The load generator, or others on its processor, kept it from offering the load that was requested.
    Limited(LimitedBy, Evidence),
    /// The server, or the number of connections, did not keep up with the load.
    Behind,
    /// There was no correct response.
    NoResponse,
}

/// The limit of this load. One of several generators that was limited limits all: it offered less than its
/// part.
pub fn load_verdict(level: &GeneratorLevel) -> LoadVerdict {
    let limited = level.parts.iter().find_map(|part| match part_verdict(level, part) {
        LoadVerdict::Limited(by, evidence) => {
            let evidence = Evidence::OfPart { name: part.name.clone(), evidence: Box::new(evidence) };
            Some(LoadVerdict::Limited(by, evidence))
        }
        _ => None,
    });
    limited.unwrap_or_else(|| whole_verdict(level))
}

/// The limit of one of several generators, by its part of the load.
pub fn part_verdict(level: &GeneratorLevel, part: &GeneratorPart) -> LoadVerdict {
    whole_verdict(&GeneratorLevel {
        connections: part.connections,
        intended_per_second: part.intended_per_second,
        started_per_second: part.started_per_second,
        unanswered: part.unanswered,
        timed_out: part.timed_out,
        cpu_share: part.cpu_share,
        run_delay_share: part.run_delay_share,
        latency_seconds_p50: part.latency_seconds_p50,
        lateness_seconds_p99: part.lateness_seconds_p99,
        parts: Vec::new(),
        ..level.clone()
    })
}

/// The limit of a load as if it came from one generator.
fn whole_verdict(level: &GeneratorLevel) -> LoadVerdict {
    let Some(median) = level.latency_seconds_p50 else { return LoadVerdict::NoResponse };
    let delay = level.run_delay_share.unwrap_or(0.0);
    let run_delay_percent = percent(delay);
    // However late they were sent, the timeout runs from there.
    if level.timed_out as f64 > BEHIND_SHARE * requests(level) {
        return LoadVerdict::Behind;
    }
    if level.tester == Tester::Sink {
        return sink_verdict(level);
    }
    let without = level.unanswered.saturating_add(level.timed_out) as f64;
    let is_behind = without > BEHIND_SHARE * requests(level);
    if let (Some(seconds), Some(_)) = (level.lateness_seconds_p99, level.intended_per_second) {
        let is_late = seconds > LATE_SECONDS.max(LATE_SHARE * median);
        return match (is_late, is_behind) {
            (true, _) => {
                LoadVerdict::Limited(LimitedBy::Generator, Evidence::Late { seconds, run_delay_percent })
            }
            (false, true) => LoadVerdict::Behind,
            (false, false) => LoadVerdict::Sound,
        };
    }
    // In a closed loop each connection waits for one response, or for a few.
    if is_behind || level.unanswered as f64 > BEHIND_SHARE * level.connections as f64 {
        return LoadVerdict::Behind;
    }
    let evidence = Evidence::Busy { busy_percent: percent(level.cpu_share), run_delay_percent };
    match level.cpu_share {
        share if share > BUSY_SHARE => LoadVerdict::Limited(LimitedBy::Generator, evidence),
        share if share + delay > BUSY_SHARE => LoadVerdict::Limited(LimitedBy::Others, evidence),
        _ => LoadVerdict::Sound,
    }
}

/// The limit of a measured client: its sink, where that was busier than the client, because the busier of two
/// that wait for each other is the limit; or others on the processor of the client.
fn sink_verdict(level: &GeneratorLevel) -> LoadVerdict {
    let client = level.client_cpu_share.unwrap_or(0.0);
    let delay = level.run_delay_share.unwrap_or(0.0);
    if level.cpu_share > BUSY_SHARE && level.cpu_share >= client {
        let evidence = Evidence::Busy { busy_percent: percent(level.cpu_share), run_delay_percent: 0 };
        return LoadVerdict::Limited(LimitedBy::Sink, evidence);
    }
    if delay > 1.0 - BUSY_SHARE {
        let evidence = Evidence::Busy { busy_percent: percent(client), run_delay_percent: percent(delay) };
        return LoadVerdict::Limited(LimitedBy::Others, evidence);
    }
    LoadVerdict::Sound
}

/// The requests that were meant to start; in a closed loop those that were sent.
fn requests(level: &GeneratorLevel) -> f64 {
    level.intended_per_second.unwrap_or(level.started_per_second) * level.elapsed_seconds
}

fn percent(share: f64) -> u32 {
    (share * 100.0).round() as u32
}

/// Whether a series was counted at the server. The processor time of a response, or the memory of a
/// connection, does not depend on the rate of requests.
pub(crate) fn is_of_server(kind: &SeriesKind) -> bool {
    kind.side == Side::Server
}

#[cfg(test)]
pub(crate) mod tests {
    use record::TrialKey;

    use super::*;

    pub(crate) fn closed(cpu_share: f64, run_delay_share: f64) -> GeneratorLevel {
        GeneratorLevel {
            of: key(1),
            n: 5,
            generators: 1,
            connections: 5,
            elapsed_seconds: 1.0,
            started_per_second: 1e5,
            completed_per_second: 1e5,
            cpu_share,
            run_delay_share: Some(run_delay_share),
            latency_seconds_p50: Some(1e-4),
            ..GeneratorLevel::default()
        }
    }

    fn open(late: f64, median: f64) -> GeneratorLevel {
        GeneratorLevel {
            intended_per_second: Some(1e5),
            lateness_seconds_p99: Some(late),
            latency_seconds_p50: Some(median),
            ..closed(0.99, 0.0)
        }
    }

    pub(crate) fn key(trial: u32) -> TrialKey {
        let (system, workload, variant) = ("local".into(), "race".into(), "epoll".into());
        TrialKey { system, workload, variant, trial }
    }

    #[test]
    fn others_are_told_from_the_generator_itself() {
        let busy = |busy_percent, run_delay_percent| Evidence::Busy { busy_percent, run_delay_percent };
        let limited = |by, evidence| LoadVerdict::Limited(by, evidence);
        assert_eq!(load_verdict(&closed(0.5, 0.2)), LoadVerdict::Sound);
        assert_eq!(load_verdict(&closed(0.9, 0.0)), limited(LimitedBy::Generator, busy(90, 0)));
        assert_eq!(load_verdict(&closed(0.86, 0.14)), limited(LimitedBy::Generator, busy(86, 14)));
        assert_eq!(load_verdict(&closed(0.5, 0.4)), limited(LimitedBy::Others, busy(50, 40)));
    }

    #[test]
    fn a_sink_is_the_limit_where_it_is_busier_than_the_client() {
        let verdict = |cpu_share, client_cpu_share, delay| {
            let client_cpu_share = Some(client_cpu_share);
            let tester = Tester::Sink;
            load_verdict(&GeneratorLevel { tester, client_cpu_share, ..closed(cpu_share, delay) })
        };
        let busy = |busy_percent, run_delay_percent| Evidence::Busy { busy_percent, run_delay_percent };
        assert_eq!(verdict(0.9, 0.8, 0.0), LoadVerdict::Limited(LimitedBy::Sink, busy(90, 0)));
        assert_eq!(verdict(0.9, 0.99, 0.0), LoadVerdict::Sound, "the client is the limit");
        assert_eq!(verdict(0.5, 0.99, 0.1), LoadVerdict::Sound);
        assert_eq!(verdict(0.5, 0.7, 0.3), LoadVerdict::Limited(LimitedBy::Others, busy(70, 30)));
    }

    #[test]
    fn in_an_open_loop_it_must_not_be_late() {
        let evidence = Evidence::Late { seconds: 0.002, run_delay_percent: 0 };
        let late = LoadVerdict::Limited(LimitedBy::Generator, evidence);
        assert_eq!(load_verdict(&open(0.002, 1e-4)), late);
        assert_eq!(load_verdict(&open(0.002, 0.1)), LoadVerdict::Sound, "less than a tenth of the median");
        assert_eq!(load_verdict(&open(0.0009, 1e-4)), LoadVerdict::Sound, "less than a millisecond");
    }

    #[test]
    fn a_server_that_is_behind_is_no_fault_of_the_generator() {
        let without = |unanswered, level| load_verdict(&GeneratorLevel { unanswered, ..level });
        assert_eq!(without(1, closed(0.99, 0.0)), LoadVerdict::Behind);
        // Of a hundred thousand requests.
        assert_eq!(without(1001, open(0.0, 1e-4)), LoadVerdict::Behind);
        assert_eq!(without(999, open(0.0, 1e-4)), LoadVerdict::Sound);
        assert!(matches!(without(1001, open(0.002, 1e-4)), LoadVerdict::Limited(..)), "late comes first");
        let timed_out = GeneratorLevel { timed_out: 1001, ..open(0.002, 1e-4) };
        assert_eq!(load_verdict(&timed_out), LoadVerdict::Behind, "a timeout runs from the sending");
        let nothing = GeneratorLevel { latency_seconds_p50: None, ..closed(0.99, 0.0) };
        assert_eq!(load_verdict(&nothing), LoadVerdict::NoResponse);
    }

    #[test]
    fn one_saturated_generator_of_several_is_named() {
        let part = |name: &str, cpu_share| GeneratorPart {
            name: name.to_owned(),
            connections: 5,
            intended_per_second: None,
            started_per_second: 1e4,
            unanswered: 0,
            timed_out: 0,
            cpu_share,
            run_delay_share: Some(0.0),
            latency_seconds_p50: Some(1e-4),
            lateness_seconds_p99: None,
        };
        let verdict = |shares: [f64; 3]| {
            let parts = ["a", "b", "c"].iter().zip(shares).map(|(name, share)| part(name, share));
            load_verdict(&GeneratorLevel { parts: parts.collect(), ..closed(0.7, 0.0) })
        };
        assert_eq!(verdict([0.5, 0.6, 0.7]), LoadVerdict::Sound);
        let busy = Box::new(Evidence::Busy { busy_percent: 95, run_delay_percent: 0 });
        let expected = Evidence::OfPart { name: "b".to_owned(), evidence: busy };
        assert_eq!(verdict([0.5, 0.95, 0.2]), LoadVerdict::Limited(LimitedBy::Generator, expected));
    }
}
