//! Cost over load: where the systems of a comparison are one system under several levels of a background,
//! each series has a line over these levels.

use std::io::{self, Write};

use judge::compare::{Comparison, Ranking, RankingEntry};
use record::Unit;

use crate::html::esc;
use crate::html::svg::{Axis, Kind, Tick, cost_label};
use crate::html::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use crate::quantity::Quantity;
use crate::sentences::{capital, wanted};
use crate::words::things;

/// The option that names a level, before the level; both are at the end of a system's name.
const OPTION: &str = "--background";

/// Labels of levels are at least so far apart, at the larger type of a narrow screen.
const LABELS_APART: f64 = 52.0;
/// Room above the highest cost.
const HEADROOM: f64 = 1.08;

/// The load of the levels, the unit, and the rate of each system: `cpu`, `%`, and 0, 25, 50.
#[derive(Debug, PartialEq)]
struct Levels {
    of: String,
    unit: String,
    rates: Vec<u64>,
}

/// A cost at one level; the ends of its interval, where it has one.
struct CostUnderLoad {
    rate: u64,
    value: f64,
    ends: Option<(f64, f64)>,
    trials: usize,
}

/// Draws every series over the levels; nothing where the systems differ in something else.
pub(super) fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let prefixes = compared.contenders.iter().map(|contender| contender.system.prefix.as_slice());
    let Some(levels) = Levels::of(&prefixes.collect::<Vec<_>>()) else { return Ok(()) };
    writeln!(
        out,
        "<section id=\"over-load\"><h2>Cost over load</h2><p class=\"remark\">The cost at the largest n at \
         each level of the background {}, each with its 95&nbsp;% interval by itself. Whether levels differ \
         is what the ratios above say, which compare trials in pairs.</p><div class=\"grid2\">",
        esc(&levels.of)
    )?;
    for (i, ranking) in compared.rankings.iter().enumerate() {
        let Some(svg) = levels.draw(&format!("load{i}"), ranking) else { continue };
        writeln!(out, "<figure><h3>{}</h3>{svg}</figure>", esc(&ranking.label))?;
    }
    writeln!(out, "</div></section>")
}

impl Levels {
    /// For systems whose names differ only in the rate of one load.
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
        // The unit of zero does not matter.
        let (name, _, unit) = *rates.iter().find(|(_, rate, _)| *rate > 0.0)?;
        let is_alike = |(other, rate, own): &(&str, f64, &str)| {
            *other == name && (*own == unit || *rate == 0.0) && rate.fract() == 0.0
        };
        let (of, unit) = (name.trim_end_matches([':', '@']).to_owned(), unit.to_owned());
        rates.iter().all(is_alike).then(|| Levels {
            of,
            unit,
            rates: rates.iter().map(|(_, rate, _)| *rate as u64).collect(),
        })
    }

    /// The costs of a series, by rising rate.
    fn costs(&self, ranking: &Ranking) -> Vec<CostUnderLoad> {
        let of_level = |(place, &rate): (usize, &u64)| {
            cost(ranking.standings.iter().find(|entry| entry.place == place)?, rate)
        };
        let mut costs: Vec<CostUnderLoad> = self.rates.iter().enumerate().filter_map(of_level).collect();
        costs.sort_by_key(|cost| cost.rate);
        costs
    }

    /// A line over the levels, with whiskers; empty without a cost.
    fn draw(&self, id: &str, ranking: &Ranking) -> Option<String> {
        let (costs, unit) = (self.costs(ranking), ranking.unit);
        let high = costs.iter().map(|cost| cost.ends.map_or(cost.value, |ends| ends.1)).reduce(f64::max)?;
        let (low_rate, high_rate) = (costs.first()?.rate as f64, costs.last()?.rate as f64);
        // A linear axis from zero, so that a difference of a few percent does not look like more.
        let x = Axis::new(Kind::Linear, low_rate, high_rate, LEFT, RIGHT);
        let y = Axis::new(Kind::Linear, 0.0, high * HEADROOM, BOTTOM, TOP).of(unit);
        let mut svg = Svg::open(id, 0.0);
        let said: Vec<String> = costs.iter().map(|cost| self.words(cost, unit)).collect();
        svg.describe(&format!("{} over the background", capital(&ranking.label)), &said.join("; "));
        svg.upright(&y, |tick| cost_label(tick.value, unit, &y));
        svg.level(
            &ticks(&costs, &x),
            |tick| self.level(tick.value as u64),
            &format!("background: {}", self.of),
        );
        let place = |cost: &CostUnderLoad| (x.place(cost.rate as f64), within(&y, cost.value));
        svg.line("median", &costs.iter().map(place).collect::<Vec<_>>());
        svg.put(format_args!("<g class=\"contender c0\">"));
        for (cost, said) in costs.iter().zip(&said) {
            let (cx, cy) = place(cost);
            let whisker = cost.ends.map(|(low, high)| {
                format!("<path class=\"end\" d=\"M{cx:.1} {:.1}V{:.1}\"/>", within(&y, low), within(&y, high))
            });
            svg.put(format_args!(
                "{}<circle class=\"knot\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\"><title>{}</title></circle>",
                whisker.unwrap_or_default(),
                esc(said)
            ));
        }
        svg.put(format_args!("</g>"));
        Some(svg.close())
    }

    /// `25 %`.
    fn level(&self, rate: u64) -> String {
        format!("{rate}\u{202f}{}", self.unit)
    }

    /// `25 %: 141 µs, from 120 µs to 160 µs, 5 trials`.
    fn words(&self, cost: &CostUnderLoad, unit: Unit) -> String {
        let between = |(low, high)| format!(", from {} to {}", unit.cost(low), unit.cost(high));
        let between = cost.ends.map(between).unwrap_or_default();
        let trials = things(cost.trials, "trial", "trials");
        format!("{}: {}{between}, {trials}", self.level(cost.rate), unit.cost(cost.value))
    }
}

/// A mark at each level, with a label where there is room.
fn ticks(costs: &[CostUnderLoad], x: &Axis) -> Vec<Tick> {
    let mut last = f64::NEG_INFINITY;
    let tick = |cost: &CostUnderLoad| {
        let (value, at) = (cost.rate as f64, x.place(cost.rate as f64));
        let labelled = at - last >= LABELS_APART;
        last = if labelled { at } else { last };
        Tick { value, at, labelled }
    };
    costs.iter().map(tick).collect()
}

/// Its cost at the largest n.
fn cost(entry: &RankingEntry, rate: u64) -> Option<CostUnderLoad> {
    let level = entry.levels.iter().rfind(|level| !level.limited);
    if let Some(level) = level {
        return Some(CostUnderLoad { rate, value: level.value, ends: None, trials: level.trials });
    }
    let verdict = entry.verdict.as_ref()?;
    let cost = verdict.cost_high;
    let ends = (cost.low.is_finite() && cost.high.is_finite()).then_some((cost.low.max(0.0), cost.high));
    Some(CostUnderLoad { rate, value: cost.value, ends, trials: verdict.trials })
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
        assert_eq!((found.of.as_str(), found.unit.as_str(), found.rates), ("cpu", "%", vec![0, 25, 50]));
        let found = levels(&[&["nice", OPTION, "cpu:5%,disk:0B/s"], &["nice", OPTION, "cpu:5%,disk:2MB/s"]]);
        assert_eq!(found.unwrap(), Levels { of: "disk".into(), unit: "MB/s".into(), rates: vec![0, 2] });
        let found = levels(&[&[OPTION, "memory:2G@1GB/s"], &[OPTION, "memory:2G@2GB/s"]]).unwrap();
        assert_eq!((found.of.as_str(), found.unit.as_str(), found.rates), ("memory:2G", "GB/s", vec![1, 2]));
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
