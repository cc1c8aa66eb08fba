//! All scalings in one picture: a row for each operation, and in it a mark for each variant at the work of
//! each of the most workers, over that of one alone.

use judge::Finding;
use stats::Scaling;

use super::escape::esc;
use super::scale::{Axis, Kind, factor_label};
use super::source::Source;
use super::svg::{Svg, WIDTH};
use super::tracks;
use crate::document::{Element, Figure, Text, Tone};
use crate::words::{count, factor_with_interval};

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

/// The picture; `None` for a single operation.
pub(super) fn picture(source: &Source<'_>) -> Option<Element> {
    let scaled = source.findings.series.iter().filter_map(|one| Some((one, one.scaling.as_ref()?)));
    let overview = Overview::new(scaled.collect());
    let most = overview.all.iter().filter_map(|(_, scaling)| scaling.speedups.last());
    let most = most.map(|last| last.workers).max()?;
    let title = format!("Work of each of {} workers, over that of one alone", count(most));
    let svg = (overview.operations.len() > 1).then(|| overview.draw(&title))?;
    let captions = vec![Text::toned("At ×1 an operation scales; lines are the intervals.", Tone::Faint)];
    Some(Element::Figure(Figure {
        id: ID.into(),
        title: Text::from(title),
        svg,
        captions,
        ..Figure::default()
    }))
}

const ID: &str = "efficiencies";

struct Overview<'a> {
    all: Vec<(&'a Finding, &'a Scaling)>,
    operations: Vec<&'a str>,
    /// A variant has its colour by its place here.
    variants: Vec<&'a str>,
    axis: Axis,
}

impl<'a> Overview<'a> {
    fn new(all: Vec<(&'a Finding, &'a Scaling)>) -> Self {
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
        let ends = all.iter().filter_map(|(_, scaling)| Some(scaling.speedups.last()?.efficiency.high));
        let end = ends.filter(|end| *end < HIGHEST).fold(LEAST_END, f64::max);
        Overview { all, operations, variants, axis: Axis::new(Kind::Linear, 0.0, end, FROM, TO) }
    }

    fn draw(&self, title: &str) -> String {
        let places = self.legend();
        let top = places.last().map_or(0.0, |place| place.1) + ROW;
        let bottom = top + ROW * self.operations.len() as f64;
        let mut svg = Svg::open_of_height(ID, bottom + FOOT);
        svg.describe(title, "A row for each operation, a mark for each variant.");
        for ((place, name), (x, y)) in self.variants.iter().enumerate().zip(places) {
            let words = if name.is_empty() { "plain" } else { name };
            svg.put(format_args!(
                "<g class=\"{}\"><circle class=\"knot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{MARK}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                tracks::style(place),
                x + MARK,
                y + 8.0,
                x + 14.0,
                y + 12.0,
                esc(words)
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
        for (name, row) in self.operations.iter().zip(0_u32..) {
            self.row(name, top + ROW * (f64::from(row) + 0.5), &mut svg);
        }
        svg.close()
    }

    /// The places of the variants' names, line after line.
    fn legend(&self) -> Vec<(f64, f64)> {
        let mut next = (0.0, 0.0);
        let place = |name: &&str| {
            let width = ENTRY + LETTER * name.chars().count() as f64;
            let here = if next.0 + width > WIDTH { (0.0, next.1 + ROW) } else { next };
            next = (here.0 + width, here.1);
            here
        };
        self.variants.iter().map(place).collect()
    }

    fn row(&self, name: &str, y: f64, svg: &mut Svg) {
        svg.put(format_args!("<text class=\"value\" x=\"0\" y=\"{:.1}\">{}</text>", y + 4.0, esc(name)));
        for (finding, scaling) in self.all.iter().filter(|(finding, _)| finding.key.workload == name) {
            let Some(efficiency) = scaling.speedups.last().map(|last| last.efficiency) else { continue };
            let place = self.variants.iter().position(|variant| *variant == finding.key.variant);
            let at = |value: f64| self.axis.place(value).clamp(FROM, TO);
            let said = format!("{}: {}", finding.key.variant, factor_with_interval(efficiency));
            svg.put(format_args!(
                "<g class=\"{}\"><path class=\"hair\" d=\"M{:.1} {y:.1}H{:.1}\"/><circle class=\"knot\" \
                 cx=\"{:.1}\" cy=\"{y:.1}\" r=\"{MARK}\"><title>{}</title></circle></g>",
                tracks::style(place.unwrap_or_default()),
                at(efficiency.low),
                at(efficiency.high),
                at(efficiency.value),
                esc(&said)
            ));
        }
    }
}
