//! The answer as a document: the conclusion first, then the shares on all paths, each cost, and other paths.

use report::document::{Assets, Column, Document, Figure, Fold, Row, Section, Table, Text, Tone};
use report::quantity::{duration, time, time_with_interval};
use report::words::{about, amount_with_interval, count, share_with_interval};
use stats::Interval;

use super::{CapacityEffect, CostImpact, Impact, ImpactAnswer, PathPart, UserShare, picture};

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
            assets: Assets { style: picture::STYLE, script: "" },
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
        let of_response = main.response.map(|share| format!("{} of a response", percent(share.gain)));
        let of_transfer =
            main.transfer.map(|share| format!("{} of a transfer of {}", percent(share.gain), self.size()));
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
        let svg = picture::draw(self)?;
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
            let share = |share: Option<UserShare>| share.map_or(NOTHING.to_owned(), |one| percent(one.share));
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
            let gain = |gain: Option<Interval>| gain.map_or(NOTHING.to_owned(), percent);
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
            let gain = |share: Option<UserShare>| share.map_or(NOTHING.to_owned(), |one| percent(one.gain));
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

fn percent(share: Interval) -> String {
    share_with_interval(share)
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
