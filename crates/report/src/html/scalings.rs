//! How throughput follows the number of workers: the tables of the screen with all rows, and for operations
//! that were measured with several numbers of workers a picture of their speed-up.

use judge::Finding;
use judge::compare::LevelValue;
use record::{Unit, Workload};
use stats::Scaling;

use super::source::Source;
use super::tracks::{self, Track};
use crate::document::{Element, Figure, Text};
use crate::overview::scalings;

/// A line through fewer numbers of workers shows no more than the table.
const FEWEST_LEVELS: usize = 3;
/// The place of the ideal line in colours and dashes, behind those of variants.
const IDEAL: usize = 8;

/// The sections, and the pictures below.
pub(super) fn blocks(source: &Source<'_>) -> Vec<Element> {
    let sections = scalings::sections(source.findings, true).into_iter().map(Element::from);
    let pictures = source.findings.workloads.iter().filter_map(|workload| picture(source, workload));
    sections.chain(pictures).collect()
}

/// The speed-up of every variant over the number of workers, and the ideal.
fn picture(source: &Source<'_>, workload: &Workload) -> Option<Element> {
    let of_workload = source.findings.series.iter().filter(|finding| finding.key.workload == workload.name);
    let mut tracks: Vec<Track> = of_workload
        .filter_map(|finding| Some((finding, finding.scaling.as_ref()?)))
        .enumerate()
        .map(|(place, (finding, scaling))| track(place, finding, scaling))
        .filter(|track| track.levels.len() >= FEWEST_LEVELS)
        .collect();
    let top = tracks.iter().flat_map(|track| &track.levels).map(|level| level.n).max()?;
    let ideal = [1, top].map(|workers| level(workers, workers as f64)).to_vec();
    tracks.push(of_levels(IDEAL, "ideal", ideal));
    let title = format!("Speed-up of {} over workers", workload.name);
    let described = "Throughput of all workers over that of one, for each variant, and the ideal line.";
    let id = format!("speedup-{}", workload.name);
    let svg = tracks::draw(&id, (&title, described), (&workload.grows, Unit::None), &tracks)?;
    Some(Element::Figure(Figure { id, title: Text::from(title), svg, ..Figure::default() }))
}

fn track(place: usize, finding: &Finding, scaling: &Scaling) -> Track {
    let measured = scaling.speedups.iter().chain(&scaling.oversubscribed);
    let measured = measured.map(|speedup| level(speedup.workers, speedup.ratio.value));
    let levels = std::iter::once(level(1, 1.0)).chain(measured).collect();
    of_levels(place, &finding.key.variant, levels)
}

fn of_levels(place: usize, name: &str, levels: Vec<LevelValue>) -> Track {
    Track { place, name: name.to_owned(), levels, has_knots: true, stopped: None, trend: None }
}

fn level(n: u64, value: f64) -> LevelValue {
    LevelValue { at_least: false, n, value, trials: 0, limited: false }
}
