//! `osdyno explain`: the page of a workload, an architecture, a service or a client, the same text that opens
//! its source file; the guide to a command; and the definition of a word that reports use, from the tables of
//! docs/verdicts.md and docs/glossary.md, and the paragraphs of documents that open with a term in bold.

use std::fmt::Write;
use std::process::ExitCode;

use report::document::terminal::Length;
use report::document::{Document, Section, Text, Tone, markdown};
use workload::{Direction, Sizes, Workload};

use super::{Done, command_line};
use crate::console::{Console, Failure};

const VERDICTS: &str = include_str!("../../../../docs/verdicts.md");
const GLOSSARY: &str = include_str!("../../../../docs/glossary.md");
const METHODOLOGY: &str = include_str!("../../../../METHODOLOGY.md");
const SERVERS: &str = include_str!("../../../../docs/servers.md");

const DOCTOR: &str = include_str!("../../../../docs/doctor.md");

/// Commands and options that have a guide, with its text.
const GUIDES: [(&str, &str); 7] = [
    ("background", include_str!("../../../../docs/background.md")),
    ("blame", include_str!("../../../../docs/blame.md")),
    ("doctor", DOCTOR),
    ("history", include_str!("../../../../docs/nightly.md")),
    ("impact", include_str!("../../../../docs/impact.md")),
    ("snoop", include_str!("../../../../docs/snoop.md")),
    ("tune", DOCTOR),
];

/// Print the page of a workload, a server architecture, a service or a client, the method of a command, or
/// the meaning of a verdict
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the workload, architecture, service or client; arch/NAME, service/NAME or client/NAME where
    /// another has that name; doctor, tune, snoop, blame, impact, history or background; or a word of a
    /// report, such as flat or spikes
    #[arg(value_name = "NAME", value_parser = command_line::page_names(), hide_possible_values = true)]
    name: String,
}

/// A page, and its subject.
pub(super) struct Page {
    /// Empty for a workload; `arch`, `service` or `client`, which may share a name with one.
    pub(super) kind: &'static str,
    pub(super) name: &'static str,
    /// Its subject in a line.
    pub(super) summary: String,
    /// The text, in Markdown; it begins with the summary.
    pub(super) text: String,
}

pub(crate) fn explain(args: &Args, console: &Console) -> Done {
    let (name, variant) = args.name.split_once('/').unwrap_or((&args.name, ""));
    let Some(workload) = runner::find(name) else {
        let method = guide(&args.name).map(str::to_owned);
        return match method.or_else(|| page_of_offer(&args.name).map(|page| page.text)) {
            Some(text) => {
                console.print(&markdown::document(&text), Length::All)?;
                Ok(ExitCode::SUCCESS)
            }
            None => define(&args.name, console),
        };
    };
    if !variant.is_empty() && workload.variants.iter().all(|known| known.name != variant) {
        return Err(unknown(&args.name));
    }
    let title = Text::toned(workload.name, Tone::Strong).and(format!("  (version {})", workload.version));
    let mut document = markdown::document(&page_of_workload(workload).text);
    document.blocks.insert(0, title.into());
    console.print(&document, Length::All)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the definitions of a word.
fn define(word: &str, console: &Console) -> Done {
    let definitions = definitions(word);
    if definitions.is_empty() {
        return Err(unknown(word));
    }
    let mut document = Document::default();
    for (defined, text) in definitions {
        let mut section = Section::new(Text::toned(defined, Tone::Strong));
        section.say(text);
        document.push(section);
    }
    console.print(&document, Length::All)?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing has this name; the most similar name of all that have a page.
fn unknown(name: &str) -> Failure {
    let all: Vec<String> = command_line::names_of_pages().into_iter().chain(defined_words()).collect();
    let nearest = runner::nearest(name, all.iter().map(String::as_str));
    let hint = nearest.map(|nearest| format!("; did you mean \"{nearest}\"?")).unwrap_or_default();
    Failure::Usage(format!("nothing to explain is called \"{name}\"{hint}  (osdyno list shows all names)"))
}

/// All pages.
pub(super) fn pages() -> impl Iterator<Item = Page> {
    runner::workloads().map(page_of_workload).chain(offers())
}

/// The pages of architectures, services and clients.
pub(super) fn offers() -> impl Iterator<Item = Page> {
    let architectures = net::arch::ALL.iter().map(|one| ("arch", one.name, one.summary(), one.page()));
    let services = net::service::ALL.iter().map(|one| ("service", one.name, one.summary(), one.page()));
    let clients = net::client::ALL.iter().map(|one| ("client", one.name, one.summary(), one.page()));
    let offers = architectures.chain(services).chain(clients);
    offers.map(|(kind, name, summary, text)| Page { kind, name, summary, text })
}

/// The page of the architecture, service or client of that name.
fn page_of_offer(name: &str) -> Option<Page> {
    let (kind, name) = name.split_once('/').unwrap_or(("", name));
    let is_it = |page: &Page| page.name == name && (kind.is_empty() || page.kind == kind);
    offers().find(is_it)
}

/// The page of a workload, from its file and its definition.
fn page_of_workload(workload: &'static Workload) -> Page {
    let mut text = workload.page();
    let _ = write!(text, "\n\nn counts {}{}.\n", workload.grows, levels(workload.sizes));
    let operations = workload.operations.iter().map(|operation| {
        // At levels n always rises; the unit is more useful there.
        let way = match operation.direction {
            _ if operation.reported => operation.unit.name(),
            Direction::Up => "rising",
            Direction::Down => "falling",
        };
        [operation.name.to_owned(), way.to_owned(), operation.summary.to_owned()]
    });
    let way = if workload.operations.iter().any(|operation| operation.reported) { "unit" } else { "n" };
    text += &table(["Measured", way, ""], operations);
    if workload.variants.len() > 1 {
        let variants = workload.variants.iter();
        let variants = variants
            .map(|variant| [format!("{}/{}", workload.name, variant.name), variant.summary.to_owned()]);
        text += &table(["Variant", ""], variants);
    }
    if !workload.settings.is_empty() {
        let settings = workload.settings.iter().map(|setting| {
            let option = format!("--set {}={}", setting.name, setting.default);
            [option, format!("{}: {}", setting.summary, setting.values)]
        });
        text += &table(["Setting", ""], settings);
    }
    if let Err(reason) = workload.run {
        let _ = write!(text, "\nunsupported: {reason}\n");
    }
    if net::arch::find(workload.name).is_ok() {
        let _ =
            write!(text, "\nThe server architecture of that name: osdyno explain arch/{}\n", workload.name);
    }
    Page { kind: "", name: workload.name, summary: workload.summary(), text }
}

fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(N));
    let rows: String = rows.map(|row| line(&row)).collect();
    format!("\n{}{rule}{rows}", line(&heading.map(str::to_owned)))
}

/// The levels of n, unless it is every n.
fn levels(sizes: Sizes) -> String {
    let Some(some) = sizes.levels(100) else { return String::new() };
    let some: Vec<String> = some.iter().map(u64::to_string).collect();
    format!(", at {} and so on", some.join(", "))
}

/// The commands and options that have a guide.
pub(super) fn guides() -> impl Iterator<Item = &'static str> {
    GUIDES.iter().map(|(name, _)| *name)
}

/// The guide to a command or option, in Markdown, without its title: its method, and how far its answers can
/// be trusted.
fn guide(name: &str) -> Option<&'static str> {
    let (_, guide) = GUIDES.iter().find(|(known, _)| *known == name)?;
    guide.split_once("\n\n").map(|(_, text)| text.trim())
}

/// All definitions of terms that contain the word, each with its term.
fn definitions(word: &str) -> Vec<(String, String)> {
    defined().filter(|(defined, _)| has_word(defined, word)).collect()
}

/// The words that are defined, for suggestions.
fn defined_words() -> impl Iterator<Item = String> {
    let all = defined().map(|(defined, _)| defined);
    all.flat_map(|defined| words_of(&defined).map(str::to_owned).collect::<Vec<_>>())
}

/// All terms that are defined, each with its definition.
fn defined() -> impl Iterator<Item = (String, String)> {
    rows().chain(paragraphs()).chain(terms())
}

/// The terms of the glossary.
fn terms() -> impl Iterator<Item = (String, String)> {
    let rows = GLOSSARY.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let is_head = |(term, _): &(&str, &str)| *term == "term";
    rows.filter(move |row| !is_head(row)).filter_map(|(term, rest)| {
        let (meaning, _) = rest.split_once(" |")?;
        Some((term.to_owned(), plain(meaning)))
    })
}

/// The words that a report prints, and their claims.
fn rows() -> impl Iterator<Item = (String, String)> {
    let sections = VERDICTS.split("\n## ").filter(|section| section.starts_with("The words of "));
    sections.flat_map(|section| {
        let rows =
            section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
        rows.skip(1).map(|(words, claim)| (words.to_owned(), plain(claim)))
    })
}

/// Terms in bold, and the paragraph that each opens.
fn paragraphs() -> impl Iterator<Item = (String, String)> {
    let paragraphs = [VERDICTS, METHODOLOGY, SERVERS].into_iter().flat_map(|text| text.split("\n\n"));
    paragraphs.filter_map(|paragraph| {
        let (term, text) = paragraph.strip_prefix("**")?.split_once(".** ")?;
        Some((term.to_owned(), plain(&text.replace('\n', " "))))
    })
}

/// Text without the marks of Markdown.
fn plain(text: &str) -> String {
    text.replace(['*', '`'], "")
}

fn has_word(defined: &str, word: &str) -> bool {
    let sought: Vec<String> = words_of(word).map(str::to_lowercase).collect();
    let defined: Vec<String> = words_of(defined).map(str::to_lowercase).collect();
    !sought.is_empty() && defined.windows(sought.len()).any(|some| some == sought)
}

/// Words of letters: the numbers in an example define nothing.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphabetic()).filter(|word| word.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_has_a_method_has_its_guide() {
        for (name, _) in GUIDES {
            assert!(guide(name).is_some_and(|text| text.len() > 500), "{name}");
        }
        assert_eq!(guide("Sources"), None);
    }

    #[test]
    fn every_verdict_has_a_definition() {
        let verdicts = [
            "flat",
            "small growth",
            "sublinear",
            "linear",
            "superlinear",
            "approaches a limit",
            "stepped",
            "two lines",
            "mixed",
            "undecided",
            "uneven",
            "falls",
            "inconclusive",
            "stopped",
            "unsupported",
            "crashed",
            "timed out",
            "modes",
            "spikes",
            "baseline",
            "drift",
            "segment",
            "tag",
        ];
        for verdict in verdicts {
            assert!(!definitions(verdict).is_empty(), "{verdict}");
        }
        assert!(definitions("flat")[0].1.starts_with("the cost differs by at most 4 %"));
        assert!(["nonsense", "", "4 %"].iter().all(|word| definitions(word).is_empty()));
    }
}
