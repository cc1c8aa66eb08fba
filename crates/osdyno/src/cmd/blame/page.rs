//! The answer as a page: for each cost the sentence, the flame graph, the functions.

use std::io::{self, Write};

use ::report::html::{close, esc, open};
use ::report::quantity::time;
use ::report::words::{capital, sentence};
use inspect::blame::{Blame, SeriesBlame};
use judge::Findings;

use super::flame;
use super::text::{both, full_name, growth_of, headline, missing, remarks, share, shown, uncounted};

/// What the boxes of a flame graph are.
const LEGEND: &str = "<p class=\"legend\"><span><span class=\"key new\"></span>more than at low n</span>\
    <span><span class=\"key old\"></span>as much as at low n</span>\
    <span><span class=\"key gone\"></span>less than at low n</span></p>";

pub(super) fn write(blame: &Blame, findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    open("Where does the extra time go?", out)?;
    writeln!(out, "<style>\n{}\n</style>", flame::STYLE)?;
    writeln!(out, "<header><p class=\"over\">osdyno blame</p><h1>Where does the extra time go?</h1>")?;
    for system in &findings.systems {
        let tool = format!("{} {}", findings.run.tool.name, findings.run.tool.version);
        writeln!(out, "<p class=\"over\">{}</p>", esc(&::report::sentences::machine(&tool, system)))?;
    }
    for text in missing(blame) {
        writeln!(out, "<p class=\"lead\">{}</p>", esc(&text))?;
    }
    writeln!(out, "</header>")?;
    for (place, one) in blame.series.iter().enumerate() {
        series(one, &format!("flame-{place}"), out)?;
    }
    writeln!(
        out,
        "<section class=\"reading\"><h2>How to read this</h2><p>The thread that measures was sampled \
         while an operation was under way, at the n where it is cheap and at those where it is expensive, \
         in trials that count for nothing else. A share is the processor time that a function has more \
         for one operation, as a part of all that one operation takes more. Shares add up to 100 %, and \
         one that falls is below zero. Intervals are over trials, at 95 %, for each function by \
         itself.</p><p>In a flame graph a box is a function, and stands on the one that called it. Its \
         width is its processor time where the operation is expensive. The hatched part of that is new; \
         the plain part was there at low n too. A box with a dotted edge has less than before. Behind a \
         name is its share of the growth, with what it calls. Point at a box for its figures; click to \
         see it larger. Functions that a program calls may be missing in programs without frame pointers; \
         those of the kernel are all there. Parts of the kernel that run with interrupts off are seen where \
         these are on again, which is often the end of a lock.</p></section>"
    )?;
    writeln!(out, "<script>\n{}</script>", flame::SCRIPT)?;
    close(false, out)
}

fn series(series: &SeriesBlame, id: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<section><h2>{}</h2><p class=\"claim\">{}.</p>",
        esc(&series.label),
        esc(&headline(series))
    )?;
    for remark in remarks(series) {
        writeln!(out, "<p class=\"remark\">{}</p>", esc(&remark))?;
    }
    if let Some(graph) = flame::draw(series, id) {
        writeln!(out, "<figure>{graph}{LEGEND}</figure>")?;
    }
    let functions = shown(series, false).map(|one| {
        let [low, high] = one.own_seconds.map(time);
        (full_name(one), vec![share(one.own), share(one.whole), low, high])
    });
    let heading = ["Function", &capital(growth_of(series)), "With what it calls", "At low n", "At high n"];
    table(&heading, functions, out)?;
    for (all, what) in [(&series.counters, "For an operation"), (&series.in_use, "More was in use")] {
        let rows = all.iter().map(|one| (one.name.clone(), both(one)));
        table(&[what, "At low n", "At high n"], rows, out)?;
    }
    if let Some(reason) = uncounted(series) {
        writeln!(out, "<p class=\"remark\">{}</p>", esc(&sentence(reason)))?;
    }
    writeln!(out, "</section>")
}

/// Rows with their names, under the heading; nothing without rows. On a narrow screen each number has the
/// heading of its column.
fn table(
    heading: &[&str],
    rows: impl Iterator<Item = (String, Vec<String>)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rows = rows.peekable();
    let [first, columns @ ..] = heading else { return Ok(()) };
    if rows.peek().is_none() {
        return Ok(());
    }
    write!(out, "<div class=\"scroll\"><table class=\"verdicts\"><thead><tr><th scope=\"col\">{first}</th>")?;
    for column in columns {
        write!(out, "<th scope=\"col\" class=\"num\">{column}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for (name, cells) in rows {
        write!(out, "<tr><th scope=\"row\">{}</th>", esc(&name))?;
        for (cell, column) in cells.iter().zip(columns) {
            write!(out, "<td class=\"num\" data-is=\"{}\">{}</td>", column.to_lowercase(), esc(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}
