//! A comparison in a page: the differences first, then every ratio with its interval, then the curves of all
//! contenders over n. A comparison of systems is a page of its own or the first part of that of their run;
//! variants have a part of the page of their run.

use std::collections::BTreeSet;
use std::io::{self, Write};

use judge::Findings;
use judge::compare::{Comparison, Contender, MeanOfContender, OverSystems, Ranking, RankingEntry, trend};
use record::Shape;

use super::lines::{self, Line};
use super::{drawing, growth, table, words};
use crate::document::page::{blocks, head as write_head};
use crate::document::{Column, Element, Section, Table, Text, Tone};
use crate::html::tracks::{Track, draw, power_law, swatch};
use crate::html::{esc, page};
use crate::place::at_level;
use crate::sentences::{self, capital, sentence};
use crate::shell;
use crate::words::{count, list, percent, things};

/// The explanation of the lines of trends.
const TREND: &str = "thin lines are trends: the power law that is nearest to the levels.";

/// Writes a comparison of systems as a page.
pub fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    write_on_site(compared, &Text::default(), out)
}

/// The same as a page of a site, with the way to its neighbours.
pub fn write_on_site(compared: &Comparison, way: &Text, out: &mut dyn Write) -> io::Result<()> {
    page::open(&words::title(compared), way, out)?;
    head(compared, out)?;
    differences(compared, out)?;
    writeln!(out, "<section><h2>Costs</h2>")?;
    costs(compared, out)?;
    writeln!(out, "</section><section><h2>Ratios</h2>")?;
    ratios("c", compared, out)?;
    writeln!(out, "</section>")?;
    scale(compared, out)?;
    drawing::write_over_load(compared, out)?;
    refused(compared, out)?;
    writeln!(out, "<section><h2>Curves</h2>")?;
    plots("c", compared, out)?;
    writeln!(out, "</section>")?;
    how_to_read(compared, out)?;
    page::close(out)
}

/// Writes a comparison of the systems of a run as part of its page: the figures of jobs, the costs, and the
/// ratios behind these. The curves are folded, because each series has its figures there.
pub(crate) fn write_systems(
    findings: &Findings,
    compared: &Comparison,
    out: &mut dyn Write,
) -> io::Result<()> {
    figures(findings, compared, out)?;
    writeln!(
        out,
        "<section id=\"compared\"><h2>{}</h2><p class=\"lead\">{}.</p><p class=\"remark\">{}.</p>",
        esc(&words::title(compared)),
        esc(&capital(&words::summary(compared))),
        esc(&carries(compared)),
    )?;
    costs(compared, out)?;
    writeln!(out, "<h3>Ratios</h3>")?;
    ratios("c", compared, out)?;
    writeln!(out, "<details class=\"list\"><summary>Curves of all systems</summary>")?;
    plots("c", compared, out)?;
    writeln!(out, "</details></section>")?;
    scale(compared, out)?;
    drawing::write_over_load(compared, out)?;
    differences(compared, out)?;
    refused(compared, out)
}

/// Writes a comparison of variants as part of a page; `i` makes its ids unique.
pub(crate) fn write_variants(
    i: usize,
    findings: &Findings,
    compared: &Comparison,
    out: &mut dyn Write,
) -> io::Result<()> {
    let id = format!("r{i}-");
    writeln!(out, "<div class=\"comparison\">")?;
    for finding in words::findings(compared) {
        writeln!(out, "<p class=\"says\">{}.</p>", esc(&finding))?;
    }
    plots(&id, compared, out)?;
    growths(findings, compared, out)?;
    ratios(&id, compared, out)?;
    let judged = format!("{}; {}", words::judged(compared), words::design(compared));
    writeln!(
        out,
        "<p class=\"remark\">{} A contender that stopped, at a crossed end, is compared at the last \
         level that it reached. A dotted line with hollow points is not that of the contender: the load \
         generator was saturated, or the time was up. Of a rate it is a lower bound, which ranks above rates \
         that are smaller for certain; all else is not compared.</p></div>",
        esc(&sentence(&judged))
    )
}

/// Writes the contenders of a load in the mean of several systems; `i` makes its ids unique.
pub(crate) fn write_means(i: usize, means: &OverSystems, out: &mut dyn Write) -> io::Result<()> {
    let systems = list(&means.systems);
    writeln!(
        out,
        "<div class=\"comparison means\"><h3>Mean of {}</h3><p class=\"remark\">Geometric means over {}, at \
         the levels that a contender reached on all of them; {TREND}</p><div class=\"grid2\">",
        esc(&things(means.systems.len(), "system", "systems")),
        esc(&systems)
    )?;
    for (j, series) in means.series.iter().enumerate() {
        let track = |one: &MeanOfContender| Track {
            levels: one.levels.clone(),
            has_knots: true,
            trend: trend(&one.levels).map_or_else(Vec::new, power_law),
            ..Track::empty(one.place, words::name(&one.name))
        };
        let tracks: Vec<Track> = series.contenders.iter().map(track).collect();
        let title = format!("{} of every contender over {}", capital(&series.name), series.grows);
        let described = (title.as_str(), &*format!("Mean of {systems}."));
        let svg = draw(&format!("mean{i}-{j}"), described, (&series.grows, series.unit), &tracks);
        let Some(svg) = svg else { continue };
        writeln!(
            out,
            "<figure><h3>{} <span class=\"remark\">{}</span></h3>{svg}</figure>",
            esc(&series.name),
            words::better(series.unit)
        )?;
    }
    writeln!(out, "</div></div>")
}

/// The meaning of the answers.
pub(crate) fn definitions(compared: &Comparison) -> String {
    include_str!("answers.html").replace("{margin}", &percent(compared.margin))
}

fn head(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let tool = compared.contenders.first().map(|s| format!("{} {}", s.run.tool.name, s.run.tool.version));
    let over = format!("{} · comparison", tool.unwrap_or_default());
    let lead = Text::from(capital(&words::summary(compared)) + ".");
    let remark = Text::toned(carries(compared) + ".", Tone::Faint);
    write_head(&[over], &words::title(compared), &[lead.into(), remark.into()], out)?;
    match words::interleaved(compared) {
        Some(interleaved) => writeln!(out, "<p class=\"says\">{}</p>", esc(&interleaved)),
        None => Ok(()),
    }
}

/// How much was judged, how trials were compared, and the effect that noise alone can have.
fn carries(compared: &Comparison) -> String {
    let parts = [words::judged(compared), words::design(compared).to_owned(), words::noise_floor(compared)];
    parts.map(|part| capital(&part)).join(". ")
}

/// The facts that differ, a column for each system; files of other programs have none.
fn differences(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if compared.is_of_other_programs() {
        return Ok(());
    }
    let system = |(place, contender): (usize, &Contender)| {
        let picture = Some(named(compared, place));
        Column { picture, ..Column::from(contender.name.as_str()) }
    };
    let systems = compared.contenders.iter().enumerate().map(system);
    let columns = [Column::default()].into_iter().chain(systems).collect();
    let mut table = Table { class: "facts differs", ..Table::of_columns(columns) };
    for difference in &compared.differences {
        let values = difference.values.iter().map(|value| value.as_deref().unwrap_or("—"));
        table.push([difference.key.as_str()].into_iter().chain(values).collect::<Vec<&str>>());
    }
    let times = compared.contenders.iter().map(|contender| page::when(&contender.run.started_at));
    table.push(["measured".to_owned()].into_iter().chain(times).collect::<Vec<String>>());
    let mut section = Section::new("What differs");
    section.push(table);
    if compared.differences.is_empty() {
        section.say("No recorded fact differs between the systems.");
    }
    blocks(&[section.into()], 2, out)
}

/// The cost of every series on every system, with its interval; the ratios stand behind it.
fn costs(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let rows = table::cost_rows(compared);
    if rows.is_empty() {
        return Ok(());
    }
    write!(
        out,
        "<p class=\"remark\">{}</p><div class=\"scroll\" tabindex=\"0\">\
         <table class=\"verdicts costs\"><thead><tr><th scope=\"col\">Series</th>\
         <th scope=\"col\" class=\"num\">n</th>",
        esc(&table::legend(compared, &rows.iter().collect::<Vec<_>>()))
    )?;
    for place in 0..compared.contenders.len() {
        write!(out, "<th scope=\"col\" class=\"num\">{}</th>", named(compared, place))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in &rows {
        write!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"num range\" data-is=\"n\">{}</td>",
            esc(&row.ranking.label),
            count(row.n)
        )?;
        for (cell, contender) in row.cells.iter().zip(&compared.contenders) {
            let best = if cell.is_best { " best" } else { "" };
            let (name, cost) = (esc(&contender.name), esc(&cell.shown(true)));
            write!(out, "<td class=\"num{best}\" data-is=\"{name}\">{cost}</td>")?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// Every ratio with its interval, and the answer in words; then the geometric means.
fn ratios(id: &str, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let (axis, lines) = (drawing::axis(compared), lines::of(compared));
    let is_named = lines::is_named(compared);
    let is_ranked = lines.iter().any(|line| line.rank.is_some());
    writeln!(
        out,
        "<p>{}</p><table class=\"verdicts ratios\"><thead><tr><th scope=\"col\">Series</th>{}\
         <th scope=\"col\" aria-label=\"Ratio\" class=\"strip\">{}</th>\
         <th scope=\"col\">Answer</th>{}</tr></thead><tbody>",
        esc(&drawing::shown(compared)),
        if is_named { "<th scope=\"col\">Contender</th>" } else { "" },
        drawing::labels(&axis),
        if is_ranked { "<th scope=\"col\">Place</th>" } else { "" }
    )?;
    let mut series = None;
    for line in &lines {
        let is_first = series.replace(line.series.clone()).is_none_or(|before| before != line.series);
        let name = match line.ranking {
            _ if !is_first => String::new(),
            Some((i, ranking)) => format!("<a href=\"#{id}{i}\">{}</a>{}", esc(&line.series), below(ranking)),
            None => esc(&line.series),
        };
        let contender = is_named.then(|| named(compared, line.contender));
        let contender = contender.map(|name| format!("<td class=\"name\">{name}</td>"));
        writeln!(
            out,
            "<tr{}><th scope=\"row\">{name}</th>{}<td class=\"strip\">{}</td>\
             <td class=\"verdict\">{}</td>{}</tr>",
            if is_first { "" } else { " class=\"more\"" },
            contender.unwrap_or_default(),
            drawing::draw(&axis, line),
            said(line),
            if is_ranked { place(line) } else { String::new() }
        )?;
    }
    writeln!(out, "</tbody></table>")?;
    for sentence in lines::without_number(compared) {
        writeln!(out, "<p class=\"remark\">{}.</p>", esc(&capital(&sentence)))?;
    }
    Ok(())
}

/// The name of a contender behind its colour and dashes.
fn named(compared: &Comparison, place: usize) -> String {
    format!("{}\u{a0}{}", swatch(place), esc(words::name(&compared.contenders[place].name)))
}

/// Below the name of a series: where the contenders are compared.
fn below(ranking: &Ranking) -> String {
    let at = ranking.n.and_then(|n| at_level(n, &ranking.grows));
    let said = at.map(|at| format!("<br><span class=\"remark\">{}</span>", esc(&at)));
    said.unwrap_or_default()
}

/// The answer, and below it the mean of all levels and the causes that shortened the comparison.
fn said(line: &Line<'_>) -> String {
    let tone = match line.tone {
        Tone::Good => "good",
        Tone::Notable => "notable",
        Tone::Open => "open",
        _ => "",
    };
    let levels = line.ranking.map_or(0, |(_, ranking)| ranking.most_levels());
    let overall = line.overall.as_ref().map(|overall| match line.ranking {
        Some(_) => format!("mean of {}: {overall}", things(levels, "level", "levels")),
        None => overall.clone(),
    });
    let remarks = overall
        .iter()
        .chain(&line.note)
        .map(|words| format!("<br><span class=\"remark\">{}</span>", esc(words)));
    format!("<span class=\"word {tone}\">{}</span>{}", esc(&line.answer), remarks.collect::<String>())
}

fn place(line: &Line<'_>) -> String {
    format!(
        "<td class=\"num place\" data-is=\"place\">{}</td>",
        esc(line.rank.as_deref().unwrap_or_default())
    )
}

/// The operations that scale better on some system.
fn scale(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    section("Several workers at once", growth::scaling_sentences(compared), out)
}

fn refused(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let refused = compared.refused.iter().map(|refused| format!("Refused: {}", lines::refused(refused)));
    section("Not compared", refused.collect(), out)
}

/// A section of sentences, where there are any.
fn section(heading: &str, sentences: Vec<String>, out: &mut dyn Write) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    let items = sentences.into_iter().map(|sentence| vec![Text::from(sentence).into()]).collect();
    let list = Element::Items { first: None, items };
    blocks(&[Section { blocks: vec![list], ..Section::new(heading) }.into()], 2, out)
}

fn how_to_read(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let text = include_str!("reading.html")
        .replace("{list}", &definitions(compared))
        .replace("{margin}", &percent(compared.margin))
        .replace("{rate}", &percent(compared.alpha))
        .replace("{confidence}", &percent(1.0 - compared.alpha))
        .replace("{answers}", &count(compared.judged().0 as u64));
    writeln!(out, "{text}")?;
    let mut section = Section::new("How to repeat it");
    for contender in &compared.contenders {
        section.say(format!("{}, seed {}", contender.name, contender.run.seed));
        section.push(Element::Code(shell::command(&contender.run)));
    }
    blocks(&[section.into()], 2, out)
}

/// The trends of the times of each contender over n.
fn growths(findings: &Findings, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let (heading, growths) = growth::growths(findings, compared, false);
    if growths.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>{}</h3><table class=\"verdicts growths\"><tbody>", esc(&heading))?;
    for one in growths {
        let name = named(compared, one.place);
        writeln!(
            out,
            "<tr><th scope=\"row\" class=\"name\">{name}</th><td class=\"verdict\">{}</td></tr>",
            esc(&one.words)
        )?;
    }
    writeln!(out, "</tbody></table>")
}

/// The figure of 2001, for each job: its time against its size, a line for each system.
fn figures(findings: &Findings, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let is_job =
        |workload: &str| findings.workload(workload).is_some_and(|workload| workload.shape == Shape::Job);
    // The first series of a job is the whole of it.
    let mut wholes: Vec<(&str, &str)> = Vec::new();
    let mut shown = Vec::new();
    for (i, ranking) in compared.rankings.iter().enumerate() {
        let Some(finding) = findings.series.iter().find(|finding| finding.label == ranking.label) else {
            continue;
        };
        let of = (finding.key.workload.as_str(), finding.key.variant.as_str());
        if is_job(of.0) && !wholes.contains(&of) {
            wholes.push(of);
            shown.push((i, ranking));
        }
    }
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"sizes\"><h2>Time against size</h2>")?;
    plots_of("z", compared, &shown, out)?;
    writeln!(out, "</section>")
}

/// A plot for each series, with the verdict on each contender by itself.
fn plots(id: &str, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    plots_of(id, compared, &compared.rankings.iter().enumerate().collect::<Vec<_>>(), out)
}

fn plots_of(
    id: &str,
    compared: &Comparison,
    rankings: &[(usize, &Ranking)],
    out: &mut dyn Write,
) -> io::Result<()> {
    let levels = || rankings.iter().flat_map(|(_, ranking)| &ranking.standings).flat_map(|one| &one.levels);
    let is_one = levels().map(|level| level.n).collect::<BTreeSet<u64>>().len() == 1;
    let remark = match compared.rankings.iter().any(|ranking| ranking.levels) {
        _ if is_one => "Medians of the trials, each plot on its own scale.".to_owned(),
        has_levels => format!(
            "Medians over n, each plot on its own scale. Axes that span more than a factor of five are \
             logarithmic{}",
            if has_levels { format!("; {TREND}") } else { ".".into() }
        ),
    };
    writeln!(out, "<p class=\"remark\">{remark}</p><div class=\"grid2\">")?;
    for &(i, ranking) in rankings {
        let said: Vec<String> =
            ranking.standings.iter().filter_map(|entry| of_entry(ranking, entry)).collect();
        let description = words::sentence(ranking).into_iter().chain(said.iter().cloned());
        let title = format!("{} of every contender over {}", capital(&ranking.label), ranking.grows);
        let tracks: Vec<Track> =
            ranking.standings.iter().filter_map(|entry| track(entry, ranking.levels)).collect();
        let described = (title.as_str(), &*list(&description.collect::<Vec<_>>()));
        let svg = draw(&format!("m{id}{i}"), described, (&ranking.grows, ranking.unit), &tracks);
        let Some(svg) = svg else { continue };
        writeln!(
            out,
            "<figure id=\"{id}{i}\"><h3>{} <span class=\"remark\">{}</span></h3>{svg}\
             <figcaption>{}</figcaption></figure>",
            esc(&ranking.label),
            words::better(ranking.unit),
            said.iter().map(|s| esc(s)).collect::<Vec<_>>().join("<br>")
        )?;
    }
    writeln!(out, "</div>")
}

/// The line of a contender: its levels, or the medians of its ranges of n.
fn track(entry: &RankingEntry, is_load: bool) -> Option<Track> {
    let name = words::name(&entry.name);
    let stops = entry.stops.iter().map(sentences::stop).collect::<Vec<_>>();
    let stopped = entry.ends_early().then(|| stops.join("; "));
    match (&entry.verdict, entry.levels.is_empty()) {
        (Some(verdict), true) => Some(Track { stopped, ..Track::of_verdict(entry.place, name, verdict) }),
        (None, true) => None,
        (_, false) => {
            let levels = entry.levels.clone();
            let trend = trend(&levels).filter(|_| is_load).map_or_else(Vec::new, power_law);
            Some(Track { levels, has_knots: true, stopped, trend, ..Track::empty(entry.place, name) })
        }
    }
}

/// `6.12: 860 ns → 900 ns from n = 10 to 19 999, flat within 7 %`.
fn of_entry(ranking: &Ranking, entry: &RankingEntry) -> Option<String> {
    let v = entry.verdict.as_ref()?;
    let words = sentences::verdict_with_growth(v, ranking.unit);
    Some(format!("{}: {}, {words}", entry.name, sentences::ends(v, ranking.unit)))
}
