//! A comparison of systems as one page: the differences first, then every ratio with its interval, then the
//! curves.

use std::io::{self, Write};

use judge::Findings;
use judge::compare::Comparison;

use super::html::{costs, definitions, figures, named, plots, ratios};
use super::{notes, over_load, scalings, words};
use crate::document::Text;
use crate::html::esc;
use crate::html::page;
use crate::sentences::capital;
use crate::shell;
use crate::words::{count, percent};

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
    over_load::write(compared, out)?;
    refused(compared, out)?;
    writeln!(out, "<section><h2>Curves</h2>")?;
    plots("c", compared, out)?;
    writeln!(out, "</section>")?;
    how_to_read(compared, out)?;
    page::close(out)
}

/// Writes a comparison of the systems of a run as part of its page: the figures of jobs, the costs, and the
/// ratios behind these. The curves are folded, because each series has its figures there.
pub(crate) fn write_part(findings: &Findings, compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
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
    over_load::write(compared, out)?;
    differences(compared, out)?;
    refused(compared, out)
}

/// The operations that scale better on some system.
fn scale(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    list("Several workers at once", &scalings::sentences(compared), out)
}

/// A section of sentences, where there are any.
fn list(heading: &str, sentences: &[String], out: &mut dyn Write) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section><h2>{heading}</h2><ul>")?;
    for sentence in sentences {
        writeln!(out, "<li>{}</li>", esc(sentence))?;
    }
    writeln!(out, "</ul></section>")
}

/// How much was judged, how trials were compared, and the effect that noise alone can have.
fn carries(compared: &Comparison) -> String {
    let parts = [words::judged(compared), words::design(compared).to_owned(), words::noise_floor(compared)];
    parts.map(|part| capital(&part)).join(". ")
}

fn head(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let tool = compared.contenders.first().map(|s| format!("{} {}", s.run.tool.name, s.run.tool.version));
    writeln!(
        out,
        "<header><p class=\"over\">{} · comparison</p><h1>{}</h1><p class=\"lead\">{}.</p>\
         <p class=\"remark\">{}.</p>",
        esc(&tool.unwrap_or_default()),
        esc(&words::title(compared)),
        esc(&capital(&words::summary(compared))),
        esc(&carries(compared)),
    )?;
    if let Some(interleaved) = words::interleaved(compared) {
        writeln!(out, "<p class=\"says\">{}</p>", esc(&interleaved))?;
    }
    writeln!(out, "</header>")
}

/// The facts that differ, a column for each system; files of other programs have none.
fn differences(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    if compared.is_of_other_programs() {
        return Ok(());
    }
    writeln!(
        out,
        "<section><h2>What differs</h2><div class=\"scroll\" tabindex=\"0\">\
         <table class=\"facts differs\"><thead><tr><td></td>"
    )?;
    for place in 0..compared.contenders.len() {
        write!(out, "<th scope=\"col\">{}</th>", named(compared, place))?;
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
    for contender in &compared.contenders {
        write!(out, "<td>{}</td>", esc(&page::when(&contender.run.started_at)))?;
    }
    writeln!(out, "</tr></tbody></table></div>")?;
    if compared.differences.is_empty() {
        writeln!(out, "<p>No recorded fact differs between the systems.</p>")?;
    }
    writeln!(out, "</section>")
}

fn refused(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let refused = compared.refused.iter().map(|refused| format!("Refused: {}", notes::refused(refused)));
    list("Not compared", &refused.collect::<Vec<_>>(), out)
}

fn how_to_read(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let text = include_str!("reading.html")
        .replace("{list}", &definitions(compared))
        .replace("{margin}", &percent(compared.margin))
        .replace("{rate}", &percent(compared.alpha))
        .replace("{confidence}", &percent(1.0 - compared.alpha))
        .replace("{answers}", &count(compared.judged().0 as u64));
    writeln!(out, "{text}")?;
    writeln!(out, "<section><h2>How to repeat it</h2>")?;
    for contender in &compared.contenders {
        writeln!(
            out,
            "<p>{}, seed {}</p><pre tabindex=\"0\"><code>{}</code></pre>",
            esc(&contender.name),
            contender.run.seed,
            esc(&shell::command(&contender.run))
        )?;
    }
    writeln!(out, "</section>")
}
