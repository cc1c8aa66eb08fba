//! Places of n that a plot points at: steps, a limit, a knee, stops. Each has an upright line and a label
//! above the plot; labels are laid in lanes so that none covers another or the line of another.

use judge::{Cause, Stop};
use stats::{Bend, Interval, Verdict};

use super::esc;
use super::svg::Axis;
use super::svg::{BOTTOM, LEFT, Svg, TOP, WIDTH};
use crate::place::span;
use crate::sentences::{self, extrapolated};
use crate::words::{change, count, place_with_interval};

/// Height of a lane, and width of a character, at the larger type of a narrow screen.
const LANE: f64 = 18.0;
const CHARACTER: f64 = 7.9;
/// Labels in a lane are at least so far apart, and so far from their line.
const APART: f64 = 8.0;
const BESIDE: f64 = 3.0;
/// A label without a lane has only its line and its title.
const LANES_MAX: usize = 5;
/// Places that are tried before some labels are left out.
const TRIES_MAX: usize = 2_000;

/// A place of n.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Its class in the style sheet.
    pub(crate) class: &'static str,
    /// Its place and its interval.
    pub(crate) n: Interval,
    /// Its label.
    pub(crate) label: String,
    /// The tooltip.
    pub(crate) title: String,
}

/// The marks of a plot of a series.
pub(crate) fn of(verdict: Option<&Verdict>, stops: &[Stop]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    if let Some(v) = verdict {
        marks.extend(v.steps.iter().map(|step| {
            let size = change(step.ratio.value);
            Mark {
                class: "step",
                n: sentences::n_of_step(step),
                label: format!("{size} at {}", count(step.n)),
                title: format!("step of {size}, {}", span(step.n_low, step.n_high)),
            }
        }));
        marks.extend(v.limit.map(|limit| Mark {
            class: "limit",
            n: limit.n,
            label: format!("limit {}", count(limit.n.value.round() as u64)),
            title: format!("no bound at n = {}{}", place_with_interval(limit.n), extrapolated(limit, v)),
        }));
        marks.extend(v.bend.map(|Bend { n, before, .. }| {
            let (word, title) = if before == 0.0 {
                ("rises from", "constant up to")
            } else {
                ("bends at", "a line bends at")
            };
            Mark {
                class: "knee",
                n,
                label: format!("{word} {}", count(n.value.round() as u64)),
                title: format!("{title} n = {}", place_with_interval(n)),
            }
        }));
    }
    marks.extend(stops.iter().filter_map(stop));
    marks
}

/// Where trials stopped short.
fn stop(stop: &Stop) -> Option<Mark> {
    let (low, high) = stop.n?;
    let word = match &stop.cause {
        Cause::Limit { error, .. } => error.as_str(),
        Cause::Allowance => "time used up",
        Cause::Crashed { .. } => "crashed",
        Cause::TimedOut => "timed out",
        Cause::Unsupported { .. } | Cause::Failed { .. } | Cause::NotOffered | Cause::NotMeasured { .. } => {
            return None;
        }
    };
    Some(Mark {
        class: "stop",
        n: Interval { value: high as f64, low: high as f64, high: high as f64 },
        label: format!("{word} at {}", count(high)),
        title: format!("{} of {} trials, {}", stop.trials, stop.of, span(low, high)),
    })
}

/// The place of a mark's label.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    /// Where its line is; `None` beyond the axis, where the label alone stands at the edge.
    line: Option<f64>,
    /// The ends of its label.
    label: (f64, f64),
    /// Whether the label ends at its line instead of beginning there.
    ends: bool,
    lane: usize,
}

/// The room that the labels of some marks need above a plot.
pub(crate) fn head(marks: &[Mark], x: &Axis) -> f64 {
    let lanes = lay(marks, x).into_iter().flatten().map(|place| place.lane + 1).max().unwrap_or(0);
    lanes as f64 * LANE
}

/// Draws the marks within the plot and their labels above it.
pub(crate) fn draw(marks: &[Mark], x: &Axis, svg: &mut Svg) {
    for (mark, place) in marks.iter().zip(lay(marks, x)) {
        let class = mark.class;
        let lane = place.map_or(0, |place| place.lane);
        let label_y = TOP - 5.0 - lane as f64 * LANE;
        svg.put(format_args!("<g class=\"at {class}\"><title>{}</title>", esc(&mark.title)));
        let Interval { value: n, low, high } = mark.n;
        let line = place.map_or_else(|| within(n, x), |place| place.line);
        if let Some(at) = line {
            let (from, to) = (x.place(low.max(x.low)), x.place(high.min(x.high)));
            if to - from > 1.0 {
                let (width, height) = (to - from, BOTTOM - TOP);
                svg.put(format_args!(
                    "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{width:.1}\" height=\"{height}\"/>"
                ));
            }
            let top = if place.is_some() { label_y - 9.0 } else { TOP };
            svg.put(format_args!("<path d=\"M{at:.1} {top:.1}V{BOTTOM}\"/>"));
        }
        if let Some(Place { label: (from, to), ends, line, .. }) = place {
            let (anchor, at) = if ends { ("end", to) } else { ("start", from) };
            let onward = if line.is_none() { " →" } else { "" };
            svg.put(format_args!(
                "<text text-anchor=\"{anchor}\" x=\"{at:.1}\" y=\"{label_y:.1}\">{}{onward}</text>",
                esc(&mark.label)
            ));
        }
        svg.put(format_args!("</g>"));
    }
}

/// Where a mark stands; `None` beyond the axis.
fn within(n: f64, x: &Axis) -> Option<f64> {
    (n >= x.low && n <= x.high).then(|| x.place(n))
}

/// A place for each label beside its line, in as few lanes as there can be.
fn lay(marks: &[Mark], x: &Axis) -> Vec<Option<Place>> {
    let choices: Vec<Vec<Place>> = marks.iter().map(|mark| choices(mark, x)).collect();
    for lanes in 1..=LANES_MAX {
        let mut places = Vec::with_capacity(marks.len());
        if fill(&choices, lanes, &mut places, &mut { TRIES_MAX }) {
            return places;
        }
    }
    // Too many: each takes a place that is left, and the last have none.
    let mut places: Vec<Option<Place>> = Vec::with_capacity(marks.len());
    for of_mark in &choices {
        let free = of_mark.iter().find(|place| is_free(place, &places)).copied();
        places.push(free);
    }
    places
}

/// Where a label may stand: right or left of its line, in any lane, the lowest first.
fn choices(mark: &Mark, x: &Axis) -> Vec<Place> {
    let n = mark.n.value;
    if !n.is_finite() {
        return Vec::new();
    }
    let long = (mark.label.chars().count() as f64 + 1.0) * CHARACTER;
    let line = within(n, x);
    let right = |at: f64| ((at + BESIDE, at + BESIDE + long), false);
    let left = |at: f64| ((at - BESIDE - long, at - BESIDE), true);
    let sides = match line {
        Some(at) => vec![right(at), left(at)],
        None if n < x.low => vec![right(LEFT)],
        None => vec![left(WIDTH)],
    };
    let place =
        |lane| sides.iter().map(move |(label, ends)| Place { line, label: *label, ends: *ends, lane });
    (0..LANES_MAX).flat_map(place).filter(|place| place.label.0 >= 0.0 && place.label.1 <= WIDTH).collect()
}

/// Gives the marks that have no place yet one in the first lanes, with going back; `false` where there is no
/// way, or none was found soon.
fn fill(choices: &[Vec<Place>], lanes: usize, places: &mut Vec<Option<Place>>, tries: &mut usize) -> bool {
    let Some(of_mark) = choices.get(places.len()) else { return true };
    for place in of_mark.iter().filter(|place| place.lane < lanes) {
        if *tries == 0 {
            return false;
        }
        *tries -= 1;
        if is_free(place, places) {
            places.push(Some(*place));
            if fill(choices, lanes, places, tries) {
                return true;
            }
            places.pop();
        }
    }
    false
}

/// Whether a label covers no other and no line, and its line no label.
fn is_free(place: &Place, others: &[Option<Place>]) -> bool {
    let (from, to) = place.label;
    let covers = |label: (f64, f64), line: Option<f64>| {
        line.is_some_and(|at| at > label.0 - BESIDE && at < label.1 + BESIDE)
    };
    let clear = |other: &Place| {
        let apart = from > other.label.1 + APART || to + APART < other.label.0;
        let under = other.lane >= place.lane && covers(place.label, other.line);
        let over = place.lane >= other.lane && covers(other.label, place.line);
        (place.lane != other.lane || apart) && !under && !over
    };
    others.iter().flatten().all(clear)
}

#[cfg(test)]
mod tests {
    use super::super::svg::Kind;
    use super::super::svg::RIGHT;
    use super::*;

    fn marks(places: &[f64]) -> Vec<Mark> {
        let mark = |n: &f64| Mark {
            class: "step",
            n: Interval { value: *n, low: *n, high: *n },
            label: format!("+510 % at {n}"),
            title: String::new(),
        };
        places.iter().map(mark).collect()
    }

    #[test]
    fn labels_cover_neither_each_other_nor_a_line() {
        let x = Axis::new(Kind::Linear, 0.0, 20_000.0, LEFT, RIGHT);
        for places in [
            vec![10.0, 19_999.0],
            vec![3_000.0, 5_000.0],
            vec![9_900.0, 10_000.0, 10_100.0],
            vec![19_000.0, 19_500.0, 20_000.0],
            vec![0.0, 1.0, 2.0, 3.0],
            vec![14_116.0, 18_020.0],
        ] {
            let laid = lay(&marks(&places), &x);
            assert!(laid.iter().all(Option::is_some), "{places:?} {laid:?}");
            for (i, place) in laid.iter().enumerate() {
                let others: Vec<Option<Place>> =
                    laid.iter().enumerate().map(|(j, other)| other.filter(|_| i != j)).collect();
                assert!(is_free(place.as_ref().expect("laid"), &others), "{places:?} {laid:?}");
            }
        }
    }

    #[test]
    fn what_is_beyond_the_axis_stands_at_its_edge() {
        let x = Axis::new(Kind::Log, 10.0, 20_000.0, LEFT, RIGHT);
        let laid = lay(&marks(&[28_000.0]), &x);
        assert!(laid[0].is_some_and(|place| place.line.is_none() && place.ends && place.lane == 0));
        assert_eq!(head(&marks(&[28_000.0]), &x), LANE);
        assert_eq!(head(&[], &x), 0.0);
        let crowd: Vec<f64> = (0..40).map(|i| 15_000.0 + f64::from(i)).collect();
        assert!(head(&marks(&crowd), &x) <= LANES_MAX as f64 * LANE);
    }
}
