//! A comparison as one page: what differs first, then every ratio with its interval, then the curves.

use std::fmt::Write as _;
use std::io::{self, Write};

use record::Unit;

use judge::compare::{Comparison, Ranking, RankingEntry};

use super::words;
use crate::html::escape::esc;
use crate::html::page;
use crate::html::plot::{Curve, curves};
use crate::html::scale::{Axis, Kind};
use crate::quantity::Quantity;
use crate::sentences;
use crate::text::Tone;
use crate::words::{count, list, percent, ratio_with_interval};

/// Width and height of the strip that shows one ratio.
pub(super) const STRIP: (f64, f64) = (360.0, 26.0);
/// Ratios so many times further than most are shown as an arrow at the edge.
const FAR: f64 = 1.6;
/// Ratios beside the axis; those that fit are taken.
const RATIOS: [f64; 16] =
    [0.1, 0.2, 0.33, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0];
/// Labels of the axis are at least so far apart.
const APART: f64 = 38.0;

/// Systems beside the first that have a colour, dashes and a mark of their own.
const STYLES: usize = 4;

/// Writes a comparison.
pub fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    page::open(&words::who(compared), out)?;
    head(compared, out)?;
    differences(compared, out)?;
    ratios(compared, out)?;
    ranks(compared, out)?;
    refused(compared, out)?;
    medians(compared, out)?;
    how_to_read(compared, out)?;
    page::close(false, out)
}

fn head(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let tool = compared.contenders.first().map(|s| format!("{} {}", s.run.tool.name, s.run.tool.version));
    let carries = [words::judged(compared), words::design(compared), words::noise_floor(compared)];
    writeln!(
        out,
        "<header><p class=\"over\">{} · comparison</p><h1>{}</h1><p class=\"lead\">{}.</p>\
         <p class=\"remark\">{}.</p></header>",
        esc(&tool.unwrap_or_default()),
        esc(&words::who(compared)),
        esc(&sentences::capital(&words::summary(compared))),
        esc(&carries.map(|part| sentences::capital(&part)).join(". ")),
    )
}

/// The facts that differ, a column for each system.
fn differences(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<section><h2>What differs</h2><div class=\"scroll\">\
         <table class=\"facts differs\"><thead><tr><th></th>"
    )?;
    for (i, subject) in compared.contenders.iter().enumerate() {
        write!(out, "<th scope=\"col\">{} {}</th>", key_of(i), esc(&subject.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for difference in &compared.differences {
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(&difference.key))?;
        for value in &difference.values {
            write!(out, "<td>{}</td>", esc(value.as_deref().unwrap_or("—")))?;
        }
        writeln!(out, "</tr>")?;
    }
    write!(out, "<tr><th scope=\"row\">measured</th>")?;
    for subject in &compared.contenders {
        write!(out, "<td>{}</td>", esc(&page::when(&subject.run.started_at)))?;
    }
    writeln!(out, "</tr></tbody></table></div>")?;
    if compared.differences.is_empty() {
        writeln!(out, "<p>No recorded fact differs between the systems.</p>")?;
    }
    writeln!(out, "</section>")
}

/// The swatch of a system: its colour and its dashes.
pub(super) fn key_of(subject: usize) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 8\" aria-hidden=\"true\">\
         <path class=\"of{}\" d=\"M0 4H28\"/></svg>",
        style_of(subject)
    )
}

/// Which of the colours, dashes and marks of the style sheet is that of a system.
fn style_of(subject: usize) -> usize {
    if subject == 0 { 0 } else { (subject - 1) % STYLES + 1 }
}

/// Every ratio with its interval, and the answer in words; then their geometric mean.
fn ratios(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let axis = ratio_axis(compared);
    let several = compared.contenders.len() > 2;
    writeln!(
        out,
        "<section><h2>Answers</h2><p>{}</p>\
         <table class=\"verdicts ratios\"><thead><tr><th scope=\"col\">Series</th>{}\
         <th scope=\"col\" class=\"strip\">{}</th><th scope=\"col\">Answer</th></tr></thead><tbody>",
        esc(&shown(compared)),
        if several { "<th scope=\"col\">System</th>" } else { "" },
        axis_strip(&axis)
    )?;
    for (i, row) in compared.rankings.iter().enumerate() {
        for (other, standing) in row.others().enumerate() {
            let (answer, note) = (standing.answer(), &standing.note);
            let name = match row.standings.iter().any(|standing| standing.verdict.is_some()) {
                true => format!("<a href=\"#c{i}\">{}</a>", esc(&row.label)),
                false => esc(&row.label),
            };
            let note = note.as_ref().map(|note| {
                let words = words::note(compared, other + 1, note);
                format!("<br><span class=\"remark\">{}</span>", esc(&words))
            });
            let (strip, said) = match answer {
                Some(answer) => (strip(&axis, (answer, row.unit), other + 1), verdict(answer, row.unit)),
                None => (String::new(), "<span class=\"word open\">no ratio</span>".into()),
            };
            let said = said + &note.unwrap_or_default();
            table_row(&name, several.then(|| system(compared, other + 1)), &strip, &said, out)?;
        }
    }
    for (other, mean) in compared.means.iter().enumerate() {
        let Some(mean) = mean else { continue };
        let said = format!(
            "{}<br><span class=\"remark\">{}, equal weights</span>",
            esc(&words::mean_ratio(compared, mean)),
            words::of(mean)
        );
        let strip = strip_of_mean(&axis, mean.ratio, other + 1);
        table_row("Geometric mean", several.then(|| system(compared, other + 1)), &strip, &said, out)?;
    }
    writeln!(out, "</tbody></table></section>")
}

/// What the strips show.
pub(super) fn shown(compared: &Comparison) -> String {
    let first = compared.contenders.first().map_or("", |s| s.name.as_str());
    let rates = compared.rankings.iter().any(|row| row.unit.more_is_better());
    let memory = compared.rankings.iter().any(|row| row.unit == Unit::Bytes);
    format!(
        "Time per operation{}{}, divided by that of {first}. Left of 1 is faster{}. The grey band is ±{}, or \
         the noise floor of a series if that is wider: differences inside it do not matter.",
        if rates { ", also for rates" } else { "" },
        if memory { ", or memory" } else { "" },
        if memory { ", or less" } else { "" },
        percent(compared.margin)
    )
}

fn table_row(
    name: &str,
    system: Option<String>,
    strip: &str,
    said: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let system = system.map_or_else(String::new, |system| format!("<td data-is=\"system\">{system}</td>"));
    writeln!(
        out,
        "<tr><th scope=\"row\">{name}</th>{system}<td class=\"strip\">{strip}</td>\
         <td class=\"verdict\">{said}</td></tr>"
    )
}

fn system(compared: &Comparison, subject: usize) -> String {
    format!("{}\u{a0}{}", key_of(subject), esc(&compared.contenders[subject].name))
}

fn verdict(answer: &stats::Comparison, unit: Unit) -> String {
    let tone = match words::tone(answer) {
        Tone::Good => "good",
        Tone::Notable => "notable",
        Tone::Open => "open",
        _ => "",
    };
    format!("<span class=\"word {tone}\">{}</span>", esc(&words::answer(answer, unit)))
}

/// An axis that has room for all ratios but a few far ones, alike to both sides.
pub(super) fn ratio_axis(compared: &Comparison) -> Axis {
    let answers =
        compared.rankings.iter().flat_map(Ranking::others).filter_map(RankingEntry::answer).map(|a| a.ratio);
    let ratios = answers.chain(compared.means.iter().flatten().map(|mean| mean.ratio));
    let mut reaches: Vec<f64> =
        ratios.map(|ratio| ratio.high.max(1.0 / ratio.low)).filter(|reach| reach.is_finite()).collect();
    reaches.sort_by(f64::total_cmp);
    let most = reaches.last().copied().unwrap_or(1.0);
    let usual = reaches.get(reaches.len().saturating_sub(1) * 3 / 4).copied().unwrap_or(1.0);
    let widest = if most > FAR * usual { FAR.min(1.5) * usual } else { most };
    let widest = 1.03 * widest.max(1.0 + 2.0 * compared.margin).clamp(1.1, 10.0);
    Axis::new(Kind::Log, 1.0 / widest, widest, 12.0, STRIP.0 - 12.0)
}

pub(super) fn axis_strip(axis: &Axis) -> String {
    let mut svg = format!("<svg class=\"ratio\" viewBox=\"0 0 {} 18\" aria-hidden=\"true\">", STRIP.0);
    let mut right = f64::NEG_INFINITY;
    // One stands first, the others where there is room beside it.
    let one = axis.place(1.0);
    for ratio in RATIOS.into_iter().filter(|r| *r >= axis.low && *r <= axis.high) {
        let at = axis.place(ratio);
        let is_one = (ratio - 1.0).abs() < 1e-9;
        if !is_one && ((at - one).abs() < APART || at - right < APART) {
            continue;
        }
        right = at;
        let _ = write!(svg, "<text x=\"{at:.1}\" y=\"13\">{ratio}</text>");
    }
    svg + "</svg>"
}

pub(super) fn strip(axis: &Axis, (answer, unit): (&stats::Comparison, Unit), subject: usize) -> String {
    let (ratio, margin) = (answer.ratio, answer.margin);
    let middle = STRIP.1 / 2.0;
    let place = |r: f64| axis.place(r.clamp(axis.low, axis.high));
    let beyond = ratio.value > axis.high || ratio.value < axis.low;
    let (from, at, to) = (place(ratio.low), place(ratio.value), place(ratio.high));
    let mark = match style_of(subject) {
        // Beyond the axis: an arrow at its end.
        _ if ratio.value > axis.high => format!("<path d=\"M{:.1} {}l7 5l-7 5z\"/>", at + 2.0, middle - 5.0),
        _ if ratio.value < axis.low => format!("<path d=\"M{:.1} {}l-7 5l7 5z\"/>", at - 2.0, middle - 5.0),
        1 => format!("<circle cx=\"{at:.1}\" cy=\"{middle}\" r=\"3.4\"/>"),
        2 => format!("<rect x=\"{:.1}\" y=\"{}\" width=\"8\" height=\"8\"/>", at - 4.0, middle - 4.0),
        3 => format!("<path d=\"M{at:.1} {}l5 8h-10z\"/>", middle - 5.0),
        _ => format!("<path d=\"M{at:.1} {}l5 5l-5 5l-5-5z\"/>", middle - 5.0),
    };
    let top = middle - 3.0;
    let whisker = format!(
        "<path class=\"whisker\" d=\"M{from:.1} {middle}H{to:.1}M{from:.1} {top}v6M{to:.1} {top}v6\"/>"
    );
    let whisker = if beyond { "" } else { whisker.as_str() };
    let (low, high) = (place(1.0 / (1.0 + margin)), place(1.0 + margin));
    let band = format!(
        "<rect class=\"margin\" x=\"{low:.1}\" y=\"0\" width=\"{:.1}\" height=\"{}\"/>",
        high - low,
        STRIP.1
    );
    framed(axis, subject, &words::answer(answer, unit), &band, &format!("{whisker}{mark}"))
}

/// A lozenge as wide as the interval, as is the custom for what sums up.
pub(super) fn strip_of_mean(axis: &Axis, ratio: stats::Interval, subject: usize) -> String {
    let middle = STRIP.1 / 2.0;
    let place = |r: f64| axis.place(r.clamp(axis.low, axis.high));
    let (from, at, to) = (place(ratio.low), place(ratio.value), place(ratio.high));
    let (top, bottom) = (middle - 6.0, middle + 6.0);
    let lozenge =
        format!("<path d=\"M{from:.1} {middle}L{at:.1} {top}L{to:.1} {middle}L{at:.1} {bottom}z\"/>");
    framed(axis, subject, &format!("geometric mean {}", ratio_with_interval(ratio)), "", &lozenge)
}

fn framed(axis: &Axis, subject: usize, said: &str, behind: &str, mark: &str) -> String {
    let (width, height) = STRIP;
    format!(
        "<svg class=\"ratio\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{behind}\
         <path class=\"one\" d=\"M{:.1} 0V{height}\"/><g class=\"mark{}\">{mark}</g></svg>",
        esc(said),
        axis.place(1.0),
        style_of(subject)
    )
}

/// The places that each of three or more systems may have in each series.
fn ranks(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let is_ranked = |row: &&Ranking| row.standings.iter().any(|standing| standing.rank.is_some());
    let ranked: Vec<&Ranking> = compared.rankings.iter().filter(is_ranked).collect();
    if ranked.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section><h2>Ranks</h2><p>Of {} systems, the fastest first. Systems that cannot be distinguished \
         share an interval of ranks.</p><div class=\"scroll\"><table class=\"facts\"><thead><tr><th></th>",
        compared.contenders.len()
    )?;
    for (i, subject) in compared.contenders.iter().enumerate() {
        write!(out, "<th scope=\"col\">{} {}</th>", key_of(i), esc(&subject.name))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in ranked {
        let places = row
            .standings
            .iter()
            .map(|standing| format!("<td>{}</td>", place(standing.rank, compared.contenders.len())));
        let places: String = places.collect();
        writeln!(out, "<tr><th scope=\"row\">{}</th>{places}</tr>", esc(&row.label))?;
    }
    writeln!(out, "</tbody></table></div></section>")
}

/// The place of one system; a dash for one that did not take part.
pub(super) fn place(rank: Option<stats::Rank>, systems: usize) -> String {
    rank.map_or("—".into(), |rank| crate::ratios::place_of(rank, systems))
}

fn refused(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if compared.refused.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section><h2>Not compared</h2><ul>")?;
    for refused in &compared.refused {
        writeln!(out, "<li>Refused: {}</li>", esc(&words::refused(refused)))?;
    }
    writeln!(out, "</ul></section>")
}

/// The medians of all systems over n, a plot for each series.
fn medians(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<section><h2>Curves</h2><p class=\"legend\">")?;
    for (i, subject) in compared.contenders.iter().enumerate() {
        write!(out, "<span>{} {}</span>", key_of(i), esc(&subject.name))?;
    }
    writeln!(
        out,
        "</p><p class=\"remark\">Medians over n, logarithmic axes, each on its own scale.</p>\
         <div class=\"grid2\">"
    )?;
    let drawn = compared
        .rankings
        .iter()
        .enumerate()
        .filter(|(_, row)| row.standings.iter().any(|standing| standing.verdict.is_some()));
    for (i, row) in drawn {
        curve(compared, i, row, out)?;
    }
    writeln!(out, "</div></section>")
}

fn curve(compared: &Comparison, i: usize, row: &Ranking, out: &mut dyn Write) -> io::Result<()> {
    let verdicts: Vec<(usize, &stats::Verdict)> = row
        .standings
        .iter()
        .filter_map(|standing| Some((standing.place, standing.verdict.as_ref()?)))
        .collect();
    let said: Vec<String> = verdicts
        .iter()
        .map(|(j, v)| {
            format!(
                "{}: {} to {} from n = {} to {}, {}",
                compared.contenders[*j].name,
                row.unit.estimate(v.cost_low),
                row.unit.estimate(v.cost_high),
                count(v.n_low),
                count(v.n_high),
                sentences::verdict_with_growth(v, row.unit)
            )
        })
        .collect();
    let drawn: Vec<Curve<'_>> = verdicts
        .iter()
        .map(|(j, v)| Curve { class: format!("of{}", style_of(*j)), blocks: &v.blocks })
        .collect();
    writeln!(
        out,
        "<figure id=\"c{i}\"><h3>{}</h3>{}<figcaption>{}</figcaption></figure>",
        esc(&row.label),
        curves(&format!("m{i}"), (&row.label, row.unit), &row.grows, &list(&said), &drawn),
        said.iter().map(|s| esc(s)).collect::<Vec<_>>().join("<br>")
    )
}

fn how_to_read(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let text = include_str!("reading.html")
        .replace("{margin}", &percent(compared.margin))
        .replace("{rate}", &percent(compared.alpha))
        .replace("{confidence}", &percent(1.0 - compared.alpha))
        .replace("{answers}", &count(compared.judged().0 as u64));
    writeln!(out, "{text}")?;
    writeln!(out, "<section><h2>How to repeat it</h2>")?;
    for subject in &compared.contenders {
        writeln!(
            out,
            "<p>{}, seed {}</p><pre><code>{}</code></pre>",
            esc(&subject.name),
            subject.run.seed,
            esc(&page::command(&subject.run))
        )?;
    }
    writeln!(out, "</section>")
}
