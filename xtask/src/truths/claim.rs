//! What a verdict must say to be right.

use super::found::Found;

/// How far from its place a cliff may be found, as a share of it.
const PLACE: f64 = 0.03;

pub(super) enum Claim {
    /// The verdict is one of these words, or of several families of which one is.
    Word(&'static [&'static str]),
    /// Cost at its end over cost at its beginning is in this range.
    Growth { low: f64, high: f64 },
    /// A step, or the limit that the cost goes to, is at half of the port range that the run was made with,
    /// and all grows at least so many times.
    CliffAtHalfOfPorts { times: f64 },
    /// The way up was stopped by a limit, with this errno and an n in this range.
    Stopped { error: &'static str, from: u64, to: u64 },
    /// A note of the run says so.
    Reported(&'static str),
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
        }
    }

    /// What is expected; the place of a cliff is known when there is a run.
    pub(super) fn expected(&self, found: Option<&Found>) -> String {
        match *self {
            Claim::Word(words) => words.join("|"),
            Claim::Growth { low, high } if high.is_infinite() => format!("×{low} or more"),
            Claim::Growth { low, high } => format!("×{low} to ×{high}"),
            Claim::CliffAtHalfOfPorts { times } => match found.and_then(|found| found.half_of_ports) {
                Some(place) => format!("×{times} or more at {place}"),
                None => format!("×{times} or more at half of the ports"),
            },
            Claim::Stopped { error, from, to } => format!("{error} at {from} to {to}"),
            Claim::Reported(words) => words.to_owned(),
        }
    }

    /// What there is of it.
    pub(super) fn found(&self, found: &Found) -> String {
        let growth = || found.growth.map_or("no growth".to_owned(), |growth| format!("×{growth:.2}"));
        match *self {
            Claim::Word(_) if found.names_no_family() => {
                format!("{} of {}", found.word, found.classes.join(" and "))
            }
            Claim::Word(_) => found.word.clone(),
            Claim::Growth { .. } => growth(),
            Claim::CliffAtHalfOfPorts { .. } => match &found.cliffs[..] {
                [] => format!("{} at no place", growth()),
                places => {
                    let places: Vec<String> = places.iter().map(f64::to_string).collect();
                    format!("{} at {}", growth(), places.join(", "))
                }
            },
            Claim::Stopped { .. } => match found.stops.first() {
                Some(stop) => format!("{} at {}", stop.error, stop.n),
                None => "no stop".to_owned(),
            },
            Claim::Reported(words) if found.told.contains(words) => words.to_owned(),
            Claim::Reported(_) => "not told".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::Stop;
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
        ];
        assert!(yes.iter().all(|claim| claim.holds(&found())));
        let no = [
            Claim::Word(&["flat"]),
            Claim::Growth { low: 0.9, high: 1.1 },
            Claim::CliffAtHalfOfPorts { times: 2000.0 },
            Claim::Stopped { error: "ENOMEM", from: 500, to: 600 },
            Claim::Stopped { error: "EMFILE", from: 600, to: 700 },
            Claim::Reported("RLIMIT_AS"),
        ];
        assert!(!no.iter().any(|claim| claim.holds(&found())));
    }

    #[test]
    fn several_families_hold_what_one_of_them_is() {
        let classes = vec!["linear-like".into(), "stepped".into()];
        let ambiguous = Found { word: "ambiguous".into(), classes, ..found() };
        assert!(Claim::Word(&["linear-like"]).holds(&ambiguous));
        assert!(!Claim::Word(&["flat"]).holds(&ambiguous));
        assert_eq!(Claim::Word(&["flat"]).found(&ambiguous), "ambiguous of linear-like and stepped");
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
    fn what_was_expected_and_found_is_reported_in_the_same_words() {
        let claim = Claim::CliffAtHalfOfPorts { times: 100.0 };
        assert_eq!(claim.expected(None), "×100 or more at half of the ports");
        assert_eq!(claim.expected(Some(&found())), "×100 or more at 14116");
        assert_eq!(claim.found(&found()), "×900.00 at 1024, 14110");
        assert_eq!(Claim::Reported("RLIMIT_AS").found(&found()), "not told");
    }
}
