//! The bar above the page: links to its parts, and with scripts a filter of the series.

use std::io::{self, Write};

use judge::{Finding, Findings};

use super::escape::esc;
use crate::overview::Kind;

/// A filter: its class in the page, and its name.
const FILTERS: [(&str, &str); 4] = [
    ("is-changed", "changed"),
    ("is-flat", "flat"),
    ("is-undecided", "undecided"),
    ("is-unlike", "unexpected"),
];

/// The classes by which a row, a card or a figure of a series is shown or hidden.
pub(super) fn classes(findings: &Findings, finding: &Finding) -> String {
    let of_kind = match Kind::of(finding) {
        Kind::Worse | Kind::GrowsLittle | Kind::Better | Kind::Uneven => "is-changed",
        Kind::Flat => "is-flat",
        Kind::Undecided | Kind::TooShort => "is-undecided",
        Kind::OneLevel | Kind::Compared | Kind::NoNumber => "is-other",
    };
    let is_unlike = findings.as_expected(finding) == Some(false);
    format!("series {of_kind}{}", if is_unlike { " is-unlike" } else { "" })
}

/// Writes the bar: a button for each filter that shows something, and links to the parts that are there.
pub(super) fn bar(findings: &Findings, parts: &[(&str, &str)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<nav class=\"bar\" aria-label=\"Parts of this page\"><div class=\"filters\" hidden>")?;
    let all: Vec<String> = findings.series.iter().map(|finding| classes(findings, finding)).collect();
    let shows = |class: &str| all.iter().any(|classes| classes.split(' ').any(|one| one == class));
    for (class, name) in FILTERS.into_iter().filter(|(class, _)| shows(class)) {
        writeln!(
            out,
            "<button type=\"button\" data-show=\"{class}\" aria-pressed=\"false\">{name}</button>"
        )?;
    }
    writeln!(
        out,
        "<input type=\"search\" placeholder=\"Search\" aria-label=\"Search the series\">\
         <output></output></div><div class=\"parts\">"
    )?;
    for (id, name) in parts {
        writeln!(out, "<a href=\"#{id}\">{}</a>", esc(name))?;
    }
    writeln!(out, "</div></nav>")
}
