//! How throughput follows the number of workers: the tables of the screen with all rows, a picture of all
//! operations, and for those that were measured with several numbers of workers one of their speed-up.

use std::collections::BTreeSet;

use judge::compare::LevelValue;
use judge::series::median;
use judge::{Finding, Findings};
use record::{Recording, SeriesKey, System, Unit, Workload};
use stats::{Scaling, ScalingLaw, Speedup};

use super::efficiencies;
use super::sheet::{EDGE, SAYS, SOFT, Sheet, TITLE};
use super::source::Source;
use super::svg::{HEIGHT, WIDTH};
use super::tracks::{self, Track};
use crate::compare::name;
use crate::document::{Element, Figure, Text, Tone};
use crate::overview::scalings;
use crate::sentences;

/// A line through fewer numbers of workers shows no more than the table.
const FEWEST_LEVELS: usize = 3;
/// The place of the ideal line in colours and dashes, behind those of variants.
const IDEAL: usize = 8;
const CAPTION: &str =
    "Thin lines: the fitted law. Bars: from the slowest worker to the fastest, times the number of workers.";

/// The sections, and the pictures below.
pub(super) fn blocks(source: &Source<'_>) -> Vec<Element> {
    let Source { recording, findings, .. } = source;
    let sections = scalings::sections(findings, true).into_iter().map(Element::from);
    let overviews = findings.systems.iter().filter_map(|system| efficiencies::picture(findings, system));
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
    for line in scalings::sentences(findings, &system.name, workload) {
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

fn level(n: u64, value: f64) -> LevelValue {
    LevelValue { at_least: false, n, value, trials: 0, limited: false }
}
