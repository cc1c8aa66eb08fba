//! All scalings in one picture: a row for each operation, and in it a mark for each variant at the work of
//! each of the most workers, over that of one alone.

use judge::{Finding, Findings};
use record::System;
use stats::Speedup;

use super::escape::esc;
use super::scale::{Axis, Kind, factor_label};
use super::svg::{Svg, WIDTH};
use super::tracks;
use crate::compare::name;
use crate::document::{Element, Figure, Text, Tone};
use crate::sentences;
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

/// The picture of a system; `None` for a single operation.
pub(super) fn picture(findings: &Findings, system: &System) -> Option<Element> {
    let of_system = findings.series.iter().filter(|finding| finding.key.system == system.name);
    let scaled = of_system.filter_map(|finding| Some((finding, finding.scaling.as_ref()?.speedups.last()?)));
    let mut scaled: Vec<Mark<'_>> = scaled.collect();
    let most = scaled.iter().map(|(_, last)| last.workers).max()?;
    scaled.retain(|(_, last)| last.workers == most);
    let number = findings.systems.iter().position(|other| other.name == system.name)?;
    let overview = Overview::new(format!("efficiencies{number}"), scaled);
    let on = sentences::on_system(findings, system);
    let title = format!("Work of each of {} workers{on}, over that of one alone", count(most));
    let svg = (overview.operations.len() > 1).then(|| overview.draw(&title))?;
    let captions = vec![Text::toned("At ×1 an operation scales; lines are the intervals.", Tone::Faint)];
    let id = overview.id;
    Some(Element::Figure(Figure { id, title: Text::from(title), svg, captions, ..Figure::default() }))
}

/// A variant of an operation, by the largest number of workers.
type Mark<'a> = (&'a Finding, &'a Speedup);

/// The class of a mark: where the colours are used up, they come again hollow.
fn mark(place: usize) -> &'static str {
    if (place / tracks::COLOURS).is_multiple_of(2) { "knot" } else { "hollow" }
}

struct Overview<'a> {
    id: String,
    all: Vec<Mark<'a>>,
    operations: Vec<&'a str>,
    /// A variant has its colour by its place here.
    variants: Vec<&'a str>,
    axis: Axis,
}

impl<'a> Overview<'a> {
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
        Overview { id, all, operations, variants, axis: Axis::new(Kind::Linear, 0.0, end, FROM, TO) }
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
