//! The answer as a page: the conclusion, the picture of all paths, the costs.

use std::io::{self, Write};

use ::report::html::{close, esc, open};
use ::report::quantity::{time, time_with_interval};
use ::report::words::{amount_with_interval, share_with_interval};
use inspect::impact::{CostImpact, UserShare};

use super::answer::Answer;
use super::picture;
use super::text::{conclusion, name, part, size};

pub(super) fn write(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    open("Does it matter?", out)?;
    writeln!(out, "<style>\n{}\n</style>", picture::STYLE)?;
    writeln!(out, "<header><p class=\"over\">osdyno impact</p><h1>Does it matter?</h1>")?;
    for sentence in conclusion(answer) {
        writeln!(out, "<p class=\"lead\">{}</p>", esc(&sentence))?;
    }
    writeln!(out, "</header>")?;
    paths(answer, out)?;
    path(answer, out)?;
    costs(answer, out)?;
    writeln!(
        out,
        "<section class=\"reading\"><h2>How to read this</h2><p>A share is what the operating system takes \
         of the time that a user waits, as if nothing of it happened at the same time as anything else: an \
         upper bound. A system twice as fast gains half of that (Amdahl). Intervals are those of the trials \
         of the run, at 95 %; those of sums are wider.</p><p>A transfer is as fast as the slowest part of \
         the path. The figures of other paths are typical ones, rounded to one digit.</p></section>"
    )?;
    close(false, out)
}

fn paths(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let Some(picture) = picture::draw(answer) else { return Ok(()) };
    let name = answer.impact.main().map(|main| name(main, &answer.impact)).unwrap_or_default();
    writeln!(
        out,
        "<section><h2>The share of the operating system on each path</h2><figure>{picture}<figcaption>{}: \
         filled in the time of a response, hollow in that of a transfer of {}. A system twice as fast gains \
         half of the share at most.</figcaption></figure></section>",
        esc(&name),
        esc(&size(answer))
    )
}

fn path(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let path = &answer.question.path;
    let heading = if answer.has_path { "The path" } else { "The path: fibre to the home" };
    writeln!(out, "<section><h2>{heading}</h2><table class=\"facts\"><tbody>")?;
    for one in path.parts() {
        let [delay, rate] = part(one);
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>",
            esc(&one.name),
            esc(&delay),
            esc(&rate)
        )?;
    }
    let (delay, slowest) =
        (time(path.delay_seconds()), path.bottleneck().map(|(part, _)| part.name.as_str()));
    let slowest = slowest.map(|name| format!("{name} is the slowest")).unwrap_or_default();
    writeln!(
        out,
        "<tr><th scope=\"row\">total</th><td>{}</td><td>{}</td></tr></tbody></table></section>",
        esc(&delay),
        esc(&slowest)
    )
}

fn costs(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let columns = ["Time", "Share of a response", "Share of a transfer", "Twice as fast saves a core from"];
    write!(
        out,
        "<section><h2>Costs</h2><div class=\"scroll\"><table class=\"verdicts\"><thead><tr>\
         <th scope=\"col\">Cost</th>"
    )?;
    for column in columns {
        write!(out, "<th scope=\"col\" class=\"num\">{column}</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    let cell =
        |share: Option<UserShare>| share.map_or("—".to_owned(), |one| share_with_interval(one.share));
    let row = |one: &CostImpact| {
        let taken = one.response.or(one.transfer).map(|share| share.system_seconds);
        let taken = taken.unwrap_or_else(|| one.cost.of(answer.question.bytes));
        let from = one.capacity.map(|capacity| format!("{}/s", amount_with_interval(capacity.matters_from)));
        [time_with_interval(taken), cell(one.response), cell(one.transfer), from.unwrap_or("—".to_owned())]
    };
    for one in answer.impact.together.iter().chain(&answer.impact.costs) {
        let cell = |(cell, column): (&String, &str)| {
            format!("<td class=\"num\" data-is=\"{}\">{}</td>", column.to_lowercase(), esc(cell))
        };
        let cells: String = row(one).iter().zip(columns).map(cell).collect();
        writeln!(out, "<tr><th scope=\"row\">{}</th>{cells}</tr>", esc(&name(one, &answer.impact)))?;
    }
    writeln!(out, "</tbody></table></div></section>")
}
