//! How throughput follows the number of workers: the tables of the screen with all rows, one picture of all
//! operations, and for those that were measured with several numbers of workers one of their speed-up.
//!
//! In the picture of all each operation has a row, and each variant a mark there: the work of each of the
//! most workers, over that of one alone.

use std::collections::BTreeSet;

use judge::compare::LevelValue;
use judge::series::median;
use judge::{Finding, Findings};
use record::{Recording, SeriesKey, System, Unit, Workload};
use stats::{Scaling, ScalingLaw, Speedup};

use super::sheet::{EDGE, SAYS, SOFT, Sheet, TITLE};
use super::svg::{Axis, Kind, factor_label};
use super::svg::{HEIGHT, Svg, WIDTH};
use super::tracks::{self, Track, level};
use super::{Source, esc};
use crate::compare::name;
use crate::document::{Element, Figure, Text, Tone};
use crate::overview::growth;
use crate::sentences;
use crate::words::{count, factor_with_interval};

/// A line through fewer numbers of workers shows no more than the table.
const FEWEST_LEVELS: usize = 3;
/// The place of the ideal line in colours and dashes, behind those of variants.
const IDEAL: usize = 8;
const CAPTION: &str =
    "Thin lines: the fitted law. Bars: from the slowest worker to the fastest, times the number of workers.";
/// Height of an operation, and of the labels of the axis below all.
const ROW: f64 = 20.0;
const FOOT: f64 = 24.0;
/// The axis, behind the names.
const FROM: f64 = 136.0;
const TO: f64 = 500.0;
/// It ends at the largest efficiency below this: a larger one is noise.
const HIGHEST: f64 = 2.0;
const LEAST_END: f64 = 1.05;
/// Radius of a mark.
const MARK: f64 = 4.0;
/// Width of a letter of the legend, and of all else of an entry.
const LETTER: f64 = 7.2;
const ENTRY: f64 = 30.0;

/// The sections, and the pictures below.
pub(super) fn blocks(source: &Source<'_>) -> Vec<Element> {
    let Source { recording, findings, .. } = source;
    let sections = growth::scaling_sections(findings, true).into_iter().map(Element::from);
    let overviews = findings.systems.iter().filter_map(|system| efficiencies(findings, system));
    let each = findings.systems.iter().flat_map(|system| {
        let figure = |workload: &Workload| figure(recording, findings, system, workload);
        findings.workloads.iter().filter_map(figure)
    });
    sections.chain(overviews).chain(each).collect()
}

/// The operation with all of its variants, on the first system, as an SVG file that loads nothing and has its
/// own paper: the sentence of each variant, above their speed-ups. `None` where there are fewer than three
/// numbers of workers.
pub fn picture_of_scaling(recording: &Recording, findings: &Findings, workload: &str) -> Option<String> {
    let system = findings.systems.first()?;
    let plot = Plot::new(recording, findings, system, workload)?;
    let mut sheet = Sheet::new(WIDTH);
    sheet.paragraph(TITLE, &plot.title);
    for line in growth::scaling_sentences(findings, &system.name, workload) {
        sheet.paragraph(SAYS, &format!("{line}."));
    }
    sheet.paragraph(SOFT, CAPTION);
    let top = sheet.y + 8.0;
    sheet.place(&plot.svg, (EDGE, top), (WIDTH, HEIGHT));
    sheet.y = top + HEIGHT;
    Some(sheet.close(&plot.title, CAPTION))
}

fn figure(
    recording: &Recording,
    findings: &Findings,
    system: &System,
    workload: &Workload,
) -> Option<Element> {
    let Plot { id, title, svg } = Plot::new(recording, findings, system, &workload.name)?;
    let captions = vec![Text::toned(CAPTION, Tone::Faint)];
    Some(Element::Figure(Figure { id, title: Text::from(title), svg, captions, ..Figure::default() }))
}

/// The speed-up of every variant over the number of workers, the law, the range from the slowest worker to
/// the fastest, and the ideal.
struct Plot {
    id: String,
    title: String,
    svg: String,
}

impl Plot {
    fn new(recording: &Recording, findings: &Findings, system: &System, workload: &str) -> Option<Plot> {
        let is_its =
            |finding: &&Finding| finding.key.system == system.name && finding.key.workload == workload;
        let scaled = findings.series.iter().filter(is_its);
        let scaled: Vec<(&Finding, &Scaling)> =
            scaled.filter_map(|finding| Some((finding, finding.scaling.as_ref()?))).collect();
        let top = scaled.iter().filter_map(|(_, scaling)| scaling.speedups.last());
        let top = top.map(|last| last.workers).max()?;
        let mut tracks: Vec<Track> = (0..)
            .zip(&scaled)
            .map(|(place, (finding, scaling))| track(recording, place, finding, scaling))
            .filter(|track| track.levels.len() >= FEWEST_LEVELS)
            .collect();
        let levels = tracks.iter().flat_map(|track| &track.levels).map(|level| level.n);
        // On a logarithmic axis it is straight only through all of them.
        let ideal: BTreeSet<u64> = levels.filter(|workers| *workers <= top).collect();
        if tracks.is_empty() {
            return None;
        }
        let ideal = ideal.into_iter().map(|workers| level(workers, workers as f64)).collect();
        tracks.push(Track { levels: ideal, ..Track::empty(IDEAL, "ideal") });
        let on = sentences::on_system(findings, system);
        let title = format!("Speed-up of {workload} over workers{on}");
        let described = "Throughput of all workers over that of one, for each variant, and the ideal line.";
        let number = findings.systems.iter().position(|other| other.name == system.name)?;
        let id = format!("speedup{number}-{workload}");
        let svg = tracks::draw(&id, (&title, described), ("workers", Unit::None), &tracks)?;
        Some(Plot { id, title, svg })
    }
}

fn track(recording: &Recording, place: usize, finding: &Finding, scaling: &Scaling) -> Track {
    let measured = scaling.speedups.iter().chain(&scaling.oversubscribed);
    let measured = measured.map(|speedup| level(speedup.workers, speedup.ratio.value));
    let levels: Vec<LevelValue> = std::iter::once(level(1, 1.0)).chain(measured).collect();
    let trend = scaling.law.map_or_else(Vec::new, |law| fitted(law, &scaling.speedups));
    let ranges = ranges(recording, &finding.key, &levels);
    Track { levels, has_knots: true, trend, ranges, ..Track::empty(place, name(&finding.key.variant)) }
}

/// The Universal Scalability Law at one worker and at these numbers, with the loss of the machine itself,
/// without which it was fitted. Its level is that of the fit, which does not go through one worker.
fn fitted(law: ScalingLaw, speedups: &[Speedup]) -> Vec<(f64, f64)> {
    let at = |speedup: &Speedup| {
        let (workers, others) = (speedup.workers as f64, speedup.workers as f64 - 1.0);
        let of_machine = speedup.reference.map_or(1.0, |reference| reference.value / workers);
        let delay = 1.0 + law.serial.value * others + law.coherence.value * workers * others;
        (workers, of_machine * workers / delay)
    };
    let places: Vec<(f64, f64)> = std::iter::once((1.0, 1.0)).chain(speedups.iter().map(at)).collect();
    let ratios = places.iter().skip(1).zip(speedups).map(|(place, speedup)| speedup.ratio.value / place.1);
    let level = (ratios.map(f64::ln).sum::<f64>() / places.len() as f64).exp();
    let can_be_drawn = |value: &f64| value.is_finite() && *value > 0.0;
    let shifted = places.into_iter().map(|(workers, value)| (workers, value * level));
    shifted.filter(|(_, value)| can_be_drawn(value)).collect()
}

/// At each level the slowest and the fastest worker, times their number, over one worker alone: medians over
/// trials.
fn ranges(recording: &Recording, rate: &SeriesKey, levels: &[LevelValue]) -> Vec<(u64, f64, f64)> {
    let median_at = |name: &str, workers: u64| {
        let key = SeriesKey { name: name.to_owned(), ..rate.clone() };
        let points = recording.trials_of(&key).iter().flat_map(record::Series::points);
        median(points.filter(|(n, _)| *n == workers).map(|(_, value)| value))
    };
    let one = median_at(&rate.name, 1);
    let range = |level: &LevelValue| {
        let times = level.n as f64 / one;
        (level.n, median_at("slowest", level.n) * times, median_at("fastest", level.n) * times)
    };
    let can_be_drawn = |(_, low, high): &(u64, f64, f64)| *low > 0.0 && low.is_finite() && high.is_finite();
    levels.iter().map(range).filter(can_be_drawn).collect()
}

/// The picture of a system; `None` for a single operation.
fn efficiencies(findings: &Findings, system: &System) -> Option<Element> {
    let of_system = findings.series.iter().filter(|finding| finding.key.system == system.name);
    let scaled = of_system.filter_map(|finding| Some((finding, finding.scaling.as_ref()?.speedups.last()?)));
    let mut scaled: Vec<Mark<'_>> = scaled.collect();
    let most = scaled.iter().map(|(_, last)| last.workers).max()?;
    scaled.retain(|(_, last)| last.workers == most);
    let number = findings.systems.iter().position(|other| other.name == system.name)?;
    let plot = EfficiencyPlot::new(format!("efficiencies{number}"), scaled);
    let on = sentences::on_system(findings, system);
    let title = format!("Work of each of {} workers{on}, over that of one alone", count(most));
    let svg = (plot.operations.len() > 1).then(|| plot.draw(&title))?;
    let captions = vec![Text::toned("At ×1 an operation scales; lines are the intervals.", Tone::Faint)];
    let id = plot.id;
    Some(Element::Figure(Figure { id, title: Text::from(title), svg, captions, ..Figure::default() }))
}

/// A variant of an operation, by the largest number of workers.
type Mark<'a> = (&'a Finding, &'a Speedup);

/// The class of a mark: where the colours are used up, they come again hollow.
fn mark(place: usize) -> &'static str {
    if (place / tracks::COLOURS).is_multiple_of(2) { "knot" } else { "hollow" }
}

struct EfficiencyPlot<'a> {
    id: String,
    all: Vec<Mark<'a>>,
    operations: Vec<&'a str>,
    /// A variant has its colour by its place here.
    variants: Vec<&'a str>,
    axis: Axis,
}

impl<'a> EfficiencyPlot<'a> {
    fn new(id: String, all: Vec<Mark<'a>>) -> Self {
        let (mut operations, mut variants): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for (finding, _) in &all {
            for (names, name) in
                [(&mut operations, &finding.key.workload), (&mut variants, &finding.key.variant)]
            {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
        }
        let ends = all.iter().map(|(_, last)| last.efficiency.high);
        let end = ends.filter(|end| *end < HIGHEST).fold(LEAST_END, f64::max);
        EfficiencyPlot { id, all, operations, variants, axis: Axis::new(Kind::Linear, 0.0, end, FROM, TO) }
    }

    fn draw(&self, title: &str) -> String {
        let places = self.legend();
        let top = places.last().map_or(0.0, |place| place.1) + ROW;
        let bottom = top + ROW * self.operations.len() as f64;
        let mut svg = Svg::open_of_height(&self.id, bottom + FOOT);
        svg.describe(title, "A row for each operation, a mark for each variant.");
        for ((place, variant), (x, y)) in self.variants.iter().enumerate().zip(places) {
            svg.put(format_args!(
                "<g class=\"{}\"><circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{MARK}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                tracks::style(place),
                mark(place),
                x + MARK,
                y + 8.0,
                x + 14.0,
                y + 12.0,
                esc(name(variant))
            ));
        }
        for tick in self.axis.ticks(ROW) {
            let (at, class) = (tick.at, if tick.value == 1.0 { "mark" } else { "grid" });
            svg.put(format_args!("<path class=\"{class}\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>"));
            if tick.labelled {
                let (y, label) = (bottom + 16.0, factor_label(tick.value));
                svg.put(format_args!("<text class=\"x\" x=\"{at:.1}\" y=\"{y:.1}\">{label}</text>"));
            }
        }
        for (operation, row) in self.operations.iter().zip(0_u32..) {
            self.row(operation, top + ROW * (f64::from(row) + 0.5), &mut svg);
        }
        svg.close()
    }

    /// The places of the variants' names, line after line.
    fn legend(&self) -> Vec<(f64, f64)> {
        let mut next = (0.0, 0.0);
        let place = |variant: &&str| {
            let width = ENTRY + LETTER * name(variant).chars().count() as f64;
            let here = if next.0 + width > WIDTH { (0.0, next.1 + ROW) } else { next };
            next = (here.0 + width, here.1);
            here
        };
        self.variants.iter().map(place).collect()
    }

    fn row(&self, operation: &str, y: f64, svg: &mut Svg) {
        svg.put(format_args!("<text class=\"value\" x=\"0\" y=\"{:.1}\">{}</text>", y + 4.0, esc(operation)));
        for (finding, last) in self.all.iter().filter(|(finding, _)| finding.key.workload == operation) {
            let efficiency = last.efficiency;
            let place = self.variants.iter().position(|variant| *variant == finding.key.variant);
            let place = place.unwrap_or_default();
            let at = |value: f64| self.axis.place(value).clamp(FROM, TO);
            let said = format!("{}: {}", name(&finding.key.variant), factor_with_interval(efficiency));
            svg.put(format_args!(
                "<g class=\"{}\"><path class=\"hair\" d=\"M{:.1} {y:.1}H{:.1}\"/><circle class=\"{}\" \
                 cx=\"{:.1}\" cy=\"{y:.1}\" r=\"{MARK}\"><title>{}</title></circle></g>",
                tracks::style(place),
                at(efficiency.low),
                at(efficiency.high),
                mark(place),
                at(efficiency.value),
                esc(&said)
            ));
        }
    }
}
