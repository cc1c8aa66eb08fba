//! The words of a report, from the tables of docs/verdicts.md and docs/glossary.md, and the paragraphs of
//! documents that open with a term in bold; and the guides to commands and options.

const VERDICTS: &str = include_str!("../../../../../docs/verdicts.md");
const GLOSSARY: &str = include_str!("../../../../../docs/glossary.md");
const METHODOLOGY: &str = include_str!("../../../../../METHODOLOGY.md");
const SERVERS: &str = include_str!("../../../../../docs/servers.md");

const DOCTOR: &str = include_str!("../../../../../docs/doctor.md");

/// Commands and options that have a guide, with its text.
const METHODS: [(&str, &str); 7] = [
    ("background", include_str!("../../../../../docs/background.md")),
    ("blame", include_str!("../../../../../docs/blame.md")),
    ("doctor", DOCTOR),
    ("history", include_str!("../../../../../docs/nightly.md")),
    ("impact", include_str!("../../../../../docs/impact.md")),
    ("snoop", include_str!("../../../../../docs/snoop.md")),
    ("tune", DOCTOR),
];

/// The commands and options that have a guide.
pub(in crate::cmd) fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|(name, _)| *name)
}

/// The guide to a command or option, in Markdown, without its title: its method, and how far its answers can
/// be trusted.
pub(super) fn method(name: &str) -> Option<&'static str> {
    let (_, guide) = METHODS.iter().find(|(known, _)| *known == name)?;
    guide.split_once("\n\n").map(|(_, text)| text.trim())
}

/// All definitions of terms that contain the word, each with its term.
pub(super) fn find(word: &str) -> Vec<(String, String)> {
    defined().filter(|(defined, _)| has_word(defined, word)).collect()
}

/// The words that are defined, for suggestions.
pub(super) fn words() -> impl Iterator<Item = String> {
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
        for (name, _) in METHODS {
            assert!(method(name).is_some_and(|text| text.len() > 500), "{name}");
        }
        assert_eq!(method("Sources"), None);
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
            assert!(!find(verdict).is_empty(), "{verdict}");
        }
        assert!(find("flat")[0].1.starts_with("the cost differs by at most 4 %"));
        assert!(["nonsense", "", "4 %"].iter().all(|word| find(word).is_empty()));
    }
}
