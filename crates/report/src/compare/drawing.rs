//! Drawings of a comparison: a ratio with its interval as a strip, all strips with their answers as a picture
//! that stands alone, and cost over load.
//!
//! Cost over load is for systems that are one system under several levels of a background: each series has a
//! line over these levels.

use std::fmt::Write as _;
use std::io::{self, Write};

use judge::compare::{Comparison, Ranking, RankingEntry, Ratio};
use record::Unit;
use stats::Interval;

use super::lines::{self, Drawn, Line};
use super::words;
use crate::html::esc;
use crate::html::sheet::{BOLD, EDGE, SAYS, SOFT, Sheet, TITLE, Type};
use crate::html::svg::{Axis, BOTTOM, Kind, LEFT, RIGHT, Svg, TOP, Tick, cost_label, within};
use crate::html::tracks::{style, swatch};
use crate::quantity::Quantity;
use crate::sentences::{capital, sentence, wanted};
use crate::words::{percent, things};

/// Width and height of a strip.
const STRIP: (f64, f64) = (360.0, 26.0);
/// The two ends of the axis.
pub(crate) const ENDS: (f64, f64) = (12.0, STRIP.0 - 12.0);
/// Ratios so many times further than most are shown as an arrow at the edge.
const FAR: f64 = 1.6;
/// The axis goes no further than this.
const WIDEST: f64 = 200.0;

/// Ratios beside the axis; those that fit are taken.
const RATIOS: [f64; 28] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0,
    10.0, 20.0, 50.0, 100.0, 200.0, 1e3, 1e4, 1e5, 1e6,
];

/// Labels of the axis are at least so far apart.
const APART: f64 = 38.0;
/// Width of the content of a picture.
const WIDTH: f64 = 1072.0;
/// Where the columns begin: series, contender, strip, answer.
const COLUMNS: [f64; 4] = [EDGE, EDGE + 172.0, EDGE + 320.0, EDGE + 320.0 + STRIP.0 + 24.0];
/// Height of the axis above the strips.
const AXIS: f64 = 18.0;
/// From a strip to the words beside it.
const BASE: f64 = 2.0;
/// The option that names a level, before the level; both are at the end of a system's name.
const OPTION: &str = "--background";
/// Labels of levels are at least so far apart, at the larger type of a narrow screen.
const LABELS_APART: f64 = 52.0;
/// Room above the highest cost.
const HEADROOM: f64 = 1.08;

/// The meaning of the strips.
pub(super) fn shown(compared: &Comparison) -> String {
    let reference = match &compared.workload {
        Some(_) => "the best",
        None => words::reference(compared),
    };
    let rates = compared.rankings.iter().any(|row| row.unit.more_is_better());
    let memory = compared.rankings.iter().any(|row| row.unit == Unit::Bytes);
    format!(
        "Time per operation{}{}, divided by that of {reference}. Left of 1 is faster{}. The grey band is \
         ±{}, or the noise floor of a series if that is wider: differences inside it do not matter.",
        if rates { ", also for rates" } else { "" },
        if memory { ", or memory" } else { "" },
        if memory { ", or less" } else { "" },
        percent(compared.margin)
    )
}

/// An axis that has room for all ratios but a few far ones, alike to both sides.
pub(super) fn axis(compared: &Comparison) -> Axis {
    let entries = compared.rankings.iter().flat_map(|ranking| ranking.others());
    let ratios = entries.filter_map(RankingEntry::ratio).map(|ratio| ratio.comparison.ratio);
    let ratios = ratios.chain(compared.means.iter().flatten().map(|mean| mean.ratio));
    let mut reaches: Vec<f64> =
        ratios.map(|ratio| ratio.high.max(1.0 / ratio.low)).filter(|reach| reach.is_finite()).collect();
    reaches.sort_by(f64::total_cmp);
    let most = reaches.last().copied().unwrap_or(1.0);
    let usual = reaches.get(reaches.len().saturating_sub(1) * 3 / 4).copied().unwrap_or(1.0);
    let widest = if most > FAR * usual { FAR.min(1.5) * usual } else { most };
    let widest = 1.03 * widest.max(1.0 + 2.0 * compared.margin).clamp(1.1, WIDEST);
    Axis::new(Kind::Log, 1.0 / widest, widest, ENDS.0, ENDS.1)
}

/// The labels of the axis.
pub(crate) fn labels(axis: &Axis) -> String {
    let mut svg = format!("<svg class=\"ratio\" viewBox=\"0 0 {} 18\" aria-hidden=\"true\">", STRIP.0);
    let mut right = f64::NEG_INFINITY;
    // One stands first, the others where there is room beside it.
    let one = axis.place(1.0);
    for ratio in RATIOS.into_iter().filter(|r| *r >= axis.low && *r <= axis.high) {
        let at = axis.place(ratio);
        let is_one = (ratio - 1.0).abs() < 1e-9;
        if !is_one && ((at - one).abs() < APART || at - right < APART) {
            continue;
        }
        right = at;
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"13\">{ratio}</text>");
    }
    svg + "</svg>"
}

/// The strip of a line; empty where it has no ratio.
pub(super) fn draw(axis: &Axis, line: &Line<'_>) -> String {
    let (behind, mark) = match line.drawn {
        Drawn::Nothing => return String::new(),
        Drawn::Ratio(ratio) => of_ratio(axis, ratio, line.contender),
        Drawn::Mean(ratio) => (String::new(), of_mean(axis, ratio)),
    };
    let (width, height) = STRIP;
    format!(
        "<svg class=\"ratio\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{behind}\
         <path class=\"one\" d=\"M{:.1} 0V{height}\"/><g class=\"{}\">{mark}</g></svg>",
        esc(&line.answer),
        axis.place(1.0),
        style(line.contender)
    )
}

/// The strip of a growth, in a tone of words, with its text for screen readers.
pub(crate) fn of_growth(axis: &Axis, ratio: Interval, margin: f64, (tone, said): (&str, &str)) -> String {
    let place = |ratio: f64| axis.place(ratio.clamp(axis.low, axis.high));
    let (width, height) = STRIP;
    format!(
        "<svg class=\"ratio\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{}\
         <path class=\"one\" d=\"M{:.1} 0V{height}\"/><g class=\"{tone}\">{}<circle cx=\"{:.1}\" cy=\"{}\" \
         r=\"3.8\"/></g></svg>",
        esc(said),
        band(axis, margin),
        place(1.0),
        whisker(place(ratio.low), place(ratio.high)),
        place(ratio.value),
        height / 2.0
    )
}

/// Every ratio with its interval, as an SVG file that loads nothing and has its own paper, light or dark.
pub fn picture(compared: &Comparison) -> String {
    let mut sheet = Sheet::new(WIDTH);
    let title = words::title(compared);
    let summary = sentence(&words::summary(compared));
    sheet.paragraph(TITLE, &title);
    sheet.paragraph(SAYS, &summary);
    sheet.paragraph(SOFT, &shown(compared));
    let axis = axis(compared);
    heading(&labels(&axis), &mut sheet);
    let mut said = vec![summary];
    let mut series = String::new();
    for line in lines::of(compared) {
        let name = &compared.contenders[line.contender].name;
        let is_first = std::mem::replace(&mut series, line.series.clone()) != line.series;
        if is_first {
            hair(&mut sheet);
        }
        said.push(sentence(&format!("{}, {name}: {}", line.series, line.answer)));
        draw_line((if is_first { &line.series } else { "" }, name), &line, &draw(&axis, &line), &mut sheet);
    }
    sheet.close(&title, &said.join(" "))
}

/// Draws every series over the levels; nothing where the systems differ in something else.
pub(super) fn write_over_load(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let prefixes = compared.contenders.iter().map(|contender| contender.system.prefix.as_slice());
    let Some(levels) = LoadLevels::of(&prefixes.collect::<Vec<_>>()) else { return Ok(()) };
    writeln!(
        out,
        "<section id=\"over-load\"><h2>Cost over load</h2><p class=\"remark\">The cost at the largest n at \
         each level of the background {}, each with its 95&nbsp;% interval by itself. Whether levels differ \
         is decided by the ratios above, which compare trials in pairs.</p><div class=\"grid2\">",
        esc(&levels.of)
    )?;
    for (i, ranking) in compared.rankings.iter().enumerate() {
        let Some(svg) = levels.draw(&format!("load{i}"), ranking) else { continue };
        writeln!(out, "<figure><h3>{}</h3>{svg}</figure>", esc(&ranking.label))?;
    }
    writeln!(out, "</div></section>")
}

/// Differences inside it do not matter.
fn band(axis: &Axis, margin: f64) -> String {
    let place = |ratio: f64| axis.place(ratio.clamp(axis.low, axis.high));
    let (low, high) = (place(1.0 / (1.0 + margin)), place(1.0 + margin));
    format!(
        "<rect class=\"margin\" x=\"{low:.1}\" y=\"0\" width=\"{:.1}\" height=\"{}\"/>",
        high - low,
        STRIP.1
    )
}

/// An interval.
fn whisker(from: f64, to: f64) -> String {
    let (middle, top) = (STRIP.1 / 2.0, STRIP.1 / 2.0 - 3.0);
    format!("<path class=\"whisker\" d=\"M{from:.1} {middle}H{to:.1}M{from:.1} {top}v6M{to:.1} {top}v6\"/>")
}

/// The band of the margin, and the mark with its interval.
fn of_ratio(axis: &Axis, ratio: &Ratio, contender: usize) -> (String, String) {
    let (margin, ratio) = (ratio.comparison.margin, ratio.comparison.ratio);
    let middle = STRIP.1 / 2.0;
    let place = |r: f64| axis.place(r.clamp(axis.low, axis.high));
    let (from, at, to) = (place(ratio.low), place(ratio.value), place(ratio.high));
    let beyond = ratio.value > axis.high || ratio.value < axis.low;
    let mark = match contender % 4 {
        // Beyond the axis: an arrow at its end.
        _ if ratio.value > axis.high => format!("<path d=\"M{:.1} {}l7 5l-7 5z\"/>", at + 2.0, middle - 5.0),
        _ if ratio.value < axis.low => format!("<path d=\"M{:.1} {}l-7 5l7 5z\"/>", at - 2.0, middle - 5.0),
        1 => format!("<circle cx=\"{at:.1}\" cy=\"{middle}\" r=\"3.4\"/>"),
        2 => format!("<rect x=\"{:.1}\" y=\"{}\" width=\"8\" height=\"8\"/>", at - 4.0, middle - 4.0),
        3 => format!("<path d=\"M{at:.1} {}l5 8h-10z\"/>", middle - 5.0),
        _ => format!("<path d=\"M{at:.1} {}l5 5l-5 5l-5-5z\"/>", middle - 5.0),
    };
    let whisker = if beyond { String::new() } else { whisker(from, to) };
    (band(axis, margin), format!("{whisker}{mark}"))
}

/// A lozenge as wide as the interval, the usual mark of a summary.
fn of_mean(axis: &Axis, ratio: Interval) -> String {
    let middle = STRIP.1 / 2.0;
    let place = |r: f64| axis.place(r.clamp(axis.low, axis.high));
    let (from, at, to) = (place(ratio.low), place(ratio.value), place(ratio.high));
    let (top, bottom) = (middle - 6.0, middle + 6.0);
    format!("<path d=\"M{from:.1} {middle}L{at:.1} {top}L{to:.1} {middle}L{at:.1} {bottom}z\"/>")
}

/// The names of the columns, and the axis of the ratios.
fn heading(axis: &str, sheet: &mut Sheet) {
    let y = sheet.y + 10.0;
    for (x, name) in COLUMNS.into_iter().zip(["Series", "Contender", "", "Answer"]) {
        sheet.words((x, y, WIDTH), SOFT, name);
    }
    sheet.place(axis, (COLUMNS[2], y + 3.0), (STRIP.0, AXIS));
    sheet.y = y + AXIS + 8.0;
}

/// A hair between two series.
fn hair(sheet: &mut Sheet) {
    sheet.put(&format!("<path class=\"hair\" d=\"M{EDGE} {:.1}h{WIDTH}\"/>", sheet.y));
    sheet.y += 8.0;
}

/// One contender in one series.
fn draw_line((series, name): (&str, &str), line: &Line<'_>, strip: &str, sheet: &mut Sheet) {
    let top = sheet.y;
    let at = |column: usize, of: Type, words: &str, sheet: &mut Sheet| {
        let right = COLUMNS.get(column + 1).map_or(EDGE + WIDTH, |next| next - 12.0);
        let x = COLUMNS[column] + if column == 1 { 36.0 } else { 0.0 };
        sheet.words((x, top + BASE, right - x), of, words)
    };
    let mut end = at(0, BOLD, series, sheet).max(at(1, SAYS, name, sheet));
    sheet.place(&swatch(line.contender), (COLUMNS[1], top + 9.0), (28.0, 8.0));
    if !strip.is_empty() {
        sheet.place(strip, (COLUMNS[2], top), STRIP);
    }
    end = end.max(at(3, SAYS, &line.answer, sheet));
    let place = line.rank.as_ref().map(|rank| format!("place {rank}"));
    for words in [&line.overall, &place, &line.note].into_iter().flatten() {
        let x = COLUMNS[3];
        end = sheet.words((x, end, EDGE + WIDTH - x), SOFT, &capital(words));
    }
    sheet.y = end + 6.0;
}

/// The load of the levels, the unit, and the rate of each system: `cpu`, `%`, and 0, 25, 50.
#[derive(Debug, PartialEq)]
struct LoadLevels {
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

impl LoadLevels {
    /// For systems whose names differ only in the rate of one load.
    fn of(prefixes: &[&[String]]) -> Option<LoadLevels> {
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
        rates.iter().all(is_alike).then(|| LoadLevels {
            of,
            unit,
            rates: rates.iter().map(|(_, rate, _)| *rate as u64).collect(),
        })
    }

    /// The costs of a series, by rising rate.
    fn costs(&self, ranking: &Ranking) -> Vec<CostUnderLoad> {
        let of_level = |(place, &rate): (usize, &u64)| {
            cost_under_load(ranking.standings.iter().find(|entry| entry.place == place)?, rate)
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
fn cost_under_load(entry: &RankingEntry, rate: u64) -> Option<CostUnderLoad> {
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

    fn levels(systems: &[&[&str]]) -> Option<LoadLevels> {
        let owned: Vec<Vec<String>> =
            systems.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect();
        LoadLevels::of(&owned.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn systems_that_differ_in_one_rate_are_levels() {
        let found = levels(&[&[OPTION, "cpu:0%"], &[OPTION, "cpu:25%"], &[OPTION, "cpu:50%"]]).unwrap();
        assert_eq!((found.of.as_str(), found.unit.as_str(), found.rates), ("cpu", "%", vec![0, 25, 50]));
        let found = levels(&[&["nice", OPTION, "cpu:5%,disk:0B/s"], &["nice", OPTION, "cpu:5%,disk:2MB/s"]]);
        assert_eq!(found.unwrap(), LoadLevels { of: "disk".into(), unit: "MB/s".into(), rates: vec![0, 2] });
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
