//! The history of a folder of runs: a document for the terminal and for a page, tables for programs, and
//! figures over time.

mod words;

use std::io::{self, Write};

use history::{
    BoundaryKind, CostChange, HistoryAnswer, LeftOutRunReason, MachineHistory, RunSummary, SeriesHistory,
    SystemSummary,
};
use stats::{Class, Decision};

use crate::document::{Cell, Column, Document, Element, Figure, Fold, Narrow, Section, Table, Text, Tone};
use crate::export::field;
use crate::formats::openmetrics::{UNITS, family, labels, unit_of};
use crate::html::esc;
use crate::html::plot::sparkline;
use crate::html::svg::{Axis, Kind, Tick, cost_label};
use crate::html::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use crate::quantity::Quantity;
use crate::sentences;
use crate::text::spark_of_heights;
use crate::words::{change_with_interval, list, things};
pub use words::{CheckAnswer, CostAlarm, check_document, when, when_to_second};

/// Changes that are shown unless all are wanted.
const CHANGES_MOST: usize = 12;
/// Series that are shown unless all are wanted.
const SERIES_MOST: usize = 10;
/// Files that are named, of those that do not count for one reason.
const FILES_MOST: usize = 3;
/// The class of its tables in a page, which a narrow screen shows by lines of their own.
const CLASS: &str = "verdicts history";
/// Points of a curve in a cell.
const SPARK: usize = 32;
/// How costs of a history are formed.
const READING: &str = "A cost is the mean over all n that a series was measured at; osdyno compare has the \
    change at each n.";
/// Dates along the axis.
const DATES: usize = 5;
/// Points become smaller beyond so many.
const CROWDED: usize = 60;
/// How to read a figure.
const FIGURE_READING: &str = "Each point is a run, and each band the interval of a level. Where nearly all \
    series of a run cost more or less, that part is taken off; a thin line leads from the point to the value \
    as measured";

/// Gives the address of the page of a series, where there are pages.
type SeriesLink<'a> = &'a dyn Fn(&SeriesHistory) -> Option<String>;

/// A history as a document: changes first, then the series of each machine.
pub fn document(answer: &HistoryAnswer) -> Document {
    linked(answer, &|_, _| None)
}

/// The same with the address of the page of each series, of a machine by its place.
pub fn linked(answer: &HistoryAnswer, link: &dyn Fn(usize, &SeriesHistory) -> Option<String>) -> Document {
    let mut document = Document { title: format!("History of {}", answer.folder), ..Document::default() };
    document.say(Text::toned(summary(answer), Tone::Strong));
    left_out(answer).into_iter().for_each(|line| document.say(Text::toned(line, Tone::Faint)));
    for (place, machine) in answer.machines.iter().enumerate() {
        document.push(section(machine, &|series| link(place, series)));
    }
    document.say(Text::toned(READING, Tone::Faint));
    document
}

/// The counts of a history.
fn summary(answer: &HistoryAnswer) -> String {
    let machines = things(answer.machines.len(), "machine", "machines");
    format!("{} on {machines}: {}", things(answer.runs, "run", "runs"), changes_counted(answer))
}

/// The changes of all machines, counted.
fn changes_counted(answer: &HistoryAnswer) -> String {
    let since = answer.changes_since.as_ref().map_or(String::new(), |day| format!(" since {day}"));
    match answer.machines.iter().map(|machine| machine.changes.len()).sum() {
        0 => format!("no cost changed{since}"),
        some => format!("{}{since}", things(some, "change of cost", "changes of cost")),
    }
}

/// Files that do not count, by reason.
fn left_out(answer: &HistoryAnswer) -> Vec<String> {
    let reasons = [
        LeftOutRunReason::Unreadable,
        LeftOutRunReason::Damaged,
        LeftOutRunReason::NotEnded,
        LeftOutRunReason::Copy,
    ];
    let of = |reason: LeftOutRunReason| {
        let files = answer.left_out.iter().filter(|one| one.reason == reason);
        let files: Vec<String> = files.map(|one| one.file.clone()).collect();
        let shown = list(&files[..files.len().min(FILES_MOST)]);
        let more = if files.len() > FILES_MOST { " and others" } else { "" };
        let count = things(files.len(), "file", "files");
        (!files.is_empty()).then(|| format!("{count} {}: {shown}{more}", words::left_out(reason)))
    };
    reasons.into_iter().filter_map(of).collect()
}

/// The history of one machine.
fn section(machine: &MachineHistory, link: SeriesLink<'_>) -> Section {
    let title = Text::from(machine.machine.title()).and(format!(": {}", words::runs(machine)));
    let mut section = Section { title, ..Section::default() };
    if !machine.changes.is_empty() {
        section.push(changes(machine, link));
    }
    if let Some(drift) = machine.drift.as_ref().filter(|drift| drift.reaches_limit == Decision::Certain) {
        section.say(Text::toned(format!("The machine {}", words::drift(drift)), Tone::Notable));
    }
    for boundary in &machine.boundaries {
        let text = format!("{}; costs begin anew", words::boundary(machine, boundary));
        section.say(Text::toned(text, Tone::Faint));
    }
    let (details, main): (Vec<_>, Vec<_>) = machine.series.iter().partition(|series| series.detail);
    section.push(series(machine, &main, link));
    if !details.is_empty() {
        let blocks = vec![Element::from(series(machine, &details, link))];
        section.push(Fold { title: "Other operations".into(), blocks, ..Fold::default() });
    }
    section
}

fn changes(machine: &MachineHistory, link: SeriesLink<'_>) -> Table {
    let columns = vec![
        "Changed".into(),
        Column::number("Cost"),
        "Since".into(),
        Column { narrow: Narrow::LeftOut, ..Column::from("Kernel") }.class("wide"),
        Column { narrow: Narrow::Below, ..Column::from("Differs") },
    ];
    let mut table = Table { rows_max: CHANGES_MOST, class: CLASS, ..Table::of_columns(columns) };
    let mut said = String::new();
    for change in &machine.changes {
        let differences = words::differences(change);
        let is_said = std::mem::replace(&mut said, differences.clone()) == differences;
        let differences = if is_said { "the same".to_owned() } else { differences };
        let tone = if change.ratio.value > 1.0 { Tone::Notable } else { Tone::Good };
        table.push([
            Cell::from(changed(machine, change, link)),
            Cell::toned(change_with_interval(change.ratio), tone),
            words::time(machine, change.night).into(),
            words::kernel(machine, change).into(),
            Cell::toned(differences, Tone::Faint),
        ]);
    }
    table
}

/// The series of a change, each with its page.
fn changed(machine: &MachineHistory, change: &CostChange, link: SeriesLink<'_>) -> Text {
    let linked = |name: &String| {
        let series = machine.series.iter().find(|series| &series.series == name);
        match series.and_then(link) {
            Some(address) => Text::linked(name.as_str(), Tone::Strong, address),
            None => Text::toned(name.as_str(), Tone::Strong),
        }
    };
    match change.series.as_slice() {
        [one] if !change.is_shared => linked(one),
        _ => Text::toned(words::changed(change), Tone::Strong),
    }
}

/// A row for each series: the newest segment, and the one before.
fn series(machine: &MachineHistory, all: &[&SeriesHistory], link: SeriesLink<'_>) -> Table {
    let columns = vec![
        "Series".into(),
        Column::number("Now"),
        Column::number("In runs"),
        Column { narrow: Narrow::LeftOut, ..Column::from("Last change") }.class("wide"),
        Column { narrow: Narrow::LeftOut, ..Column::from("Drift a year") }.class("wide"),
        Column { narrow: Narrow::LeftOut, ..Column::from("Course") }.class("curve"),
    ];
    let more = ": --verbose shows all";
    let mut table = Table { rows_max: SERIES_MOST, more, class: CLASS, ..Table::of_columns(columns) };
    for one in all {
        let name = match link(one) {
            Some(address) => Text::linked(one.series.as_str(), Tone::Plain, address),
            None => Text::from(one.series.as_str()),
        };
        let newest = one.segments.last();
        let changed = newest.filter(|segment| segment.ratio.is_some());
        let before = changed.map_or("—".to_owned(), words::segment_change);
        // A level of runs long ago is not that of today.
        let last = one.values.iter().rposition(Option::is_some);
        let last = last.filter(|last| last + 1 < machine.nights.len() && newest.is_some());
        let until = last.map_or(String::new(), |last| format!(", last {}", words::time(machine, last)));
        let drift =
            one.drift.as_ref().map_or("—".to_owned(), |drift| change_with_interval(drift.ratio_per_year));
        let mut course = Cell::from(spark_of_heights(&heights(one)));
        course.picture = Some(sparkline(&heights(one), &words::segments(one)));
        table.push([
            Cell::from(name),
            newest
                .map_or("too few runs".to_owned(), |segment| {
                    one.unit.estimate_with_interval(segment.value) + &until
                })
                .into(),
            newest.map_or(0, |segment| segment.nights).to_string().into(),
            before.into(),
            drift.into(),
            course,
        ]);
    }
    table
}

/// The newest values between the least and the most of them.
fn heights(series: &SeriesHistory) -> Vec<f64> {
    let known: Vec<f64> = series.values.iter().flatten().copied().collect();
    let known = &known[known.len().saturating_sub(SPARK)..];
    let low = known.iter().copied().fold(f64::INFINITY, f64::min);
    let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A range below a twentieth is noise, and is not drawn as mountains.
    let room = (high - low).max(0.05 * high);
    known.iter().map(|value| (value - low) / room).collect()
}

/// The segments of a series, each with the address of its first run, and of the page that compares the two
/// runs between which it changed.
pub fn segments(
    machine: &MachineHistory,
    series: &SeriesHistory,
    address: &dyn Fn(usize) -> Option<String>,
    compare: &dyn Fn(usize, usize) -> Option<String>,
) -> Table {
    let columns = vec![
        "Since".into(),
        "Kernel".into(),
        Column::number("Value"),
        Column::number("Runs"),
        "Change".into(),
        Column { narrow: Narrow::Below, ..Column::from("Differs") },
    ];
    let mut table = Table { class: CLASS, ..Table::of_columns(columns) };
    for segment in series.segments.iter().rev() {
        let linked = |words: String, address: Option<String>| match address {
            Some(address) => Text::linked(words, Tone::Plain, address),
            None => words.into(),
        };
        let change = segment.ratio.map_or(Text::default(), |_| {
            let before = series.measured_before(segment);
            let pair = before.and_then(|before| compare(before, segment.first));
            let pair = pair.map(|address| Text::linked("both runs", Tone::Plain, address));
            let change = Text::from(words::segment_change(segment));
            match pair {
                Some(pair) => change.and(" · ").and(pair),
                None => change,
            }
        });
        let is_its =
            |change: &&CostChange| change.night == segment.first && change.series.contains(&series.series);
        let change_of = machine.changes.iter().find(is_its).filter(|_| segment.ratio.is_some());
        table.push([
            Cell::from(linked(words::time(machine, segment.first), address(segment.first))),
            machine.nights.get(segment.first).map_or("", |night| night.kernel.as_str()).into(),
            series.unit.estimate_with_interval(segment.value).into(),
            segment.nights.to_string().into(),
            change.into(),
            Cell::toned(change_of.map_or(String::new(), words::differences), Tone::Faint),
        ]);
    }
    table
}

/// The machine of a system, as the list of runs has it.
pub fn run_machine(system: &SystemSummary) -> String {
    system.machine().title()
}

/// The kernel of a system.
pub fn run_kernel(system: &SystemSummary) -> String {
    system.kernel()
}

/// The verdicts of a run, counted: `12 flat, 3 linear`.
pub fn classes(run: &RunSummary) -> String {
    let mut counts: Vec<(Class, usize)> = Vec::new();
    for class in run.series.iter().filter(|series| !series.detail).filter_map(|series| series.class) {
        match counts.iter_mut().find(|(known, _)| *known == class) {
            Some((_, count)) => *count += 1,
            None => counts.push((class, 1)),
        }
    }
    counts.sort_by_key(|(class, count)| (std::cmp::Reverse(*count), *class));
    let words = counts.iter().map(|(class, count)| format!("{count} {}", sentences::class_name(*class)));
    words.collect::<Vec<_>>().join(", ")
}

/// How many runs a list shows, and how the history of the folder stands.
pub fn counted(answer: &HistoryAnswer, shown: usize, of: usize) -> String {
    let runs = things(of, "run", "runs");
    let runs = if shown == of { runs } else { format!("{shown} of {runs}") };
    format!("{runs}; {}", changes_counted(answer))
}

/// Writes a row for each value of each run: CSV as RFC 4180 has it.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(answer: &HistoryAnswer, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "machine,series,unit,run,started_at,kernel,value,segment")?;
    for machine in &answer.machines {
        let title = machine.machine.title();
        for series in &machine.series {
            for (place, value) in series.values.iter().enumerate() {
                let (Some(value), Some(night)) = (value, machine.nights.get(place)) else { continue };
                let segment = series.segments.iter().position(|one| (one.first..=one.last).contains(&place));
                let segment = segment.map_or(String::new(), |segment| (segment + 1).to_string());
                let cells = [
                    &title,
                    &series.series,
                    series.unit.name(),
                    &night.run,
                    &night.started_at,
                    &night.kernel,
                ];
                let mut line = String::new();
                cells.iter().for_each(|cell| line.extend([field(cell).as_ref(), ","]));
                writeln!(out, "{line}{value},{segment}")?;
            }
        }
    }
    Ok(())
}

/// Writes gauges: the newest level of each series, and the changes that were raised.
///
/// # Errors
/// Those of `out`.
pub fn write_openmetrics(answer: &HistoryAnswer, out: &mut dyn Write) -> io::Result<()> {
    let levels = answer.machines.iter().flat_map(|machine| {
        let title = machine.machine.title();
        machine.series.iter().filter_map(move |series| Some((title.clone(), series, series.segments.last()?)))
    });
    let levels: Vec<_> = levels.collect();
    for (unit, name, help) in UNITS {
        let of_unit = levels.iter().filter(|(_, series, _)| series.unit == unit);
        let samples = of_unit.map(|(machine, series, segment)| {
            (labels(&[("series", &series.series), ("machine", machine)]), segment.value.value)
        });
        family(
            &format!("osdyno_history_{name}"),
            unit_of(name),
            &format!("{help} Newest level."),
            samples,
            out,
        )?;
    }
    let changes = answer.machines.iter().flat_map(|machine| {
        let title = machine.machine.title();
        machine.changes.iter().flat_map(move |change| {
            let since = machine.nights.get(change.night).map_or("", |night| night.started_at.as_str());
            let of = |series: &String| labels(&[("series", series), ("machine", &title), ("since", since)]);
            change.series.iter().map(|series| (of(series), change.ratio.value)).collect::<Vec<_>>()
        })
    });
    let help = "Cost after a change divided by the cost before it.";
    family("osdyno_history_change_ratio", "ratio", help, changes, out)?;
    writeln!(out, "# EOF")
}

/// The figure; without a drawing where no run has a value.
pub fn figure(machine: &MachineHistory, series: &SeriesHistory) -> Figure {
    let svg = drawing(machine, series).unwrap_or_default();
    let captions = vec![Text::toned(caption(series), Tone::Faint)];
    Figure {
        id: series.id.clone(),
        title: series.series.as_str().into(),
        svg,
        captions,
        characters: Vec::new(),
    }
}

fn caption(series: &SeriesHistory) -> String {
    let drift = series.drift.as_ref().map(words::drift);
    let parts = [Some(words::segments(series)), drift, Some(FIGURE_READING.to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(". ")
}

fn drawing(machine: &MachineHistory, series: &SeriesHistory) -> Option<String> {
    let times: Vec<f64> = machine.nights.iter().map(|night| night.started_seconds).collect();
    let known: Vec<f64> = series.values.iter().flatten().copied().collect();
    let ends = series.segments.iter().flat_map(|segment| [segment.value.low, segment.value.high]);
    let all: Vec<f64> = known.iter().copied().chain(ends).filter(|value| value.is_finite()).collect();
    let (low, high) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
    let room = 0.06 * (high - low).max(0.02 * high);
    let y = Axis::new(Kind::Linear, (low - room).max(0.0), high + room, BOTTOM, TOP).of(series.unit);
    let (first, last) = (*times.first()?, *times.last()?);
    let x = Axis::new(Kind::Linear, first, last.max(first + 1.0), LEFT + 8.0, RIGHT - 8.0);
    let mut svg = Svg::open(&format!("{}-plot", series.id), 0.0);
    svg.describe(&series.series, &words::segments(series));
    svg.upright(&y, |tick| cost_label(tick.value, series.unit, &y));
    svg.level(&dates(machine, &x), |tick| date(machine, tick.value), "");
    boundaries(machine, &x, &mut svg);
    for (place, segment) in series.segments.iter().enumerate() {
        let (from, to) = (x.place(times[segment.first]), x.place(times[segment.last]));
        let (top, bottom) = (within(&y, segment.value.high), within(&y, segment.value.low));
        svg.put(format_args!(
            "<rect class=\"corridor\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            (to - from).max(1.0),
            (bottom - top).max(1.0)
        ));
        let level = within(&y, segment.value.value);
        svg.line("median", &[(from, level), (to.max(from + 1.0), level)]);
        if place > 0 && segment.ratio.is_some() {
            svg.put(format_args!("<path class=\"rule\" d=\"M{from:.1} {TOP}V{BOTTOM}\"/>"));
        }
    }
    let radius = if known.len() > CROWDED { 1.4 } else { 2.4 };
    let nights = machine.nights.iter().zip(series.values.iter().zip(&series.steady));
    for (night, (value, steady)) in nights {
        let (Some(value), Some(steady)) = (value, steady) else { continue };
        let at = x.place(night.started_seconds);
        let (measured, steady) = (within(&y, *value), within(&y, *steady));
        let said =
            format!("{}: {}, {}", words::when(&night.started_at), series.unit.cost(*value), night.kernel);
        svg.put(format_args!(
            "<g class=\"night\"><title>{}</title>\
             <path class=\"reach\" d=\"M{at:.1} {measured:.1}V{steady:.1}\"/>\
             <circle class=\"knot\" cx=\"{at:.1}\" cy=\"{steady:.1}\" r=\"{radius}\"/></g>",
            esc(&said)
        ));
    }
    Some(svg.close())
}

/// Known changes beside the system, as broken lines.
fn boundaries(machine: &MachineHistory, x: &Axis, svg: &mut Svg) {
    for boundary in machine.boundaries.iter().filter(|boundary| boundary.kind != BoundaryKind::Workload) {
        let Some(night) = machine.nights.get(boundary.night) else { continue };
        svg.put(format_args!(
            "<path class=\"mark\" stroke-dasharray=\"4 4\" d=\"M{:.1} {TOP}V{BOTTOM}\">\
             <title>{}</title></path>",
            x.place(night.started_seconds),
            esc(&words::boundary(machine, boundary))
        ));
    }
}

/// Marks at the times of some runs.
fn dates(machine: &MachineHistory, x: &Axis) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = Vec::new();
    let apart = (x.high - x.low) / DATES as f64;
    for night in &machine.nights {
        let value = night.started_seconds;
        let is_apart = ticks.last().is_none_or(|last| value - last.value >= apart);
        if is_apart {
            ticks.push(Tick { value, at: x.place(value), labelled: true });
        }
    }
    ticks
}

fn date(machine: &MachineHistory, seconds: f64) -> String {
    let night = machine.nights.iter().find(|night| night.started_seconds == seconds);
    let span = machine
        .nights
        .last()
        .zip(machine.nights.first())
        .map_or(0.0, |(last, first)| last.started_seconds - first.started_seconds);
    // Within some days the time of day tells runs apart.
    let part = if span < 3.0 * 86400.0 { 11..16 } else { 2..10 };
    night.and_then(|night| night.started_at.get(part)).unwrap_or_default().to_owned()
}
