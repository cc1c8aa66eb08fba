//! Cost over load: where the systems of a comparison are one system under several levels of a background,
//! each series has a line over these levels.

use std::io::{self, Write};

use judge::compare::{Comparison, LevelValue, Ranking, RankingEntry};

use crate::html::escape::esc;
use crate::html::tracks::{Track, draw};
use crate::sentences::{capital, wanted};

/// The option that names a level, before the level; both are the end of what names a system.
const OPTION: &str = "--background";

/// What the levels are of, and the rate of each system: `cpu, %`, and 0, 25, 50.
#[derive(Debug, PartialEq)]
struct Levels {
    of: String,
    rates: Vec<u64>,
}

/// Draws every series over the levels; nothing where the systems differ in something else.
pub(super) fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let prefixes = compared.contenders.iter().map(|contender| contender.system.prefix.as_slice());
    let Some(levels) = Levels::of(&prefixes.collect::<Vec<_>>()) else { return Ok(()) };
    writeln!(
        out,
        "<section id=\"over-load\"><h2>Cost over load</h2><p class=\"remark\">The cost at the largest n of \
         each level of the background ({}). The ratios above have the intervals.</p><div class=\"grid2\">",
        esc(&levels.of)
    )?;
    for (i, ranking) in compared.rankings.iter().enumerate() {
        let title = format!("{} over the background", capital(&ranking.label));
        let described = (title.as_str(), "Cost at the largest n, level by level.");
        let track = levels.track(ranking);
        let svg = draw(&format!("load{i}"), described, (&levels.of, ranking.unit), &[track]);
        let Some(svg) = svg else { continue };
        writeln!(out, "<figure><h3>{}</h3>{svg}</figure>", esc(&ranking.label))?;
    }
    writeln!(out, "</div></section>")
}

impl Levels {
    /// Of systems whose names differ only in the rate of one load.
    fn of(prefixes: &[&[String]]) -> Option<Levels> {
        let (first, others) = prefixes.split_first()?;
        let [command @ .., option, loads] = *first else { return None };
        if option != OPTION || others.is_empty() {
            return None;
        }
        let mut all = vec![loads.split(',').collect::<Vec<_>>()];
        for other in others {
            let [own @ .., option, loads] = *other else { return None };
            if (own, option.as_str()) != (command, OPTION) {
                return None;
            }
            all.push(loads.split(',').collect());
        }
        if all.iter().any(|loads| loads.len() != all[0].len()) {
            return None;
        }
        let differs = |place: &usize| all.iter().any(|loads| loads[*place] != all[0][*place]);
        let mut places = (0..all[0].len()).filter(differs);
        let (Some(place), None) = (places.next(), places.next()) else { return None };
        let rates: Vec<(&str, f64, &str)> = all.iter().map(|loads| parts(loads[place])).collect();
        // Of nothing, the unit does not matter.
        let (name, _, unit) = *rates.iter().find(|(_, rate, _)| *rate > 0.0)?;
        let is_alike = |(other, rate, own): &(&str, f64, &str)| {
            *other == name && (*own == unit || *rate == 0.0) && rate.fract() == 0.0
        };
        let of = format!("{}, {unit}", name.trim_end_matches([':', '@']));
        rates
            .iter()
            .all(is_alike)
            .then(|| Levels { of, rates: rates.iter().map(|(_, rate, _)| *rate as u64).collect() })
    }

    fn track(&self, ranking: &Ranking) -> Track {
        let of_level = |(place, rate): (usize, &u64)| {
            let entry = ranking.standings.iter().find(|entry| entry.place == place)?;
            let (value, trials) = cost(entry)?;
            Some(LevelValue { n: *rate, value, trials, limited: false, at_least: false })
        };
        let mut levels: Vec<LevelValue> = self.rates.iter().enumerate().filter_map(of_level).collect();
        levels.sort_by_key(|level| level.n);
        Track { place: 0, name: String::new(), levels, has_knots: true, stopped: None, trend: None }
    }
}

/// What it costs at its largest n.
fn cost(entry: &RankingEntry) -> Option<(f64, usize)> {
    match entry.levels.iter().rfind(|level| !level.limited) {
        Some(level) => Some((level.value, level.trials)),
        None => entry.verdict.as_ref().map(|verdict| (verdict.cost_high.value, verdict.trials)),
    }
}

/// A load before its rate, the rate, and its unit: `cpu:`, 25 and `%`.
fn parts(load: &str) -> (&str, f64, &str) {
    let load = load.split('#').next().unwrap_or_default();
    let (rate, unit) = wanted(load);
    let end = load.rfind([':', '@']).map_or(0, |end| end + 1);
    (&load[..end], rate, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(systems: &[&[&str]]) -> Option<Levels> {
        let owned: Vec<Vec<String>> =
            systems.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
        Levels::of(&owned.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn systems_that_differ_in_one_rate_are_levels() {
        let found = levels(&[&[OPTION, "cpu:0%"], &[OPTION, "cpu:25%"], &[OPTION, "cpu:50%"]]).unwrap();
        assert_eq!((found.of.as_str(), found.rates), ("cpu, %", vec![0, 25, 50]));
        let found = levels(&[&["nice", OPTION, "cpu:5%,disk:0B/s"], &["nice", OPTION, "cpu:5%,disk:2MB/s"]]);
        assert_eq!(found.unwrap(), Levels { of: "disk, MB/s".to_owned(), rates: vec![0, 2] });
        let found = levels(&[&[OPTION, "memory:2G@1GB/s"], &[OPTION, "memory:2G@2GB/s"]]).unwrap();
        assert_eq!((found.of.as_str(), found.rates), ("memory:2G, GB/s", vec![1, 2]));
        for other in [
            &[&[OPTION, "cpu:0%"][..]][..],
            &[&["nice"], &[OPTION, "cpu:0%"]],
            &[&[], &[]],
            &[&["nice", OPTION, "cpu:0%"], &[OPTION, "cpu:5%"]],
            &[&[OPTION, "cpu:0%"], &[OPTION, "net:8mbit"]],
            &[&[OPTION, "cpu:0%,net:8mbit"], &[OPTION, "cpu:5%,net:9mbit"]],
            &[&[OPTION, "net:8mbit"], &[OPTION, "net:1gbit"]],
        ] {
            assert_eq!(levels(other), None, "{other:?}");
        }
    }
}
