//! The words of a report, as METHODOLOGY.md defines them: its table of verdicts, and the paragraphs that
//! open with a term in bold; and its sections on what is neither a workload nor a verdict.

const METHODOLOGY: &str = include_str!("../../../../../METHODOLOGY.md");

/// Commands and options whose method has a section, with its heading.
const METHODS: [(&str, &str); 6] = [
    ("background", "A load beside the trials"),
    ("blame", "Blame"),
    ("doctor", "Doctor and tune"),
    ("impact", "Impact"),
    ("snoop", "Snoop"),
    ("tune", "Doctor and tune"),
];

/// The commands and options that have a section.
pub(in crate::cmd) fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|(name, _)| *name)
}

/// What METHODOLOGY.md says of a command or option, in Markdown; how far its answers can be trusted.
pub(super) fn method(name: &str) -> Option<&'static str> {
    let (_, heading) = METHODS.iter().find(|(known, _)| *known == name)?;
    let mut sections = METHODOLOGY.split("\n## ").filter_map(|section| section.split_once('\n'));
    sections.find(|(other, _)| other == heading).map(|(_, text)| text.trim())
}

/// All definitions that have the word in what they define, each with that; none if there are none.
pub(super) fn find(word: &str) -> Vec<(String, String)> {
    rows().chain(paragraphs()).filter(|(defined, _)| has_word(defined, word)).collect()
}

/// The words that are defined, for suggestions.
pub(super) fn words() -> impl Iterator<Item = String> {
    let all = rows().chain(paragraphs()).map(|(defined, _)| defined);
    all.flat_map(|defined| words_of(&defined).map(str::to_owned).collect::<Vec<_>>())
}

/// What a report prints, and what that claims.
fn rows() -> impl Iterator<Item = (String, String)> {
    let section = METHODOLOGY.split("\n## ").find(|section| section.starts_with("How to read a verdict"));
    let lines = section.into_iter().flat_map(str::lines);
    let cells = lines.filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "));
    cells.skip(1).map(|(words, claim)| (words.to_owned(), plain(claim)))
}

/// Terms in bold, and the paragraph that each opens.
fn paragraphs() -> impl Iterator<Item = (String, String)> {
    METHODOLOGY.split("\n\n").filter_map(|paragraph| {
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
    fn every_command_that_has_a_method_has_its_section() {
        for (name, heading) in METHODS {
            assert!(method(name).is_some_and(|text| text.len() > 500), "{heading}");
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
        ];
        for verdict in verdicts {
            assert!(!find(verdict).is_empty(), "{verdict}");
        }
        assert!(find("flat")[0].1.starts_with("the cost differs by at most 4 %"));
        assert!(["nonsense", "", "4 %"].iter().all(|word| find(word).is_empty()));
    }
}
