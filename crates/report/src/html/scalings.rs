//! How throughput follows the number of workers: the tables of the screen with all rows, a picture of all
//! operations, and for those that were measured with several numbers of workers one of their speed-up.

use judge::compare::LevelValue;
use judge::{Finding, Findings};
use record::{Recording, SeriesKey, Unit, Workload};
use stats::{Scaling, ScalingLaw};

use super::efficiencies;
use super::sheet::{EDGE, SAYS, SOFT, Sheet, TITLE};
use super::source::Source;
use super::svg::{HEIGHT, WIDTH};
use super::tracks::{self, Track};
use crate::document::{Element, Figure, Text, Tone};
use crate::overview::scalings;

/// A line through fewer numbers of workers shows no more than the table.
const FEWEST_LEVELS: usize = 3;
/// The place of the ideal line in colours and dashes, behind those of variants.
const IDEAL: usize = 8;
const CAPTION: &str =
    "Thin lines: the fitted law. Bars: from the slowest worker to the fastest, times the number of workers.";

/// The sections, and the pictures below.
pub(super) fn blocks(source: &Source<'_>) -> Vec<Element> {
    let sections = scalings::sections(source.findings, true).into_iter().map(Element::from);
    let pictures = source.findings.workloads.iter().filter_map(|workload| figure(source, workload));
    sections.chain(efficiencies::picture(source)).chain(pictures).collect()
}

/// The operation with all of its variants as an SVG file that loads nothing and has its own paper: the
/// sentence of each variant, above their speed-ups. `None` where there are fewer than three numbers of
/// workers.
pub fn picture_of_scaling(recording: &Recording, findings: &Findings, workload: &str) -> Option<String> {
    let plot = plot(recording, findings, workload)?;
    let mut sheet = Sheet::new(WIDTH);
    sheet.paragraph(TITLE, &plot.title);
    for line in scalings::sentences(findings, workload) {
        sheet.paragraph(SAYS, &format!("{line}."));
    }
    sheet.paragraph(SOFT, CAPTION);
    let top = sheet.y + 8.0;
    sheet.place(&plot.svg, (EDGE, top), (WIDTH, HEIGHT));
    sheet.y = top + HEIGHT;
    Some(sheet.close(&plot.title, CAPTION))
}

fn figure(source: &Source<'_>, workload: &Workload) -> Option<Element> {
    let Plot { id, title, svg } = plot(source.recording, source.findings, &workload.name)?;
    let captions = vec![Text::toned(CAPTION, Tone::Faint)];
    Some(Element::Figure(Figure { id, title: Text::from(title), svg, captions, ..Figure::default() }))
}

struct Plot {
    id: String,
    title: String,
    svg: String,
}

/// The speed-up of every variant over the number of workers, the law, the range from the slowest worker to
/// the fastest, and the ideal.
fn plot(recording: &Recording, findings: &Findings, workload: &str) -> Option<Plot> {
    let of_workload = findings.series.iter().filter(|finding| finding.key.workload == workload);
    let mut tracks: Vec<Track> = of_workload
        .filter_map(|finding| Some((finding, finding.scaling.as_ref()?)))
        .enumerate()
        .map(|(place, (finding, scaling))| track(recording, place, finding, scaling))
        .filter(|track| track.levels.len() >= FEWEST_LEVELS)
        .collect();
    let top = tracks.iter().flat_map(|track| &track.levels).map(|level| level.n).max()?;
    let ideal = [1, top].map(|workers| level(workers, workers as f64)).to_vec();
    tracks.push(Track { levels: ideal, has_knots: true, ..Track::empty(IDEAL, "ideal") });
    let title = format!("Speed-up of {workload} over workers");
    let described = "Throughput of all workers over that of one, for each variant, and the ideal line.";
    let id = format!("speedup-{workload}");
    let svg = tracks::draw(&id, (&title, described), ("workers", Unit::None), &tracks)?;
    Some(Plot { id, title, svg })
}

fn track(recording: &Recording, place: usize, finding: &Finding, scaling: &Scaling) -> Track {
    let measured = scaling.speedups.iter().chain(&scaling.oversubscribed);
    let measured = measured.map(|speedup| level(speedup.workers, speedup.ratio.value));
    let levels: Vec<LevelValue> = std::iter::once(level(1, 1.0)).chain(measured).collect();
    let top = scaling.speedups.last().map_or(1, |last| last.workers);
    let at =
        |law: ScalingLaw| (1..=top).map(|workers| (workers as f64, speedup(law, workers as f64))).collect();
    let trend = scaling.law.map_or_else(Vec::new, at);
    let ranges = ranges(recording, &finding.key, &levels);
    Track { levels, has_knots: true, trend, ranges, ..Track::empty(place, &finding.key.variant) }
}

/// The Universal Scalability Law.
fn speedup(law: ScalingLaw, workers: f64) -> f64 {
    let others = workers - 1.0;
    workers / (1.0 + law.serial.value * others + law.coherence.value * workers * others)
}

/// At each level the slowest and the fastest worker, times their number, over one worker alone: medians over
/// trials.
fn ranges(recording: &Recording, rate: &SeriesKey, levels: &[LevelValue]) -> Vec<(u64, f64, f64)> {
    let median = |name: &str, workers: u64| {
        let key = SeriesKey { name: name.to_owned(), ..rate.clone() };
        let trials = recording.trials_of(&key).iter().flat_map(record::Series::points);
        let mut values: Vec<f64> =
            trials.filter(|(n, value)| *n == workers && *value > 0.0).map(|(_, value)| value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let Some(one) = median(&rate.name, 1) else { return Vec::new() };
    let range = |level: &LevelValue| {
        let times = level.n as f64 / one;
        Some((level.n, median("slowest", level.n)? * times, median("fastest", level.n)? * times))
    };
    levels.iter().filter_map(range).collect()
}

fn level(n: u64, value: f64) -> LevelValue {
    LevelValue { at_least: false, n, value, trials: 0, limited: false }
}
