//! The sections of a page of a fleet: its hosts, the ratios and costs over them, and a figure for each
//! series.
//!
//! The figure has a row for each host with its value and interval, over the interval of the mean and that of
//! a further host.

use std::io::{self, Write};

use judge::{Findings, Fleet, FleetRatio, FleetSeries};
use record::Unit;
use stats::Interval;

use super::{apart, costs, differences, held, lists, ratios, words};
use crate::document::{Assets, Column, Document, Element, Figure, Fold, Section, Table, Text, Tone, page};
use crate::html::esc;
use crate::html::svg::{Axis, Kind, cost_label, factor_label};
use crate::html::svg::{ROOM_ACROSS, Svg, WIDTH};
use crate::html::tracks::shortened;
use crate::place::span;
use crate::quantity::Quantity;
use crate::words::{factor_with_interval, things};

/// The rules of style of the figures of hosts. They are not part of the styles of every page: a page without
/// a fleet stays as it is.
pub(crate) const STYLE: &str = "\
.plot .further { fill: var(--soft); opacity: 0.13; }
.plot .mean { fill: var(--corridor); opacity: 0.26; }
.plot .host { fill: var(--cloud); } .plot .host.apart { fill: var(--notable); }
.plot .host .reach { stroke: var(--cloud); stroke-width: 1.6; fill: none; }
.plot .host.apart .reach { stroke: var(--notable); stroke-width: 2.4; }
.plot .host.apart text { fill: var(--notable); font-weight: 500; }
#fleet figure { max-width: 760px; margin-bottom: 24px; }
";

/// Figures that are open when the page is opened, at the most.
const OPEN_MOST: usize = 3;
/// The plot begins here, behind the names of the hosts, and ends there.
const LEFT: f64 = 112.0;
const RIGHT: f64 = WIDTH - 20.0;
const TOP: f64 = 8.0;
/// Below the last row: the axis.
const FOOT: f64 = 30.0;
/// With more hosts than this the rows are low, and only outlying hosts have their names.
const NAMED_MOST: usize = 40;
const ROW: f64 = 17.0;
const ROW_LOW: f64 = 6.0;
/// Names are at least so far apart.
const APART: f64 = 15.0;
const NAME_MAX: usize = 14;
/// An axis that spans this factor is logarithmic.
const LOGARITHMIC_FROM: f64 = 5.0;

/// The head of the page of a run: its lead, and the remarks on its machines.
pub(crate) fn head(findings: &Findings, fleet: &Fleet) -> Vec<Element> {
    let lead = Text::from(words::summary(fleet)).into();
    let remarks = super::remarks(findings, fleet, false);
    let remarks: Vec<Element> = remarks.iter().map(|text| Text::toned(text, Tone::Faint).into()).collect();
    let fold = (!remarks.is_empty()).then(|| {
        let title = things(remarks.len(), "remark", "remarks").into();
        Fold { title, blocks: remarks, ..Fold::default() }.into()
    });
    std::iter::once(lead).chain(fold).collect()
}

/// Writes two runs on the same hosts as a page.
///
/// # Errors
/// Those of `out`.
pub fn write(fleet: &Fleet, out: &mut dyn Write) -> io::Result<()> {
    let title = words::ratios_title(fleet);
    let lead = Text::from(words::summary(fleet)).into();
    let document = Document {
        title,
        over: vec!["comparison of fleets".into()],
        blocks: std::iter::once(lead).chain(blocks(fleet)).collect(),
        assets: Assets { style: STYLE, script: "" },
        ..Document::default()
    };
    page::write(&document, out)
}

/// The section of the fleet.
pub(crate) fn blocks(fleet: &Fleet) -> Vec<Element> {
    let mut section = Section { id: "fleet".into(), ..Section::new("Fleet") };
    section.say(Text::toned(held(fleet), Tone::Faint));
    differences(fleet).into_iter().for_each(|block| section.push(block));
    apart(fleet).into_iter().for_each(|part| section.push(part));
    section.push(host_section(fleet));
    let mut open = OPEN_MOST;
    if !fleet.ratios.is_empty() {
        let mut part = Section::new(words::ratios_title(fleet));
        part.push(ratios(fleet));
        for (place, ratio) in by_distance(&fleet.ratios, |one| !one.outliers.is_empty()) {
            part.push(folded(of_ratio(fleet, place, ratio), !ratio.outliers.is_empty(), &mut open));
        }
        section.push(part);
    }
    if !fleet.series.is_empty() {
        let mut part = Section::new(words::costs_title(fleet));
        part.push(costs(fleet));
        for (place, series) in by_distance(&fleet.series, |one| !one.outliers.is_empty()) {
            part.push(folded(of_series(place, series), !series.outliers.is_empty(), &mut open));
        }
        section.push(part);
    }
    lists(fleet).into_iter().for_each(|block| section.push(block));
    vec![section.into()]
}

/// The facts that all hosts share, in place of a column for each of a hundred systems.
pub(crate) fn environment(findings: &Findings, fleet: &Fleet) -> Section {
    let mut section = Section { id: "environment".into(), ..Section::new("Environment") };
    section
        .say("The facts that all hosts have in common; the table of hosts has those in which they differ.");
    let known = findings.systems.iter().find(|system| !system.environment.is_empty());
    let differs = |key: &str| fleet.hosts.iter().any(|host| host.facts.contains_key(key));
    let mut table = Table { class: "facts", ..Table::of_columns(vec![Column::default(), Column::default()]) };
    let facts = known.into_iter().flat_map(|system| &system.environment);
    for (key, value) in facts.filter(|(key, _)| !differs(key)) {
        table.push([key.clone(), value.clone()]);
    }
    section.push(table);
    section
}

/// Those with outlying hosts first, each with its place.
fn by_distance<T>(all: &[T], is_apart: impl Fn(&T) -> bool) -> Vec<(usize, &T)> {
    let mut places: Vec<(usize, &T)> = all.iter().enumerate().collect();
    places.sort_by_key(|(_, one)| !is_apart(one));
    places
}

/// The table of hosts; of many the first are those to look at, and the others stand behind a fold.
fn host_section(fleet: &Fleet) -> Element {
    const SHOWN_MOST: usize = 12;
    let mut table = super::hosts(fleet);
    let mut section = Section::new("Hosts");
    let rest = table.rows.split_off(table.rows.len().min(SHOWN_MOST));
    let others = Table { rows: rest, ..table.clone() };
    section.push(table);
    if !others.rows.is_empty() {
        let title = things(others.rows.len(), "more host", "more hosts").into();
        section.push(Fold { title, blocks: vec![others.into()], ..Fold::default() });
    }
    section.into()
}

/// A figure on demand; the first with outlying hosts are open.
fn folded(figure: OverHosts<'_>, is_apart: bool, open: &mut usize) -> Fold {
    let is_open = is_apart && *open > 0;
    *open -= usize::from(is_open);
    let title = Text::from(figure.title.as_str());
    let drawn = Figure { title: Text::default(), ..figure.draw() };
    Fold { title, blocks: vec![drawn.into()], is_open, ..Fold::default() }
}

fn of_series(place: usize, series: &FleetSeries) -> OverHosts<'_> {
    let is_apart = |host: &str| series.outliers.iter().any(|one| one.host == host);
    let hosts = series.hosts.iter().rev().map(|one| (one.host.as_str(), one.value, is_apart(&one.host)));
    OverHosts {
        id: format!("fleet-s{place}"),
        title: series.label(),
        unit: Some(series.unit),
        hosts: hosts.collect(),
        mean: series.mean,
        prediction: series.prediction,
        captions: vec![
            format!("{} Mean over n {}.", caption(), span(series.n_low, series.n_high)),
            words::classes(series),
        ],
    }
}

fn of_ratio<'a>(fleet: &Fleet, place: usize, ratio: &'a FleetRatio) -> OverHosts<'a> {
    let is_apart = |host: &str| ratio.outliers.iter().any(|one| one.host == host);
    let hosts = ratio.hosts.iter().rev().map(|one| (one.host.as_str(), one.ratio, is_apart(&one.host)));
    OverHosts {
        id: format!("fleet-r{place}"),
        title: format!("Ratio of {}", words::ratio_name(fleet, ratio)),
        unit: None,
        hosts: hosts.collect(),
        mean: ratio.mean,
        prediction: ratio.prediction,
        captions: vec![caption().to_owned(), words::counts(ratio)],
    }
}

fn caption() -> &'static str {
    "Each host with its interval, the largest first; a diamond lies apart. Green: the mean of the hosts. \
     Grey: where a further host is expected."
}

/// A figure of one series.
struct OverHosts<'a> {
    id: String,
    title: String,
    /// Unit of the values; `None` for ratios.
    unit: Option<Unit>,
    /// The largest first, each with its name and whether it lies apart.
    hosts: Vec<(&'a str, Interval, bool)>,
    mean: Option<Interval>,
    prediction: Option<Interval>,
    captions: Vec<String>,
}

impl OverHosts<'_> {
    /// The figure; without a drawing where no host has a value.
    fn draw(&self) -> Figure {
        let svg = self.axis().map(|axis| self.svg(&axis)).unwrap_or_default();
        let captions = self.captions.iter().map(|words| Text::toned(words, Tone::Faint)).collect();
        let title = Text::from(self.title.as_str());
        Figure { id: self.id.clone(), title, svg, captions, characters: Vec::new() }
    }

    fn axis(&self) -> Option<Axis> {
        let ends = |interval: &Interval| [interval.low, interval.value, interval.high];
        let of_hosts = self.hosts.iter().flat_map(|(_, value, _)| ends(value));
        // A wide interval of a further host, from few hosts, must not press all hosts together.
        let values: Vec<f64> = self.hosts.iter().map(|(_, value, _)| value.value).collect();
        let (low, high) = (least(&values)?, most(&values)?);
        let room = (high / low).max(1.01);
        let inside = |value: &f64| value.is_finite() && *value >= low / room && *value <= high * room;
        let all: Vec<f64> = of_hosts
            .chain(self.mean.iter().flat_map(ends))
            .chain(self.prediction.iter().flat_map(ends))
            .filter(inside)
            .collect();
        let (low, high) = (least(&all)?, most(&all)?);
        let kind = if high > LOGARITHMIC_FROM * low { Kind::Log } else { Kind::Linear };
        let edge = if kind == Kind::Linear { 0.03 * (high - low).max(0.01 * high) } else { 0.0 };
        let axis = Axis::new(kind, low - edge, high + edge, LEFT, RIGHT);
        Some(self.unit.map_or(axis, |unit| axis.of(unit)))
    }

    fn row(&self) -> f64 {
        if self.hosts.len() > NAMED_MOST { ROW_LOW } else { ROW }
    }

    fn svg(&self, axis: &Axis) -> String {
        let bottom = TOP + self.row() * self.hosts.len() as f64;
        let mut svg = Svg::open_of_height(&self.id, bottom + FOOT);
        let apart: Vec<&str> = self.hosts.iter().filter(|host| host.2).map(|host| host.0).collect();
        let description = match apart.as_slice() {
            [] => format!("{} hosts; none lies apart", self.hosts.len()),
            some => format!("{} hosts; apart: {}", self.hosts.len(), some.join(", ")),
        };
        svg.describe(&self.title, &description);
        let bands = [("further", &self.prediction), ("mean", &self.mean)];
        for (class, band) in bands.into_iter().filter_map(|(class, band)| Some((class, band.as_ref()?))) {
            let (from, to) = (inside(axis, band.low), inside(axis, band.high));
            let height = bottom - TOP;
            svg.put(format_args!(
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" \
                 height=\"{height:.1}\"/>",
                (to - from).max(1.0)
            ));
        }
        if let Some(mean) = self.mean {
            let at = inside(axis, mean.value);
            svg.put(format_args!("<path class=\"rule\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/>"));
        }
        // Equal costs, where they are within the axis.
        if self.unit.is_none() && axis.low <= 1.0 && axis.high >= 1.0 {
            svg.put(format_args!("<path class=\"mark\" d=\"M{:.1} {TOP}V{bottom:.1}\"/>", axis.place(1.0)));
        }
        self.foot(axis, bottom, &mut svg);
        let mut named = f64::NEG_INFINITY;
        for (place, host) in self.hosts.iter().enumerate() {
            let y = TOP + self.row() * (place as f64 + 0.5);
            let has_name = (host.2 || self.hosts.len() <= NAMED_MOST) && y - named >= APART;
            if has_name {
                named = y;
            }
            self.host(axis, host, y, has_name, &mut svg);
        }
        svg.close()
    }

    fn foot(&self, axis: &Axis, bottom: f64, svg: &mut Svg) {
        svg.put(format_args!("<path class=\"mark\" d=\"M{LEFT} {bottom:.1}H{RIGHT}\"/>"));
        for tick in axis.ticks(ROOM_ACROSS).iter().filter(|tick| tick.at >= LEFT && tick.at <= RIGHT + 0.5) {
            let size = if tick.labelled { 5 } else { 3 };
            svg.put(format_args!("<path class=\"mark\" d=\"M{:.1} {bottom:.1}v{size}\"/>", tick.at));
            if tick.labelled {
                let label = match self.unit {
                    Some(unit) => cost_label(tick.value, unit, axis),
                    None => factor_label(tick.value),
                };
                svg.put(format_args!(
                    "<text class=\"x\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                    tick.at,
                    bottom + 20.0
                ));
            }
        }
    }

    fn host(&self, axis: &Axis, host: &(&str, Interval, bool), y: f64, has_name: bool, svg: &mut Svg) {
        let (name, value, is_apart) = *host;
        let class = if is_apart { "host apart" } else { "host" };
        let (from, at, to) = (inside(axis, value.low), inside(axis, value.value), inside(axis, value.high));
        let mark = match is_apart {
            true => format!("<path class=\"dot\" d=\"M{at:.1} {:.1}l5 5l-5 5l-5-5z\"/>", y - 5.0),
            false => format!(
                "<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"{}\"/>",
                if self.row() < ROW { 2.0 } else { 3.2 }
            ),
        };
        let text = match has_name {
            true => format!(
                "<text class=\"y\" x=\"{}\" y=\"{:.1}\">{}</text>",
                LEFT - 10.0,
                y + 4.0,
                esc(&shortened(name, NAME_MAX))
            ),
            false => String::new(),
        };
        svg.put(format_args!(
            "<g class=\"{class}\"><title>{}</title><path class=\"reach\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>\
             {mark}{text}</g>",
            esc(&self.said(name, value))
        ));
    }

    fn said(&self, name: &str, value: Interval) -> String {
        let value = match self.unit {
            Some(unit) => unit.estimate_with_interval(value),
            None => factor_with_interval(value),
        };
        format!("{name}: {value}")
    }
}

fn inside(axis: &Axis, value: f64) -> f64 {
    axis.place(value).clamp(LEFT, RIGHT)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| value.is_finite()).reduce(f64::min)
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|value| value.is_finite()).reduce(f64::max)
}
