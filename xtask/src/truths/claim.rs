//! A claim about a verdict, and the verdict that it is compared with.

use serde_json::Value;

use crate::AnyError;

/// How far from its place a cliff may be found, as a share of it.
const PLACE: f64 = 0.03;

/// Functions with a smaller share of the growth are left out.
const NOTABLE: f64 = 0.1;

#[derive(Debug)]
pub(super) enum Claim {
    /// The verdict is one of these words, or names several families and one of these is among them.
    Word(&'static [&'static str]),
    /// Cost at its end over cost at its beginning is in this range.
    Growth { low: f64, high: f64 },
    /// A step, the limit that the cost goes to, or the place of the growth is at half of the port range that
    /// the run was made with, and all grows at least so many times.
    CliffAtHalfOfPorts { times: f64 },
    /// The way up was stopped by a limit, with this errno and an n in this range.
    Stopped { error: &'static str, from: u64, to: u64 },
    /// A note of the run says so.
    Reported(&'static str),
    /// One of these functions, which kernels name differently, holds at least half of the growth in processor
    /// time, with its callees.
    Blamed(&'static [&'static str]),
}

impl Claim {
    pub(super) fn holds(&self, found: &Found) -> bool {
        match *self {
            Claim::Word(words) => {
                let among = |word: &String| words.contains(&word.as_str());
                among(&found.word) || found.names_no_family() && found.classes.iter().any(among)
            }
            Claim::Growth { low, high } => found.growth.is_some_and(|growth| (low..=high).contains(&growth)),
            Claim::CliffAtHalfOfPorts { times } => found.half_of_ports.is_some_and(|place| {
                let there = |n: &f64| (n - place).abs() <= PLACE * place;
                found.cliffs.iter().any(there) && found.growth.is_some_and(|growth| growth >= times)
            }),
            Claim::Stopped { error, from, to } => {
                found.stops.iter().any(|stop| stop.error == error && (from..=to).contains(&stop.n))
            }
            Claim::Reported(words) => found.told.contains(words),
            Claim::Blamed(functions) => found.functions.iter().any(|(name, share)| {
                // A compiler adds `.isra.0` to a function that it has changed.
                let name = name.split('.').next().unwrap_or(name);
                functions.contains(&name) && *share >= 0.5
            }),
        }
    }
}

/// The verdict of osdyno on one series, from the JSON of `osdyno run` or `osdyno judge`.
#[derive(Debug)]
pub(super) struct Found {
    /// The word of the verdict.
    pub(super) word: String,
    /// The families that remain possible.
    pub(super) classes: Vec<String>,
    /// Cost at its end over cost at its beginning.
    pub(super) growth: Option<f64>,
    /// The n of steps, of the limit that the cost goes to, and of its finding.
    pub(super) cliffs: Vec<f64>,
    pub(super) stops: Vec<Stop>,
    /// Half of the ports that the system of the run may choose.
    pub(super) half_of_ports: Option<f64>,
    /// The messages on standard error.
    pub(super) told: String,
    /// The functions that the growth was sampled in, with the share of each and its callees.
    pub(super) functions: Vec<(String, f64)>,
}

#[derive(Debug)]
pub(super) struct Stop {
    pub(super) error: String,
    pub(super) n: u64,
}

impl Found {
    /// Whether it changes and its word names no family: those that remain possible are in `classes`.
    pub(super) fn names_no_family(&self) -> bool {
        ["composite", "ambiguous", "uneven"].contains(&self.word.as_str())
    }

    /// The series of that name in the answer of a program.
    ///
    /// # Errors
    /// When it is no JSON, or has no such series.
    pub(super) fn read(json: &str, series: &str, told: String) -> Result<Found, AnyError> {
        let document: Value = serde_json::from_str(json)?;
        // A run names a series "name"; `judge` takes the word of the column.
        let is_it = |entry: &&Value| entry["name"] == series || entry["series"] == series;
        let entry = list(&document["series"]).iter().find(is_it);
        let entry = entry.ok_or_else(|| format!("no series {series} in the answer"))?;
        let steps = list(&entry["steps"]).iter().filter_map(|step| step["n"].as_f64());
        let findings = list(&document["findings"]).iter();
        let mut its = findings.filter(|finding| finding["series"] == entry["series"]);
        let found = its.find_map(|finding| finding["place"]["value"].as_f64());
        let stop = |stop: &Value| {
            Some(Stop { error: stop["reason"].as_str()?.to_owned(), n: stop["n_low"].as_u64()? })
        };
        Ok(Found {
            word: entry["verdict"].as_str().unwrap_or("no verdict").to_owned(),
            classes: list(&entry["classes"]).iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            growth: entry["growth"]["value"].as_f64(),
            cliffs: steps.chain(entry["limit"]["value"].as_f64()).chain(found).collect(),
            stops: list(&entry["stops"]).iter().filter_map(stop).collect(),
            half_of_ports: half_of_ports(&document["systems"][0]["environment"]),
            told,
            functions: Vec::new(),
        })
    }

    /// The functions of that series in the answer of `osdyno blame`.
    ///
    /// # Errors
    /// When it is no JSON, or has no such series.
    pub(super) fn read_blame(self, json: &str, series: &str) -> Result<Found, AnyError> {
        let document: Value = serde_json::from_str(json)?;
        let entry = list(&document["series"]).iter().find(|entry| entry["name"] == series);
        let entry = entry.ok_or_else(|| format!("no growth of {series} was sampled"))?;
        let function =
            |one: &Value| Some((one["function"].as_str()?.to_owned(), one["whole_share"]["value"].as_f64()?));
        let functions = list(&entry["functions"]).iter().filter_map(function);
        Ok(Found { functions: functions.filter(|(_, share)| *share >= NOTABLE).collect(), ..self })
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn half_of_ports(environment: &Value) -> Option<f64> {
    let range = environment["net.ip_local_port_range"].as_str()?;
    let (first, last) = range.split_once(' ')?;
    let (first, last): (f64, f64) = (first.parse().ok()?, last.parse().ok()?);
    Some((last - first + 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Found {
        Found {
            word: "stepped".into(),
            classes: vec!["stepped".into()],
            growth: Some(900.0),
            cliffs: vec![1024.0, 14_110.0],
            stops: vec![Stop { error: "EMFILE".into(), n: 593 }],
            half_of_ports: Some(14_116.0),
            told: "note: n goes to 568, because RLIMIT_NOFILE is 600".into(),
            functions: vec![("posix_lock_inode".into(), 0.98), ("do_wait.isra.0".into(), 0.6)],
        }
    }

    #[test]
    fn each_claim_holds_for_what_it_says_and_for_nothing_else() {
        let yes = [
            Claim::Word(&["flat", "stepped"]),
            Claim::Growth { low: 2.0, high: f64::INFINITY },
            Claim::CliffAtHalfOfPorts { times: 100.0 },
            Claim::Stopped { error: "EMFILE", from: 500, to: 600 },
            Claim::Reported("RLIMIT_NOFILE is 600"),
            Claim::Blamed(&["locks_insert", "posix_lock_inode"]),
            Claim::Blamed(&["do_wait"]),
        ];
        assert!(yes.iter().all(|claim| claim.holds(&found())));
        let no = [
            Claim::Word(&["flat"]),
            Claim::Growth { low: 0.9, high: 1.1 },
            Claim::CliffAtHalfOfPorts { times: 2000.0 },
            Claim::Stopped { error: "ENOMEM", from: 500, to: 600 },
            Claim::Stopped { error: "EMFILE", from: 600, to: 700 },
            Claim::Reported("RLIMIT_AS"),
            Claim::Blamed(&["posix_lock"]),
        ];
        assert!(!no.iter().any(|claim| claim.holds(&found())));
    }

    #[test]
    fn several_families_hold_what_one_of_them_is() {
        let classes = vec!["linear-like".into(), "stepped".into()];
        let ambiguous = Found { word: "ambiguous".into(), classes, ..found() };
        assert!(Claim::Word(&["linear-like"]).holds(&ambiguous));
        assert!(!Claim::Word(&["flat"]).holds(&ambiguous));
        assert!(!Claim::Word(&["linear-like"]).holds(&Found { word: "inconclusive".into(), ..ambiguous }));
    }

    #[test]
    fn a_cliff_belongs_to_the_range_of_its_run() {
        let claim = Claim::CliffAtHalfOfPorts { times: 100.0 };
        assert!(!claim.holds(&Found { half_of_ports: Some(5000.0), ..found() }));
        assert!(!claim.holds(&Found { half_of_ports: None, ..found() }));
        assert!(!claim.holds(&Found { cliffs: Vec::new(), ..found() }));
    }

    #[test]
    fn a_run_is_read() {
        let json = r#"{
            "systems": [{"environment": {"net.ip_local_port_range": "20000 29999"}}],
            "series": [
                {"name": "close", "verdict": "flat"},
                {"name": "bind", "verdict": "stepped", "growth": {"value": 300.5},
                    "steps": [{"n": 5001, "low": 4990, "high": 5010, "percent": 29950.0}],
                    "limit": {"value": 5003.5},
                 "stops": [{"cause": "limit", "n_low": 9990, "reason": "EADDRINUSE"},
                           {"cause": "allowance", "n_low": 9000, "reason": null}]}
            ]}"#;
        let found = Found::read(json, "bind", String::new()).expect("a series");
        assert_eq!((found.word.as_str(), found.growth), ("stepped", Some(300.5)));
        assert_eq!((found.cliffs, found.half_of_ports), (vec![5001.0, 5003.5], Some(5000.0)));
        assert!(matches!(&found.stops[..], [stop] if stop.error == "EADDRINUSE" && stop.n == 9990));
        assert!(Found::read(json, "fork", String::new()).is_err());
    }

    #[test]
    fn a_blame_is_read() {
        let json = r#"{"series": [{"name": "lock", "functions": [
            {"function": "posix_lock_inode", "whole_share": {"value": 0.98, "low": 0.97, "high": 0.99}},
            {"function": "lost", "whole_share": null}]}]}"#;
        let read = found().read_blame(json, "lock").expect("a series");
        assert_eq!(read.functions, [("posix_lock_inode".to_owned(), 0.98)]);
        assert!(found().read_blame(json, "unlock").is_err());
    }

    #[test]
    fn a_judgement_is_read() {
        let json = r#"{"series": [{"series": "poll", "verdict": "linear-like", "classes": ["linear-like"],
            "growth": {"value": 18.0, "low": 17.0, "high": 19.0}, "steps": []}]}"#;
        let found = Found::read(json, "poll", String::new()).expect("a series");
        assert_eq!((found.word.as_str(), found.growth), ("linear-like", Some(18.0)));
        assert!(found.cliffs.is_empty() && found.stops.is_empty() && found.half_of_ports.is_none());
    }
}
