//! The answer as a page: for each cost the sentence, the flame graph, the functions.

use std::io::{self, Write};

use ::report::html::{close, esc, open};
use ::report::quantity::time;
use ::report::words::amount_with_interval;
use inspect::blame::{Blame, SeriesBlame};
use judge::Findings;

use super::flame;
use super::text::{full_name, headline, missing, remarks, share, shown};

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
         width is its time where the operation is expensive; the stronger its warm colour, the more of \
         that is new; what became less has the cold colour. Point at a box for its figures. Functions \
         that a program calls may be missing in programs without frame pointers; those of the kernel are \
         all there. Parts of the kernel that run with interrupts off are seen where these are on again, \
         which is often the end of a lock.</p></section>"
    )?;
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
        writeln!(out, "<figure>{graph}</figure>")?;
    }
    let mut rows = shown(series, false).peekable();
    if rows.peek().is_some() {
        writeln!(
            out,
            "<div class=\"scroll\"><table class=\"verdicts\"><thead><tr>\
             <th scope=\"col\">Function</th><th scope=\"col\" class=\"num\">Of the growth</th>\
             <th scope=\"col\" class=\"num\">With what it calls</th>\
             <th scope=\"col\" class=\"num\">At low n</th>\
             <th scope=\"col\" class=\"num\">At high n</th></tr></thead><tbody>"
        )?;
        for one in rows {
            let [low, high] = one.own_seconds.map(time);
            let cells = [share(one.own), share(one.whole), low, high];
            row(&full_name(one), &cells, out)?;
        }
        writeln!(out, "</tbody></table></div>")?;
    }
    if !series.counters.is_empty() {
        writeln!(
            out,
            "<table class=\"verdicts\"><thead><tr><th scope=\"col\">For an operation</th>\
             <th scope=\"col\" class=\"num\">At low n</th>\
             <th scope=\"col\" class=\"num\">At high n</th></tr></thead><tbody>"
        )?;
        for one in &series.counters {
            row(&one.name, &one.sides.map(amount_with_interval), out)?;
        }
        writeln!(out, "</tbody></table>")?;
    }
    writeln!(out, "</section>")
}

fn row(name: &str, cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    let cells: String = cells.iter().map(|cell| format!("<td class=\"num\">{}</td>", esc(cell))).collect();
    writeln!(out, "<tr><th scope=\"row\">{}</th>{cells}</tr>", esc(name))
}
