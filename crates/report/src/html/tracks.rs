//! Several lines over n, each with its name at its end: contenders, or the two ways of an operation.

use judge::compare::LevelValue;
use record::Unit;
use stats::{Block, Verdict};

use super::esc;
use super::svg::{Axis, Kind, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::count;

/// Colours and dashes in the style sheet; more lines than their product look alike, but have their names.
pub(super) const COLOURS: usize = 6;
const DASHES: usize = 3;
/// The plot ends here, and the names of its lines stand behind it.
const END: f64 = RIGHT - 84.0;
/// Names are at least so far apart, at the larger type of a narrow screen; and so long.
const APART: f64 = 17.0;
const NAME_MAX: usize = 11;
/// A trend is drawn in so many pieces.
const TREND_PIECES: u32 = 24;
/// Where an axis spans this factor it is logarithmic.
const LOGARITHMIC_FROM: f64 = 5.0;

/// The classes of a line in the style sheet. Neighbours differ in colour and in dashes.
pub(crate) fn style(place: usize) -> String {
    let (colour, dash) = (place % COLOURS, (place + place / COLOURS) % DASHES);
    format!("contender c{colour} d{dash}")
}

/// The colour and the dashes of a line.
pub(crate) fn swatch(place: usize) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><g class=\"{}\">\
         <path class=\"median\" d=\"M0 4H28\"/></g></svg>",
        style(place)
    )
}

/// One line: a contender, or a way of an operation.
pub(crate) struct Track {
    /// The place that decides its colour and its dashes.
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) levels: Vec<LevelValue>,
    /// Whether the levels are places of their own, and not medians of ranges of n.
    pub(crate) has_knots: bool,
    /// How it stopped at its last level.
    pub(crate) stopped: Option<String>,
    /// A thin line through these places, as (n, value): a trend or a law.
    pub(crate) trend: Vec<(f64, f64)>,
    /// The least and the largest value of its parts, as (n, low, high).
    pub(crate) ranges: Vec<(u64, f64, f64)>,
}

impl Track {
    pub(crate) fn empty(place: usize, name: &str) -> Track {
        Track {
            place,
            name: name.to_owned(),
            levels: Vec::new(),
            has_knots: false,
            stopped: None,
            trend: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// The medians of a verdict.
    pub(crate) fn of_verdict(place: usize, name: &str, verdict: &Verdict) -> Track {
        let median = |block: &Block| level(sentences::middle(block) as u64, block.cost.value);
        let levels = verdict.blocks.iter().map(median).filter(|level| level.value.is_finite()).collect();
        Track { levels, ..Track::empty(place, name) }
    }
}

/// A bar takes so much of the height, and begins behind the names.
const BAR: f64 = 26.0;
const BARS_FROM: f64 = 150.0;
/// Bars end here, and values stand behind them.
const BARS_TO: f64 = 400.0;
const BAR_NAME_MAX: usize = 20;

/// A level of which only the value is known.
pub(super) fn level(n: u64, value: f64) -> LevelValue {
    LevelValue { at_least: false, n, value, trials: 0, limited: false }
}

/// Draws lines, or bars where all stand at one level; `None` where none has a number.
pub(crate) fn draw(
    id: &str,
    (title, description): (&str, &str),
    (grows, unit): (&str, Unit),
    tracks: &[Track],
) -> Option<String> {
    let drawn: Vec<&Track> = tracks.iter().filter(|track| !track.levels.is_empty()).collect();
    if drawn.is_empty() {
        return None;
    }
    let mut levels = drawn.iter().flat_map(|track| &track.levels);
    let first = levels.next()?.n;
    if levels.all(|level| level.n == first) {
        return Some(bars(id, (title, description), unit, &drawn));
    }
    let (x, y) = axes(&drawn, unit);
    let mut svg = Svg::open_to(id, 0.0, END);
    svg.describe(title, description);
    svg.axes(&x, &y, grows, |tick| cost_label(tick.value, unit, &y));
    // The first is drawn last, over the others.
    drawn.iter().rev().for_each(|track| line(unit, track, (&x, &y), &mut svg));
    names(&drawn, (&x, &y), &mut svg);
    Some(svg.close())
}

/// A bar from zero for each, with its value behind it.
fn bars(id: &str, (title, description): (&str, &str), unit: Unit, tracks: &[&Track]) -> String {
    let mut svg = Svg::open_of_height(id, BAR * tracks.len() as f64 + 4.0);
    svg.describe(title, description);
    let most = tracks.iter().flat_map(|track| &track.levels).map(|level| level.value).fold(0.0, f64::max);
    let axis = Axis::new(Kind::Linear, 0.0, most, BARS_FROM, BARS_TO);
    for (row, (track, level)) in
        (0_u32..).zip(tracks.iter().flat_map(|track| track.levels.first().map(|level| (track, level))))
    {
        let top = BAR * f64::from(row) + 4.0;
        let end = if most > 0.0 { axis.place(level.value) } else { BARS_FROM };
        let limited = match level {
            LevelValue { at_least: true, .. } => " or more",
            LevelValue { limited: true, .. } => ", not compared",
            _ => "",
        };
        svg.put(format_args!(
            "<g class=\"{}\"><text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"bar\" x=\"{BARS_FROM}\" \
             y=\"{top:.1}\" width=\"{:.1}\" height=\"{}\"/></g>\
             <text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            style(track.place),
            top + 15.0,
            esc(&shortened(&track.name, BAR_NAME_MAX)),
            (end - BARS_FROM).max(0.5),
            BAR - 8.0,
            end + 8.0,
            top + 15.0,
            esc(&format!("{}{limited}", unit.cost(level.value)))
        ));
    }
    svg.close()
}

/// A name of at most so many characters.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// Linear axes begin at zero, so that a difference of a few percent does not look like more.
fn axes(tracks: &[&Track], unit: Unit) -> (Axis, Axis) {
    let levels = || tracks.iter().flat_map(|track| &track.levels);
    let fold = |of: fn(&LevelValue) -> f64| {
        levels().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (x, y) = (fold(|level| level.n as f64), fold(|level| level.value));
    let ranges = tracks.iter().flat_map(|track| &track.ranges);
    let y = ranges.fold(y, |(low, high), range| (low.min(range.1), high.max(range.2)));
    let is_log = |(low, high): (f64, f64)| low > 0.0 && high / low >= LOGARITHMIC_FROM;
    let across = Axis::new(if is_log(x) { Kind::Log } else { Kind::Linear }, x.0, x.1, LEFT, END);
    let up = match is_log(y) {
        true => Axis::new(Kind::Log, y.0 * 0.85, y.1 * 1.15, BOTTOM, TOP),
        false => Axis::new(Kind::Linear, 0.0, y.1 * 1.08, BOTTOM, TOP),
    };
    (across, up.of(unit))
}

/// One line, dotted where it is not compared, with its levels and a cross where it stopped.
fn line(unit: Unit, track: &Track, (x, y): (&Axis, &Axis), svg: &mut Svg) {
    let Track { place, name, levels, .. } = track;
    let at = |level: &LevelValue| (x.place(level.n as f64), within(y, level.value));
    svg.put(format_args!("<g class=\"{}\">", style(*place)));
    if !track.trend.is_empty() {
        let place = |(n, value): &(f64, f64)| format!("{:.1} {:.1}", x.place(*n), within(y, *value));
        let path: Vec<String> = track.trend.iter().map(place).collect();
        svg.put(format_args!("<path class=\"trend\" d=\"M{}\"/>", path.join("L")));
    }
    for (n, low, high) in &track.ranges {
        let (at, low, high) = (x.place(*n as f64), within(y, *low), within(y, *high));
        svg.put(format_args!("<path class=\"range\" d=\"M{at:.1} {low:.1}V{high:.1}\"/>"));
    }
    for pair in levels.windows(2) {
        // Neighbours of one kind are joined at once, below.
        if pair[0].limited || pair[1].limited {
            let ((a, b), (c, d)) = (at(&pair[0]), at(&pair[1]));
            svg.put(format_args!("<path class=\"limited\" d=\"M{a:.1} {b:.1}L{c:.1} {d:.1}\"/>"));
        }
    }
    for run in levels.chunk_by(|a, b| a.limited == b.limited).filter(|run| !run[0].limited) {
        svg.line("median", &run.iter().map(at).collect::<Vec<_>>());
    }
    for level in levels.iter().filter(|_| track.has_knots) {
        let (cx, cy) = at(level);
        let (class, r, limited) = match level.limited {
            true if level.at_least => ("hollow", 3.4, ", or more"),
            true => ("hollow", 3.4, ", not compared"),
            false => ("knot", 2.2, ""),
        };
        let said = format!("{name}: {} at {}{limited}", unit.cost(level.value), count(level.n));
        svg.put(format_args!(
            "<circle class=\"{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{r}\"><title>{}</title></circle>",
            esc(&said)
        ));
    }
    if let Some((last, stopped)) = levels.last().zip(track.stopped.as_ref()) {
        let (cx, cy) = at(last);
        svg.put(format_args!(
            "<path class=\"end\" d=\"M{:.1} {:.1}l9 9m0 -9l-9 9\"><title>{}</title></path>",
            cx - 4.5,
            cy - 4.5,
            esc(&format!("{name} {stopped}"))
        ));
    }
    svg.put(format_args!("</g>"));
}

/// Places on the way of a power law between its ends: straight where both axes are logarithmic, else curved.
pub(crate) fn power_law([(n, value), (n_last, value_last)]: [(f64, f64); 2]) -> Vec<(f64, f64)> {
    let between = |low: f64, high: f64, share: f64| low * (high / low).powf(share);
    let shares = (0..=TREND_PIECES).map(|piece| f64::from(piece) / f64::from(TREND_PIECES));
    shares.map(|share| (between(n, n_last, share), between(value, value_last, share))).collect()
}

/// The names behind the plot, each beside the end of its line or joined with it by a hair.
fn names(tracks: &[&Track], (x, y): (&Axis, &Axis), svg: &mut Svg) {
    let end = |track: &&Track| {
        let last = track.levels.last()?;
        Some((track.place, track.name.clone(), x.place(last.n as f64), within(y, last.value)))
    };
    let mut ends: Vec<(usize, String, f64, f64)> = tracks.iter().filter_map(end).collect();
    ends.sort_by(|a, b| a.3.total_cmp(&b.3));
    let wanted: Vec<f64> = ends.iter().map(|end| end.3).collect();
    for ((place, name, from, line), to) in ends.iter().zip(apart(&wanted)) {
        let name = shortened(name, NAME_MAX);
        svg.put(format_args!(
            "<g class=\"{}\"><path class=\"hair\" d=\"M{:.1} {line:.1}L{:.1} {line:.1}L{:.1} {to:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            style(*place),
            from + 5.0,
            (END + 3.0).max(from + 5.0),
            END + 13.0,
            END + 16.0,
            to + 4.0,
            esc(&name)
        ));
    }
}

/// Places as near to those wanted, which rise, as there is room for: those that crowd are spread around their
/// middle.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let room = (BOTTOM - TOP) / wanted.len().max(2) as f64;
    let apart = APART.min(room);
    // Neighbours that crowd become a group, which has a middle and so many places.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let ends = |(middle, of): (f64, usize)| {
        let half = apart * (of - 1) as f64 / 2.0;
        let middle = middle.clamp(TOP + half, (BOTTOM - half).max(TOP + half));
        (middle - half, middle + half, middle)
    };
    for at in wanted {
        let mut group = (*at, 1);
        while let Some(before) = groups.last().copied() {
            if ends(group).0 - ends(before).1 >= apart - 1e-9 {
                break;
            }
            groups.pop();
            let of = group.1 + before.1;
            group = ((group.0 * group.1 as f64 + before.0 * before.1 as f64) / of as f64, of);
        }
        groups.push(group);
    }
    let places = |group: (f64, usize)| (0..group.1).map(move |i| ends(group).0 + apart * i as f64);
    groups.into_iter().flat_map(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_apart_and_inside() {
        for wanted in [
            vec![20.0, 21.0, 22.0, 200.0],
            vec![250.0; 6],
            vec![17.0, 18.0, 250.0, 251.0],
            (0..12).map(|i| 120.0 + f64::from(i)).collect(),
            (0..40).map(|i| 30.0 + f64::from(i)).collect(),
        ] {
            let places = apart(&wanted);
            assert_eq!(places.len(), wanted.len());
            let room = APART.min((BOTTOM - TOP) / wanted.len() as f64);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= room - 1e-6), "{places:?}");
            assert!(places.iter().all(|at| (TOP - 1e-6..=BOTTOM + 1e-6).contains(at)), "{places:?}");
        }
        assert_eq!(apart(&[40.0, 100.0]), [40.0, 100.0], "labels that have room stay");
        assert!(apart(&[]).is_empty());
    }
}
