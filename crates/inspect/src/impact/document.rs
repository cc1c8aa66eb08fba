//! The answer as a document: the conclusion first, then the shares on all paths, each cost, and other
//! paths.
//!
//! The shares are a picture too: one line for each path, on a logarithmic axis, because they lie six powers
//! of ten apart.

use std::fmt::Write;

use report::document::{Assets, Column, Document, Figure, Fold, Row, Section, Table, Text, Tone};
use report::html::esc;
use report::quantity::{duration, time, time_with_interval};
use report::words::{about, amount_with_interval, count, share_with_interval};
use stats::Interval;

use super::{CapacityEffect, CostImpact, Impact, ImpactAnswer, PathPart, UserShare};

/// Costs that are shown unless all are wanted.
const COSTS_MAX: usize = 10;
/// In the place of a share that does not exist.
const NOTHING: &str = "—";

impl ImpactAnswer {
    /// The answer as a document.
    pub fn document(&self) -> Document {
        let mut document = Document {
            title: "Does it matter?".into(),
            over: vec!["osdyno impact".into()],
            assets: Assets { style: STYLE, script: "" },
            ..Document::default()
        };
        self.conclusion().into_iter().for_each(|sentence| document.say(sentence));
        document.blocks.extend(self.figure().map(Into::into));
        document.push(self.path());
        document.push(self.costs());
        document.blocks.extend(self.capacity().map(Into::into));
        document.blocks.extend(self.exchanges().map(Into::into));
        document.push(self.elsewhere());
        document.push(reading());
        document
    }

    /// The answer in two or three sentences.
    fn conclusion(&self) -> Vec<Text> {
        let Some(main) = self.impact.main() else { return Vec::new() };
        let of_response =
            main.response.map(|share| format!("{} of a response", share_with_interval(share.gain)));
        let of_transfer = main
            .transfer
            .map(|share| format!("{} of a transfer of {}", share_with_interval(share.gain), self.size()));
        let gains: Vec<String> = of_response.into_iter().chain(of_transfer).collect();
        let on = if self.path.is_typed { "on this path" } else { "behind fibre to the home" };
        let claim = match gains.as_slice() {
            [] => {
                " is paid for bytes, and the path has no rate: give a part one, such as lan 1gbit.".to_owned()
            }
            gains => {
                format!(": a system twice as fast gains a user {on} at most {}.", gains.join(", and "))
            }
        };
        let mut sentences = vec![Text::toned(self.impact.label(main), Tone::Strong).and(claim)];
        let Some(capacity) = main.capacity else { return sentences };
        let from = amount_with_interval(capacity.matters_from);
        sentences.push(format!("At {from} responses per second or more it saves a core.").into());
        if let Some(rate) = capacity.at_rate {
            let money = rate.money_saved.map(|money| format!(", worth {}", amount_with_interval(money)));
            let sentence = format!(
                "At {} per second it occupies {} cores and would save {}{}.",
                about(rate.per_second),
                amount_with_interval(rate.cores),
                amount_with_interval(rate.saved),
                money.unwrap_or_default()
            );
            sentences.push(sentence.into());
        }
        sentences
    }

    fn size(&self) -> String {
        format!("{} MB", about((self.transfer_bytes / 1e6).max(1.0)))
    }

    fn figure(&self) -> Option<Figure> {
        let svg = picture_of_shares(self)?;
        let main = self.impact.main().map(|main| self.impact.label(main)).unwrap_or_default();
        let caption = format!(
            "{main}: filled in the time of a response, hollow in that of a transfer of {}. A system twice as \
             fast gains half of the share at most.",
            self.size()
        );
        Some(Figure {
            title: "The share of the operating system on each path".into(),
            svg,
            captions: vec![caption.into()],
            ..Figure::default()
        })
    }

    fn path(&self) -> Section {
        let path = &self.path;
        let mut section =
            Section::new(if path.is_typed { "The path" } else { "The path: fibre to the home" });
        let mut table = Table { class: "facts", ..Table::new(["part", "delay", "rate"]) };
        for PathPart { name, delay_seconds, bits_per_second } in &path.parts {
            let delay = delay_seconds.map(time).unwrap_or_default();
            table.push([name.clone(), delay, bits_per_second.map(rate).unwrap_or_default()]);
        }
        section.push(table);
        let whole = time(path.delay_seconds);
        section.say(match (&path.bottleneck, path.transfer_seconds) {
            (Some(slowest), Some(transfer)) => format!(
                "In total {whole} for a response, and {} for {} through {slowest}, the slowest part.",
                duration(transfer),
                self.size()
            ),
            _ => format!("In total {whole} for a response."),
        });
        section
    }

    fn costs(&self) -> Section {
        let transfer = format!("share of {}", self.size());
        let headings = ["time", "share of a response", transfer.as_str()].map(Column::number);
        let mut table = self.table_of_costs(headings);
        for one in self.impact.all() {
            let taken = one.response.or(one.transfer).map(|share| share.system_seconds);
            let taken = taken.unwrap_or_else(|| one.cost.of(self.transfer_bytes));
            let share = |share: Option<UserShare>| {
                share.map_or(NOTHING.to_owned(), |one| share_with_interval(one.share))
            };
            table.push([
                self.impact.label(one),
                time_with_interval(taken),
                share(one.response),
                share(one.transfer),
            ]);
        }
        let mut section = Section::new("Costs");
        section.push(table);
        section
    }

    /// A table with a row for each cost, the largest first.
    fn table_of_costs(&self, columns: impl IntoIterator<Item = Column>) -> Table {
        let columns = [Column::from("cost")].into_iter().chain(columns).collect();
        let together = self.impact.together.iter().count();
        Table { rows_max: COSTS_MAX + together, more: ": --verbose", ..Table::of_columns(columns) }
    }

    fn capacity(&self) -> Option<Section> {
        let effects = self.impact.all().filter_map(|one| Some((one, one.capacity?)));
        let effects: Vec<(&CostImpact, CapacityEffect)> = effects.collect();
        let (_, first) = effects.first()?;
        let mut headings = vec!["per second and core", "twice as fast saves a core from"];
        headings.extend(first.at_rate.iter().flat_map(|_| ["cores", "cores saved"]));
        headings.extend(first.at_rate.and_then(|rate| rate.money_saved).map(|_| "money saved"));
        let mut table = self.table_of_costs(headings.into_iter().map(Column::number));
        for (one, effect) in effects {
            let cores = effect.at_rate.iter().flat_map(|rate| [rate.cores, rate.saved]);
            let money = effect.at_rate.and_then(|rate| rate.money_saved);
            let cells = [effect.per_core, effect.matters_from].into_iter().chain(cores).chain(money);
            let cells = cells.map(amount_with_interval);
            table.push([self.impact.label(one)].into_iter().chain(cells).collect::<Vec<_>>());
        }
        let mut section = Section::new("Capacity");
        section.push(table);
        Some(section)
    }

    fn exchanges(&self) -> Option<Section> {
        let mut table = Table::of_columns(vec![
            "cost".into(),
            "systems".into(),
            Column::number("gain of a response"),
            Column::number("of a transfer"),
        ]);
        for one in &self.impact.exchanges {
            let gain = |gain: Option<Interval>| gain.map_or(NOTHING.to_owned(), share_with_interval);
            let systems = format!("{} → {}", one.from, one.to);
            let [response, transfer] = [one.response, one.transfer].map(gain);
            let sentence =
                format!("{}, {systems}: {response} of a response, {transfer} of a transfer", one.name);
            let row = Row::from([one.name.clone(), systems, response, transfer]);
            table.push(Row { sentence: Some(sentence.into()), ..row });
        }
        let mut section = Section::new("From one system to another");
        let is_empty = table.rows.is_empty();
        section.push(table);
        (!is_empty).then_some(section)
    }

    fn elsewhere(&self) -> Section {
        let transfer = format!("of a transfer of {}", self.size());
        let headings = ["of a response", transfer.as_str()].map(Column::number);
        let mut table = Table::of_columns([Column::from("path")].into_iter().chain(headings).collect());
        for other in &self.other_paths {
            let gain = |share: Option<UserShare>| {
                share.map_or(NOTHING.to_owned(), |one| share_with_interval(one.gain))
            };
            let [response, of_transfer] = [other.response, other.transfer].map(gain);
            let sentence = format!("{}: {response} of a response, {of_transfer} {transfer}", other.name);
            let row = Row::from([other.name.to_owned(), response, of_transfer]);
            table.push(Row { sentence: Some(sentence.into()), ..row });
        }
        let mut section = Section::new("A system twice as fast gains at most");
        section.push(table);
        section
    }
}

impl Impact {
    /// Those that are shown: all together, then each.
    fn all(&self) -> impl Iterator<Item = &CostImpact> {
        self.together.iter().chain(&self.costs)
    }

    /// The name of a cost, with its system where there are several.
    fn label(&self, one: &CostImpact) -> String {
        let cost = &one.cost;
        let is_of_one_system = self.costs.iter().all(|other| other.cost.system == cost.system);
        let times = if cost.times == 1.0 { String::new() } else { format!("{} × ", cost.times) };
        let at = cost.n.map(|n| format!(" at n = {}", count(n))).unwrap_or_default();
        let on = match is_of_one_system || cost.system.is_empty() {
            true => String::new(),
            false => format!(" on {}", cost.system),
        };
        format!("{times}{}{at}{on}", cost.name)
    }
}

/// A rate in the unit that fits it.
fn rate(bits_per_second: f64) -> String {
    match bits_per_second {
        rate if rate >= 1e9 => format!("{} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{} Mbit/s", rate / 1e6),
        rate => format!("{} kbit/s", rate / 1e3),
    }
}

fn reading() -> Fold {
    let share = "A share is the part of the operating system in the time that a user waits, as if nothing of \
                 it happened at the same time as anything else: an upper bound. A system twice as fast gains \
                 half of that (Amdahl). Intervals are those of the trials of the run, at 95 %; those of sums \
                 are wider.";
    let transfer = "A transfer is as fast as the slowest part of the path. The figures of other paths are \
                    typical ones, rounded to one digit.";
    Fold {
        title: "How to read this".into(),
        blocks: vec![Text::from(share).into(), Text::from(transfer).into()],
        is_open: true,
        ..Fold::default()
    }
}

/// How a picture is laid out.
struct Layout {
    /// Its class and the id of its title.
    class: &'static str,
    width: f64,
    /// Room for names and values beside the axis.
    left: f64,
    right: f64,
    /// The height of a line.
    line: f64,
    /// Every so many powers of ten have a label.
    labelled: i32,
    /// From the middle of a line down to where its points are, and up to its words.
    points: f64,
    words: f64,
}

/// For a page of full width: a line is a name, its points and its shares.
const WIDE: Layout = Layout {
    class: "plot shares-wide",
    width: 1000.0,
    left: 250.0,
    right: 190.0,
    line: 30.0,
    labelled: 1,
    points: 0.0,
    words: -4.0,
};
/// For a narrow screen: name and shares stand above the points.
const NARROW: Layout = Layout {
    class: "plot shares-narrow",
    width: 400.0,
    left: 16.0,
    right: 16.0,
    line: 54.0,
    labelled: 2,
    points: 10.0,
    words: 6.0,
};
const TOP: f64 = 34.0;
/// The class that selects one of both.
const STYLE: &str = ".shares-narrow { display: none; }
@media screen and (max-width: 820px) {
  .shares-wide { display: none; } .shares-narrow { display: block; }
  .plot.shares-narrow text { font-size: 13px; } .plot.shares-narrow text.value { text-anchor: end; }
}";
/// The axis begins at a ten-thousandth of a percent.
const LEAST: f64 = 1e-6;

/// A line of the picture: a path, with the shares of the main cost in a response and in a transfer.
struct Strip {
    name: &'static str,
    response: Option<UserShare>,
    transfer: Option<UserShare>,
    is_asked: bool,
}

impl Strip {
    /// The shares that are drawn: of a response, then of a transfer.
    fn shares(&self) -> impl Iterator<Item = Interval> + use<> {
        [self.response, self.transfer].into_iter().flatten().map(|share| share.share)
    }

    fn value(&self) -> f64 {
        self.shares().next().map_or(0.0, |share| share.value)
    }
}

/// The picture, for a wide and for a narrow page; `None` without a cost.
fn picture_of_shares(answer: &ImpactAnswer) -> Option<String> {
    let main = answer.impact.main().filter(|_| answer.path.is_typed);
    let asked = main.map(|main| Strip {
        name: "this path",
        response: main.response,
        transfer: main.transfer,
        is_asked: true,
    });
    let others = answer.other_paths.iter().map(|other| Strip {
        name: other.name,
        response: other.response,
        transfer: other.transfer,
        is_asked: false,
    });
    let mut strips: Vec<Strip> = asked.into_iter().chain(others).collect();
    strips.retain(|strip| strip.shares().next().is_some());
    strips.sort_by(|one, other| other.value().total_cmp(&one.value()));
    let least = strips.iter().flat_map(Strip::shares).map(|share| share.value).min_by(f64::total_cmp)?;
    let low = least.clamp(LEAST, 0.1).log10().floor();
    Some([WIDE, NARROW].map(|layout| Axis { low, layout }.picture(&strips)).concat())
}

/// Shares from left to right, by powers of ten up to all of it.
struct Axis {
    low: f64,
    layout: Layout,
}

impl Axis {
    fn picture(&self, strips: &[Strip]) -> String {
        let Layout { class, width, line, .. } = self.layout;
        let height = TOP + line * strips.len() as f64 + 12.0;
        let mut svg = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>The share of the \
             operating system in the time that a user waits, by path</title>"
        );
        self.draw(&mut svg, height);
        for (place, strip) in strips.iter().enumerate() {
            self.line(&mut svg, strip, TOP + line * (place as f64 + 0.5));
        }
        svg.push_str("</svg>");
        svg
    }

    fn x(&self, share: f64) -> f64 {
        let place = (share.max(LEAST).log10() - self.low) / -self.low;
        let Layout { width, left, right, .. } = self.layout;
        left + place.clamp(0.0, 1.0) * (width - left - right)
    }

    fn draw(&self, svg: &mut String, height: f64) {
        let mut power = self.low as i32;
        while power <= 0 {
            let x = self.x(10f64.powi(power));
            let _ = write!(svg, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{:.1}\"/>", height - 12.0);
            // Counted from 100 %, on a narrow page every second one.
            if power % self.layout.labelled == 0 {
                let y = TOP - 10.0;
                let _ =
                    write!(svg, "<text class=\"x\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", power_of_ten(power));
            }
            power += 1;
        }
    }

    fn line(&self, svg: &mut String, strip: &Strip, y: f64) {
        let class = if strip.is_asked { "c2" } else { "c1" };
        let name = if strip.is_asked { " name" } else { "" };
        let Layout { width, left, right, points, words, .. } = self.layout;
        let is_beside = points == 0.0;
        // Names end where the axis begins, or stand above it.
        let (anchor, x, end) =
            if is_beside { ("y", left - 14.0, width - right + 16.0) } else { ("of-line", 0.0, width) };
        let _ = write!(
            svg,
            "<text class=\"{anchor}{name}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\
             <g class=\"contender {class}\">",
            y - words,
            esc(strip.name)
        );
        for (share, class) in [(strip.transfer, "hollow"), (strip.response, "knot")] {
            let Some(UserShare { share, .. }) = share else { continue };
            let (x, y) = (self.x(share.value), y + points);
            self.whisker(svg, share, y);
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
        }
        let words_of: Vec<String> = strip.shares().map(|share| share_with_interval(exact(share))).collect();
        let _ = write!(
            svg,
            "</g><text class=\"value\" x=\"{end:.1}\" y=\"{:.1}\">{}</text>",
            y - words,
            esc(&words_of.join(" · "))
        );
    }

    fn whisker(&self, svg: &mut String, share: Interval, y: f64) {
        if share.low < share.high && share.high.is_finite() {
            let (low, high) = (self.x(share.low), self.x(share.high));
            let _ = write!(svg, "<path class=\"end\" d=\"M{low:.1} {y:.1}H{high:.1}\"/>");
        }
    }
}

/// A share as percent: `10 %`, `0.1 %`.
fn power_of_ten(power: i32) -> String {
    let (percent, digits) = (10f64.powi(power + 2), usize::try_from(-power - 2).unwrap_or(0));
    format!("{percent:.digits$}\u{202f}%")
}

/// Without its interval, which the whisker shows.
fn exact(share: Interval) -> Interval {
    Interval { low: share.value, high: share.value, ..share }
}
