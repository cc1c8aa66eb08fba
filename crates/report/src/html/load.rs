//! One page of a load: the figures of each level, its latency over time, and how that is distributed.

use std::io::{self, Write};

use record::Unit;

use super::escape::esc;
use super::page;
use super::scale::{Axis, Kind, Tick, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, ROOM_ACROSS, Svg, TOP, within};
use crate::quantity::time;
use crate::shell;
use crate::words::fixed;

/// What a page of a load says.
#[derive(Clone, Debug, Default)]
pub struct LoadPage {
    /// Program and time.
    pub over: String,
    /// What was loaded.
    pub title: String,
    /// The answer.
    pub lead: String,
    /// What makes it doubtful, and what to do.
    pub remarks: Vec<String>,
    /// Levels or stages, where there are several: a heading and rows.
    pub table: Vec<Vec<String>>,
    /// The levels, each with its figure.
    pub levels: Vec<LoadFigure>,
    /// The command line.
    pub command: Vec<String>,
}

/// One level.
#[derive(Clone, Debug, Default)]
pub struct LoadFigure {
    /// What was offered.
    pub name: String,
    /// Throughput and latency in one line; empty where the lead has it.
    pub says: String,
    /// What makes that doubtful.
    pub remarks: Vec<String>,
    /// The time in pieces.
    pub moments: Vec<LoadMoment>,
    /// Shares of the responses, rising, and the seconds that they do not exceed.
    pub percentiles: Vec<(f64, f64)>,
    /// Percentiles with their intervals.
    pub table: Vec<Vec<String>>,
    /// Other facts, each with its name.
    pub facts: Vec<(String, String)>,
}

/// A piece of the time. Latencies are in seconds, and missing where nothing came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadMoment {
    /// Its middle, since the level began.
    pub seconds: f64,
    /// Correct responses per second.
    pub completed_per_second: f64,
    /// Median, 99th percentile and largest latency.
    pub latency_seconds: Option<[f64; 3]>,
}

/// Percentiles that are written below the axis.
const NAMED: [f64; 6] = [0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn load(load: &LoadPage, out: &mut dyn Write) -> io::Result<()> {
    page::open(&format!("osdyno load: {}", load.title), out)?;
    writeln!(
        out,
        "<header><p class=\"over\">{}</p><h1>{}</h1><p class=\"lead\">{}</p>",
        esc(&load.over),
        esc(&load.title),
        esc(&load.lead)
    )?;
    write_remarks(&load.remarks, out)?;
    writeln!(out, "</header>")?;
    if load.table.len() > 1 {
        writeln!(out, "<section>")?;
        if let Some((heading, rows)) = load.table.split_first() {
            write_table("matrix", heading, rows, out)?;
        }
        writeln!(out, "</section>")?;
    }
    for (place, level) in load.levels.iter().enumerate() {
        write_level(place, level, out)?;
    }
    let command = load.command.iter().map(|word| shell::quoted(word)).collect::<Vec<_>>().join(" ");
    writeln!(out, "<section><h2>How to repeat it</h2><pre><code>{}</code></pre>", esc(&command))?;
    writeln!(out, "{READING}</section>")?;
    page::close(false, out)
}

const READING: &str = "<p class=\"remark\">Latency counts from the intended start of a request in an open \
    loop (--rate), from its sending in a closed loop. Intervals are of 95 %, from the variation between \
    pieces of the time. Requests without a response and those that timed out are slower than all that are \
    drawn.</p>";

fn write_level(place: usize, level: &LoadFigure, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section><h2>{}</h2>", esc(&level.name))?;
    if !level.says.is_empty() {
        writeln!(out, "<p class=\"says\">{}</p>", esc(&level.says))?;
    }
    write_remarks(&level.remarks, out)?;
    writeln!(out, "<figure><div class=\"grid2\">")?;
    let id = format!("load{place}");
    let plots = [
        ("Latency over time", latency(&id, level)),
        ("Latency by percentile", percentiles(&id, level)),
        ("Correct responses per second over time", throughput(&id, level)),
    ];
    for (title, svg) in plots {
        if let Some(svg) = svg {
            writeln!(out, "<div><p class=\"panel\">{title}</p>{svg}</div>")?;
        }
    }
    writeln!(out, "<div><p class=\"panel\">Latency, with 95 % intervals</p>")?;
    write_table("numbers", &[], &level.table, out)?;
    writeln!(out, "</div></div>{LEGEND}</figure><table class=\"facts\"><tbody>")?;
    for (name, text) in &level.facts {
        writeln!(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>", esc(name), esc(text))?;
    }
    writeln!(out, "</tbody></table></section>")
}

const LEGEND: &str = "<p class=\"legend\"><span><i class=\"key line\"></i>median of a piece of the \
    time</span><span><i class=\"key upper\"></i>its 99th percentile</span><span><i \
    class=\"key again\"></i>its slowest response</span></p>";

fn write_remarks(remarks: &[String], out: &mut dyn Write) -> io::Result<()> {
    remarks.iter().try_for_each(|remark| writeln!(out, "<p class=\"remark\">{}</p>", esc(remark)))
}

/// The first column names the rows.
fn write_table(class: &str, heading: &[String], rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class=\"scroll\"><table class=\"{class}\">")?;
    if !heading.is_empty() {
        write!(out, "<thead><tr>")?;
        heading.iter().try_for_each(|cell| write!(out, "<th scope=\"col\">{}</th>", esc(cell)))?;
        writeln!(out, "</tr></thead>")?;
    }
    writeln!(out, "<tbody>")?;
    for row in rows {
        let (name, cells) = row.split_first().map_or(("", &[][..]), |(name, cells)| (name.as_str(), cells));
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(name))?;
        cells.iter().try_for_each(|cell| write!(out, "<td>{}</td>", esc(cell)))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// The axis of the time, to the end of the last piece.
fn time_axis(level: &LoadFigure) -> Axis {
    let last = level.moments.last().map_or(1.0, |moment| moment.seconds);
    let first = level.moments.first().map_or(0.0, |moment| moment.seconds);
    Axis::new(Kind::Linear, 0.0, last + first, LEFT, RIGHT)
}

/// Seconds below the axis.
fn level_of_time(svg: &mut Svg, x: &Axis) {
    svg.level(&x.ticks(ROOM_ACROSS), |tick| cost_label(tick.value, Unit::Seconds, x), "time");
}

/// Median, 99th percentile and largest latency of each piece of the time.
fn latency(id: &str, level: &LoadFigure) -> Option<String> {
    let known: Vec<(f64, [f64; 3])> =
        level.moments.iter().filter_map(|moment| Some((moment.seconds, moment.latency_seconds?))).collect();
    let all = || known.iter().flat_map(|(_, latencies)| latencies).copied().filter(|&seconds| seconds > 0.0);
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let (x, y) = (time_axis(level), upright(low, high));
    let mut svg = Svg::open(&format!("{id}-time"), 0.0);
    let extent = format!("from {} to {}", time(low), time(high));
    svg.describe(&format!("Latency over time, {}", level.name), &extent);
    svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::Seconds, &y));
    level_of_time(&mut svg, &x);
    let places = |which: usize| -> Vec<(f64, f64)> {
        known.iter().map(|(at, latencies)| (x.place(*at), within(&y, latencies[which]))).collect()
    };
    for (at, slowest) in places(2) {
        svg.put(format_args!("<path class=\"again\" d=\"M{:.1} {:.1}h6l-3 5Z\"/>", at - 3.0, slowest - 2.5));
    }
    svg.line("upper", &places(1));
    svg.line("median", &places(0));
    Some(svg.close())
}

/// An upright axis of times that differ by powers of ten.
fn upright(low: f64, high: f64) -> Axis {
    Axis::new(Kind::Log, low * 0.9, (high * 1.1).max(low * 1.5), BOTTOM, TOP)
}

/// Latency over 1/(1 − q): each decade is one more nine.
fn percentiles(id: &str, level: &LoadFigure) -> Option<String> {
    let known: Vec<(f64, f64)> = level
        .percentiles
        .iter()
        .filter(|(share, seconds)| *share < 1.0 && *seconds > 0.0)
        .map(|(share, seconds)| (1.0 / (1.0 - share), *seconds))
        .collect();
    let (first, last) = (known.first()?, known.last()?);
    let x = Axis::new(Kind::Log, 1.0, last.0.max(10.0), LEFT, RIGHT);
    let y = upright(first.1, last.1);
    let mut svg = Svg::open(&format!("{id}-tail"), 0.0);
    let extent = format!("from {} to {}", time(first.1), time(last.1));
    svg.describe(&format!("Latency by percentile, {}", level.name), &extent);
    svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::Seconds, &y));
    let named = NAMED.iter().map(|share| 1.0 / (1.0 - share)).filter(|odds| *odds <= x.high * 1.001);
    let ticks: Vec<Tick> =
        named.map(|odds| Tick { value: odds, at: x.place(odds), labelled: true }).collect();
    svg.level(&ticks, |tick| percentile(1.0 - 1.0 / tick.value), "share of the responses at or below");
    let places: Vec<(f64, f64)> =
        known.iter().map(|(odds, seconds)| (x.place(*odds), within(&y, *seconds))).collect();
    svg.line("percentiles", &places);
    Some(svg.close())
}

fn throughput(id: &str, level: &LoadFigure) -> Option<String> {
    let rates = level.moments.iter().map(|moment| moment.completed_per_second);
    let high = rates.reduce(f64::max).filter(|&high| high > 0.0)?;
    let (x, y) = (time_axis(level), Axis::new(Kind::Linear, 0.0, high * 1.05, BOTTOM, TOP));
    let mut svg = Svg::open(&format!("{id}-rate"), 0.0);
    svg.describe(&format!("Correct responses per second over time, {}", level.name), "");
    svg.upright(&y, |tick: &Tick| cost_label(tick.value, Unit::PerSecond, &y));
    level_of_time(&mut svg, &x);
    let place = |moment: &LoadMoment| (x.place(moment.seconds), within(&y, moment.completed_per_second));
    svg.line("median", &level.moments.iter().map(place).collect::<Vec<_>>());
    Some(svg.close())
}

/// `99.9 %`.
fn percentile(share: f64) -> String {
    let percent = share * 100.0;
    let decimals =
        (0..=4).find(|&d| (percent * 10f64.powi(d) - (percent * 10f64.powi(d)).round()).abs() < 1e-6);
    format!("{}\u{202f}%", fixed(percent, decimals.unwrap_or(4) as usize))
}
