//! The phases of a job over n, stacked: the time for each unit of the work, and the share of each phase.

use std::io::{self, Write};

use judge::series::{median, sweeps};
use record::{Direction, JobPart, SeriesKey, SeriesKind, Unit, Workload};
use stats::Interval;

use super::svg::{Axis, Kind, Tick, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP};
use super::{Source, esc};
use crate::document::{Column, Table, page};
use crate::quantity::Quantity;
use crate::sentences::{capital, middle};
use crate::words::{count, percent, things};

/// Colours of layers in the style sheet; more layers than that repeat them.
const COLOURS: usize = 8;
/// The bars end here, and the names of the layers of the last one stand behind it.
const END: f64 = RIGHT - 84.0;
/// A bar's share of the room that it has, and its width at most.
const BAR_SHARE: f64 = 0.72;
const BAR_WIDTH_MAX: f64 = 72.0;
/// A layer that is at least so high has its name beside it.
const NAMED_FROM: f64 = 14.0;
/// Room that a label of n needs.
const LABEL_ROOM: f64 = 40.0;
/// Figures beyond which they are folded.
const OPEN_MOST: usize = 4;

/// The values of a series, level by level.
type Values = Vec<(u64, Interval)>;

/// The phases of one variant on one system.
struct Stack {
    variant: String,
    system: String,
    layers: Vec<Layer>,
    levels: Vec<u64>,
}

/// A phase: its value for each unit, at each level.
struct Layer {
    /// Its place among all phases of the workload, by which it has its colour.
    place: usize,
    name: String,
    values: Vec<Interval>,
}

impl Stack {
    /// The measured phases; `None` for less than two.
    fn of(source: &Source<'_>, workload: &Workload, variant: &str, system: &str) -> Option<Stack> {
        let mut measured: Vec<(usize, &SeriesKind, Values)> = Vec::new();
        for (place, kind) in parts(workload).enumerate().filter(|(_, kind)| kind.is_of(variant)) {
            let key = SeriesKey {
                system: system.to_owned(),
                workload: workload.name.clone(),
                variant: variant.to_owned(),
                name: kind.name.clone(),
                direction: Direction::Up,
            };
            let values = values(source, &key);
            if !values.is_empty() {
                measured.push((place, kind, values));
            }
        }
        let (.., first) = measured.first().filter(|_| measured.len() > 1)?;
        let value_at = |values: &[(u64, Interval)], n: u64| {
            values.iter().find(|(level, _)| *level == n).map(|(_, value)| *value)
        };
        // A bar without one of its layers would be too low.
        let is_whole = |n: &u64| measured.iter().all(|(.., values)| value_at(values, *n).is_some());
        let levels: Vec<u64> = first.iter().map(|(n, _)| *n).filter(is_whole).collect();
        let layer = |(place, kind, values): &(usize, &SeriesKind, Values)| {
            let of_level = |&n: &u64| value_at(values, n).map(|value| share(value, kind.part, n));
            let values = levels.iter().filter_map(of_level).collect();
            Layer { place: *place, name: kind.name.clone(), values }
        };
        let layers: Vec<Layer> = measured.iter().map(layer).collect();
        (!levels.is_empty()).then(|| Stack {
            variant: variant.to_owned(),
            system: system.to_owned(),
            layers,
            levels,
        })
    }

    fn total(&self, level: usize) -> f64 {
        self.layers.iter().map(|layer| layer.values[level].value).sum()
    }

    fn highest(&self) -> f64 {
        (0..self.levels.len()).map(|level| self.total(level)).fold(0.0, f64::max)
    }

    /// `small-files/durable on ext4`
    fn label(&self, workload: &Workload, systems: usize) -> String {
        let separator = if self.variant.is_empty() { "" } else { "/" };
        let system = if systems > 1 { format!(" on {}", self.system) } else { String::new() };
        format!("{}{separator}{}{system}", workload.name, self.variant)
    }

    /// A sentence about the largest n: `at n = 128: 41 µs, of which write 52 %, create 20 %`.
    fn sentence(&self) -> String {
        let Some(&n) = self.levels.last() else { return String::new() };
        let (level, total) = (self.levels.len() - 1, self.total(self.levels.len() - 1));
        let mut layers: Vec<&Layer> = self.layers.iter().collect();
        layers.sort_by(|a, b| b.values[level].value.total_cmp(&a.values[level].value));
        let said = |layer: &&Layer| format!("{} {}", layer.name, percent(layer.values[level].value / total));
        let said: Vec<String> = layers.iter().take(2).map(said).collect();
        format!("at n = {}: {}, of which {}", count(n), Unit::Seconds.cost(total), said.join(", "))
    }

    fn draw(&self, id: &str, label: &str, grows: &str, high: f64) -> String {
        let y = Axis::new(Kind::Linear, 0.0, 1.05 * high, BOTTOM, TOP);
        let mut svg = Svg::open_to(id, 0.0, END);
        svg.describe(&format!("Phases of {label} over {grows}"), &capital(&self.sentence()));
        svg.upright(&y, |tick| cost_label(tick.value, Unit::Seconds, &y));
        let room = (END - LEFT) / self.levels.len() as f64;
        let middle = |level: usize| LEFT + (level as f64 + 0.5) * room;
        let each = (LABEL_ROOM / room).ceil().max(1.0) as usize;
        let last = self.levels.len() - 1;
        let ticks: Vec<Tick> = (self.levels.iter().enumerate())
            .map(|(level, &n)| Tick {
                value: n as f64,
                at: middle(level),
                labelled: (last - level).is_multiple_of(each),
            })
            .collect();
        svg.level_of_n(&ticks, grows);
        let width = (BAR_SHARE * room).min(BAR_WIDTH_MAX);
        for level in 0..self.levels.len() {
            let x = middle(level) - width / 2.0;
            let mut below = 0.0;
            for layer in &self.layers {
                let value = layer.values[level].value;
                let (top, bottom) = (y.place(below + value), y.place(below));
                below += value;
                let said = format!(
                    "{} at n = {}: {}, {}",
                    layer.name,
                    count(self.levels[level]),
                    Unit::Seconds.cost(value),
                    percent(value / self.total(level))
                );
                svg.put(format_args!(
                    "<rect class=\"part {}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
                     height=\"{:.2}\"><title>{}</title></rect>",
                    colour(layer.place),
                    bottom - top,
                    esc(&said)
                ));
                if level == last && bottom - top >= NAMED_FROM {
                    svg.put(format_args!(
                        "<text class=\"name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                        x + width + 8.0,
                        (top + bottom) / 2.0 + 4.0,
                        esc(&layer.name)
                    ));
                }
            }
        }
        svg.close()
    }

    /// The same in numbers.
    fn table(&self) -> Table {
        let layers = self.layers.iter().map(|layer| Column::from(layer.name.as_str()));
        let columns = std::iter::once("n".into()).chain(layers).chain(["together".into()]).collect();
        let mut table = Table { class: "facts", ..Table::of_columns(columns) };
        for (level, &n) in self.levels.iter().enumerate() {
            let value = |layer: &Layer| Unit::Seconds.estimate_with_interval(layer.values[level]);
            let total = Unit::Seconds.cost(self.total(level));
            let cells = std::iter::once(count(n)).chain(self.layers.iter().map(value)).chain([total]);
            table.push(cells.collect::<Vec<String>>());
        }
        table
    }
}

/// The values of a series at its levels: as it was judged, or the medians where there are too few trials.
fn values(source: &Source<'_>, key: &SeriesKey) -> Values {
    let judged = source.findings.series.iter().find(|finding| finding.key == *key);
    if let Some(verdict) = judged.and_then(|finding| finding.verdict.as_ref()) {
        let blocks = verdict.blocks.iter().filter(|block| block.cost.value.is_finite());
        return blocks.map(|block| (middle(block) as u64, block.cost)).collect();
    }
    let mut levels: std::collections::BTreeMap<u64, Vec<f64>> = std::collections::BTreeMap::new();
    for sweep in sweeps(source.recording, key) {
        for (place, &value) in sweep.values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            levels.entry(sweep.n(place)).or_default().push(value);
        }
    }
    let median =
        |values: Vec<f64>| Interval { value: median(values.into_iter()), low: f64::NAN, high: f64::NAN };
    levels.into_iter().map(|(n, values)| (n, median(values))).collect()
}

/// The part of a phase in the time for each unit.
fn share(value: Interval, part: Option<JobPart>, n: u64) -> Interval {
    let units = if part == Some(JobPart::OfAll) { n.max(1) as f64 } else { 1.0 };
    Interval { value: value.value / units, low: value.low / units, high: value.high / units }
}

/// The phases of a workload, in their order.
fn parts(workload: &Workload) -> impl Iterator<Item = &SeriesKind> {
    workload.series.iter().filter(|kind| kind.part.is_some())
}

fn colour(place: usize) -> String {
    format!("p{}", place % COLOURS)
}

/// Writes the figures of a workload whose phases were measured. Those of one variant have one axis on all
/// systems.
pub(super) fn write(source: &Source<'_>, workload: &Workload, out: &mut dyn Write) -> io::Result<()> {
    let systems = &source.findings.systems;
    let of_variant = |variant: &record::Variant| -> Vec<Stack> {
        let of_system = |system: &record::System| Stack::of(source, workload, &variant.name, &system.name);
        systems.iter().filter_map(of_system).collect()
    };
    let stacks: Vec<Vec<Stack>> = workload.variants.iter().map(of_variant).collect();
    let all = stacks.iter().flatten().count();
    if all == 0 {
        return Ok(());
    }
    let open = if all <= OPEN_MOST { " open" } else { "" };
    let axes = if systems.len() > 1 { " The axis of a variant is the same on all systems." } else { "" };
    let is_drawn = |(place, _): &(usize, &SeriesKind)| {
        stacks.iter().flatten().any(|stack| stack.layers.iter().any(|layer| layer.place == *place))
    };
    let key = |(place, kind): (usize, &SeriesKind)| {
        format!("<span><b class=\"key part {}\"></b>{}</span>", colour(place), esc(&kind.name))
    };
    let keys: String = parts(workload).enumerate().filter(is_drawn).map(key).collect();
    writeln!(
        out,
        "<details class=\"phases\"{open}><summary>Phases, stacked: {}</summary>\
         <p class=\"remark\">A bar is the time for each unit of the work at that n. Its layers are the \
         phases, the first at the bottom.{axes}</p><p class=\"legend\">{keys}</p><div class=\"grid2\">",
        things(all, "figure", "figures")
    )?;
    for (i, of_variant) in stacks.iter().enumerate() {
        let high = of_variant.iter().map(Stack::highest).fold(0.0, f64::max);
        for (j, stack) in of_variant.iter().enumerate() {
            let label = stack.label(workload, systems.len());
            let id = format!("stack-{}-{i}-{j}", esc(&workload.name));
            writeln!(
                out,
                "<div><p class=\"panel\">{}</p>{}<details><summary>Numbers</summary>",
                esc(&format!("{label}, {}", stack.sentence())),
                stack.draw(&id, &label, &workload.grows, high)
            )?;
            page::blocks(&[stack.table().into()], 4, out)?;
            writeln!(out, "</details></div>")?;
        }
    }
    writeln!(out, "</div></details>")
}
