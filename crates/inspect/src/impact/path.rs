//! The path between a server and its user: parts that take time, and parts that limit the rate.
//!
//! The known paths of today are typical values rounded to a digit, from published figures of each technology:
//! FCC, *Measuring Fixed Broadband* (fibre, cable, DSL and geostationary satellites), the operators' and
//! Ookla's figures for mobile networks and low orbits. They show the order of magnitude; `--path` has the
//! real one.

use record::units::Unreadable;
use serde::Serialize;

use super::cost;

/// One part of a path: a program, a line, a provider.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathPart {
    /// Its name.
    pub name: String,
    /// Both ways together.
    ///
    /// `null` where it adds nothing.
    pub delay_seconds: Option<f64>,
    /// Its rate; `null` where it does not limit it.
    pub bits_per_second: Option<f64>,
}

/// All parts between server and user, without the operating system that is in question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkPath {
    parts: Vec<PathPart>,
}

/// A path has a handful of parts; more is a mistake.
const PARTS_MOST: usize = 100;

impl NetworkPath {
    /// Reads `server 2ms, lan 1gbit 0.3ms, dsl 16mbit`: parts with commas between them, each with its name
    /// and a time or a rate or both.
    ///
    /// # Errors
    /// [`Unreadable`] with a correct example.
    pub fn parse(text: &str) -> Result<NetworkPath, Unreadable> {
        let parts: Vec<PathPart> = text.split(',').map(part).collect::<Result<_, _>>()?;
        if parts.len() > PARTS_MOST {
            return Err(Unreadable::new(text, format!("a path has at most {PARTS_MOST} parts")));
        }
        for (place, part) in parts.iter().enumerate() {
            if parts[..place].iter().any(|before| before.name == part.name) {
                return Err(Unreadable::new(text, format!("two parts are called \"{}\"", part.name)));
            }
        }
        Ok(NetworkPath { parts })
    }

    /// The parts, from the server to the user.
    pub fn parts(&self) -> &[PathPart] {
        &self.parts
    }

    /// The time that all parts together add to one response.
    pub fn delay_seconds(&self) -> f64 {
        self.parts.iter().filter_map(|part| part.delay_seconds).sum()
    }

    /// The part with the lowest rate, which a transfer waits for, and that rate.
    pub fn bottleneck(&self) -> Option<(&PathPart, f64)> {
        let rates = self.parts.iter().filter_map(|part| Some((part, part.bits_per_second?)));
        rates.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

/// A name of one or several words, then a time or a rate or both. Behind the first word, which may be `5g`, a
/// digit begins a quantity.
fn part(text: &str) -> Result<PathPart, Unreadable> {
    let example = "a part is a name and a time or a rate, such as lan 0.3ms 1gbit";
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let has_name = words.first().is_some_and(|first| is_name(first));
    if !has_name {
        return Err(Unreadable::new(text.trim(), example));
    }
    let end = words.iter().skip(1).position(is_number).map_or(words.len(), |place| place + 1);
    let (name, quantities) = words.split_at(end);
    let mut part = PathPart { name: name.join(" "), delay_seconds: None, bits_per_second: None };
    for word in quantities {
        if cost::bytes(word).is_ok() {
            let advice = "it is a size; a part has a time or a rate, such as 2ms or 16mbit, and --size says \
                          how much is transferred";
            return Err(Unreadable::new(word, advice));
        }
        let (place, value) = match is_rate(word) {
            true => (&mut part.bits_per_second, cost::bits_per_second(word)?),
            false => (&mut part.delay_seconds, cost::seconds(word)?),
        };
        if place.replace(value).is_some() {
            return Err(Unreadable::new(text.trim(), "a part has one time and one rate at most"));
        }
    }
    match (part.delay_seconds, part.bits_per_second) {
        (None, None) => Err(Unreadable::new(text.trim(), example)),
        _ => Ok(part),
    }
}

/// Whether a word is meant as a rate.
fn is_rate(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    ["bit", "/s", "bps"].iter().any(|end| word.ends_with(end))
}

/// Whether a word is neither a time nor a rate: `5G` is a name too.
fn is_name(word: &str) -> bool {
    cost::seconds(word).is_err() && cost::bits_per_second(word).is_err()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct KnownPath {
    pub(super) name: &'static str,
    /// The path as `--path` takes it.
    pub(super) text: &'static str,
}

/// The path of users that describe none, because it is common.
pub(super) const USUAL_PATH: KnownPath =
    KnownPath { name: "fibre to the home", text: "internet 10ms, fibre 3ms 1gbit" };

/// Paths that stand beside that of a user: those of today, the fastest first, and that of 1996.
pub(super) const KNOWN_PATHS: &[KnownPath] = &[
    KnownPath { name: "another machine, same rack", text: "rack 0.05ms 25gbit" },
    KnownPath { name: "local network", text: "lan 0.3ms 1gbit" },
    KnownPath { name: "another zone, same region", text: "region 1ms 10gbit" },
    USUAL_PATH,
    KnownPath { name: "5G", text: "internet 10ms, 5g 30ms 200mbit" },
    KnownPath { name: "cable", text: "internet 10ms, cable 15ms 250mbit" },
    KnownPath { name: "DSL", text: "internet 10ms, dsl 20ms 16mbit" },
    KnownPath { name: "satellite, low orbit", text: "internet 10ms, satellite 40ms 100mbit" },
    KnownPath { name: "another continent, fibre", text: "ocean 150ms, fibre 3ms 1gbit" },
    KnownPath { name: "satellite, geostationary", text: "internet 10ms, satellite 600ms 25mbit" },
    KnownPath { name: "modem of 1996", text: "internet 50ms, modem 150ms 28.8kbit" },
];

impl KnownPath {
    /// The path. A test reads all of them.
    pub(super) fn path(&self) -> NetworkPath {
        NetworkPath::parse(self.text).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_its_parts_in_their_order() {
        let path = NetworkPath::parse("server 2ms, lan 1gbit 0.3ms, isp in town 15ms, dsl 16mbit").unwrap();
        let names: Vec<&str> = path.parts().iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["server", "lan", "isp in town", "dsl"]);
        assert!((path.delay_seconds() - 0.0173).abs() < 1e-12);
        let (slowest, rate) = path.bottleneck().unwrap();
        assert_eq!((slowest.name.as_str(), rate), ("dsl", 16e6));
        assert_eq!(NetworkPath::parse("5G 20ms").unwrap().parts()[0].name, "5G");
        assert_eq!(NetworkPath::parse("lan 1ms").unwrap().bottleneck(), None);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for (text, says) in [
            ("", "a part is a name and"),
            ("2ms", "a part is a name and"),
            ("lan 1ms,", "a part is a name and"),
            ("lan 1ms 2ms", "one time and one rate"),
            ("lan 1ms, lan 2ms", "two parts are called \"lan\""),
            ("lan 50MB", "it is a size"),
            ("lan 3furlong", "\"furlong\" is no unit of time"),
            ("lan 16mbps", "write mbit or mB/s"),
            ("lan 28.8k", "it is a size; a part has a time or a rate, such as"),
            ("lan 1ms fast", "a number and its unit"),
            ("lan", "a part is a name and"),
            ("lan -1ms", "a number and its unit"),
        ] {
            let error = NetworkPath::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn every_known_path_is_one_with_a_delay_and_a_rate() {
        for known in KNOWN_PATHS {
            let path = NetworkPath::parse(known.text).unwrap();
            assert!(path.delay_seconds() > 0.0 && path.bottleneck().is_some(), "{}", known.name);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_a_path_of_times_and_rates_or_an_error(text in "[\\PC, a-z0-9.]{0,60}") {
            if let Ok(path) = NetworkPath::parse(&text) {
                prop_assert!(!path.parts().is_empty() && path.delay_seconds().is_finite());
                for part in path.parts() {
                    prop_assert!(part.delay_seconds.is_some() || part.bits_per_second.is_some());
                }
            }
        }

        #[test]
        fn delays_add_up(parts in prop::collection::vec((1u32..9999, 1u32..99), 1..20)) {
            let part = |(i, (ms, rate)): (usize, &(u32, u32))| format!("part{i} {ms}ms {rate}mbit");
            let text: Vec<String> = parts.iter().enumerate().map(part).collect();
            let path = NetworkPath::parse(&text.join(",")).unwrap();
            let delays: f64 = parts.iter().map(|(ms, _)| f64::from(*ms) * 1e-3).sum();
            let lowest = parts.iter().map(|(_, rate)| *rate).min().unwrap();
            prop_assert!((path.delay_seconds() - delays).abs() < 1e-6);
            prop_assert_eq!(path.bottleneck().unwrap().1, f64::from(lowest) * 1e6);
        }
    }
}
