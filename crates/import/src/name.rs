//! The name of a benchmark, with the numbers in it: one of them may be n.
//!
//! A number is a whole word of the name: `1024` in `Sort/1024`, `size=64K/pad=0`, `test[list-1000]` and
//! `one_by_one_1200`, but not in `SHA256` or `x86`. Suffixes are those that benchstat reads: `k` and `M` are
//! powers of 1000, `Ki` and `Mi` powers of 1024.

use std::collections::BTreeMap;
use std::ops::Range;

use record::Unit;
use record::units::{self, Quantity};

use crate::text::parse_n;

/// The key of the origin by which modules differ.
pub(crate) const MODULE: &str = "module";
/// The key of the origin that says which kept measurement it is.
pub(crate) const BASELINE: &str = "baseline";

/// Separators of words.
const MARKS: &[char] = &['/', '=', ':', ',', '[', ']', '(', ')', ' '];
/// Separators of words that may also be inside words.
const JOINTS: &[char] = &['-', '_'];

/// A name, with the origins that distinguish benchmarks of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) numbers: Vec<Number>,
    /// Where the benchmark comes from, such as its package; shown only where the name alone is not enough.
    pub(crate) origin: BTreeMap<String, String>,
    /// The figure of the benchmark, where it is not its time.
    pub(crate) figure: Option<Figure>,
    /// Whether it is a command line, which differs between two programs that do the same work; other names
    /// are names of work.
    pub(crate) is_command: bool,
}

/// A figure of a benchmark beside its time: `B/op`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: Unit,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    /// Its key; empty where it has only a place.
    pub(crate) key: String,
    pub(crate) n: u64,
    /// Where it stands in the text, perhaps more than once; nowhere where the name does not show it.
    pub(crate) places: Vec<Range<usize>>,
    /// The part that a name without it lacks: also its key and a separator.
    pub(crate) part: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A parameter, as the program itself calls it.
    Parameter,
    /// A word between separators.
    Word,
    /// A word behind or before a dash or an underscore.
    Joined,
    /// Threads or processors, which every benchmark has.
    Processors,
}

impl Name {
    /// A name as a program prints it.
    pub(crate) fn parse(text: &str) -> Name {
        let words = words(text);
        let numbers = words.iter().enumerate().filter_map(|(i, word)| number(text, &words, i, word));
        Name { text: text.to_owned(), numbers: numbers.collect(), ..Name::default() }
    }

    /// With a number that the text does not show.
    pub(crate) fn with(mut self, kind: Kind, key: &str, n: u64) -> Name {
        self.numbers.push(Number { key: key.to_owned(), n, places: Vec::new(), part: 0..0, kind });
        self
    }

    /// With something about where it comes from; nothing if that is not known.
    pub(crate) fn with_origin(mut self, key: &str, value: Option<&str>) -> Name {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.origin.insert(key.to_owned(), value.to_owned());
        }
        self
    }

    /// The text with a gap for every number, which all names of a family share.
    pub(crate) fn template(&self) -> String {
        let gaps = self.numbers.iter().flat_map(|number| &number.places).map(|place| (place.clone(), "\0"));
        let keys = self.numbers.iter().filter(|number| number.places.is_empty());
        let figure = self.figure.as_ref().map(|figure| figure.name.as_str());
        let keys: Vec<&str> = keys.map(|number| number.key.as_str()).chain(figure).collect();
        format!("{}\0{}", replaced(&self.text, gaps.collect()), keys.join("\0"))
    }

    /// The text without the numbers at these places of the list; numbers that vary among others and are not
    /// in the text follow it.
    pub(crate) fn without(&self, out: &[usize], varied: &[usize], form: Form) -> String {
        let mut edits: Vec<(Range<usize>, &str)> = Vec::new();
        let key = |number: &Number| if number.key.is_empty() { "n" } else { &number.key }.to_owned();
        let braced: Vec<String> = self.numbers.iter().map(|number| format!("{{{}}}", key(number))).collect();
        for &i in out {
            let number = &self.numbers[i];
            match form {
                _ if number.kind == Kind::Parameter || form == Form::Braces => {
                    edits.extend(number.places.iter().map(|place| (place.clone(), braced[i].as_str())));
                }
                Form::Short => edits.push((number.part.clone(), "")),
                _ => edits.extend(number.places.iter().map(|place| (self.with_separator(place), ""))),
            }
        }
        let mut text = replaced(&self.text, edits).replace("[]", "").replace("()", "");
        text.truncate(text.trim_end().len());
        for number in varied.iter().filter(|i| !out.contains(i)).map(|i| &self.numbers[*i]) {
            match number.kind {
                _ if !number.places.is_empty() => {}
                Kind::Processors if number.n == 1 => {}
                Kind::Processors => text.push_str(&format!("-{}", number.n)),
                _ => text.push_str(&format!("/{}={}", number.key, number.n)),
            }
        }
        let text = if text.is_empty() { self.text.clone() } else { text };
        match &self.figure {
            Some(figure) => format!("{text} {}", figure.name),
            None => text,
        }
    }

    /// A number with the separator between it and its key.
    fn with_separator(&self, place: &Range<usize>) -> Range<usize> {
        let before = self.text[..place.start].trim_end_matches(' ');
        let start = before.strip_suffix(['=', ':', '/', '-', '_', ',']).map_or(place.start, str::len);
        start..place.end
    }
}

/// The part of a name that remains where a number was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `Sum/pad=0` of `Sum/size=16/pad=0`.
    Short,
    /// `Sum/size/pad=0`.
    WithKey,
    /// `Sum/size={size}/pad=0`.
    Braces,
}

/// The text with these ranges replaced; of two that overlap only the first is.
fn replaced(text: &str, mut edits: Vec<(Range<usize>, &str)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut at) = (String::new(), 0);
    for (range, by) in edits {
        let start = range.start.max(at);
        out.push_str(text.get(at..start).unwrap_or_default());
        out.push_str(if range.start >= at { by } else { "" });
        at = range.end.max(at);
    }
    out + text.get(at..).unwrap_or_default()
}

/// Where the words stand.
fn words(text: &str) -> Vec<Range<usize>> {
    let is_mark = |letter: char| MARKS.contains(&letter) || JOINTS.contains(&letter);
    let mut start = 0;
    let mut words = Vec::new();
    for (at, letter) in text.char_indices().filter(|(_, letter)| is_mark(*letter)).chain([(text.len(), ' ')])
    {
        if at > start {
            words.push(start..at);
        }
        start = at + letter.len_utf8();
    }
    words
}

/// The number that a word is.
fn number(text: &str, words: &[Range<usize>], i: usize, word: &Range<usize>) -> Option<Number> {
    let n = parse_size(&text[word.clone()])?;
    let (before, behind) = (&text[..word.start], &text[word.end..]);
    let (left, right) = (before.chars().next_back(), behind.chars().next());
    if words.len() == 1 || matches!(right, Some('=' | ':')) {
        return None;
    }
    let is_joint = |letter: Option<char>| letter.is_some_and(|letter| JOINTS.contains(&letter));
    if is_joint(left) && !before[..before.len() - 1].ends_with(char::is_alphanumeric) {
        // A sign.
        return None;
    }
    let bound = before.trim_end_matches(' ').ends_with(['=', ':']).then(|| words[..i].last().cloned());
    let (start, key) = match bound {
        // Between numbers a colon is that of a time of day.
        Some(key) => {
            let key = key.filter(|key| text[key.clone()].starts_with(char::is_alphabetic))?;
            (key.start, &text[key])
        }
        None if is_joint(left) => {
            let start = before.rfind(MARKS).map_or(0, |mark| mark + 1);
            (word.start, &before[start..before.len() - 1])
        }
        None => (word.start, ""),
    };
    let kind = if is_joint(left) || is_joint(right) { Kind::Joined } else { Kind::Word };
    let part = part(text, start, word.end);
    Some(Number { key: key.to_owned(), n, places: vec![word.clone()], part, kind })
}

/// The separator that is removed with a number.
fn part(text: &str, start: usize, end: usize) -> Range<usize> {
    let before = text[..start].trim_end_matches(' ');
    let behind = text[end..].trim_start_matches(' ');
    let to = |rest: &str| text.len() - rest.len();
    match (before.chars().next_back(), behind.chars().next()) {
        (Some('['), Some(']')) | (Some('('), Some(')')) => before.len() - 1..to(&behind[1..]),
        (Some('/' | ',' | '-' | '_' | '&'), _) => before.len() - 1..end,
        (_, Some('/' | ',' | '-' | '_')) => start..to(behind[1..].trim_start_matches(' ')),
        _ if before.len() < start => before.len()..end,
        _ => start..end,
    }
}

/// A whole number, perhaps with a suffix of SI or IEC: `1000`, `1kB`, `64Ki`, `1e6`.
pub(crate) fn parse_size(word: &str) -> Option<u64> {
    if !word.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    parse_n(word.as_bytes()).or_else(|| {
        let size =
            units::parse(word, Quantity::Count).or_else(|_| units::parse(word, Quantity::Size)).ok()?;
        (size.fract() == 0.0 && size <= units::COUNT_MAX as f64).then_some(size as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each number with its key, and the three forms of the name without it.
    fn numbers(text: &str) -> Vec<(String, u64, String)> {
        let name = Name::parse(text);
        let out = |i| name.without(&[i], &[], Form::Short);
        name.numbers.iter().enumerate().map(|(i, number)| (number.key.clone(), number.n, out(i))).collect()
    }

    #[test]
    fn a_number_is_a_whole_word() {
        for (text, key, n, rest) in [
            ("BM_Sort/1024", "", 1024, "BM_Sort"),
            ("Sort/size=1024/int", "size", 1024, "Sort/int"),
            ("Sort/n:64Ki", "n", 65_536, "Sort"),
            ("test_sort[1000]", "", 1000, "test_sort"),
            ("test_sort[list-1000]", "list", 1000, "test_sort[list]"),
            ("test_sort[1000-list]", "", 1000, "test_sort[list]"),
            ("look/one_by_one_1200", "one_by_one", 1200, "look/one_by_one"),
            ("Move/len-32", "len", 32, "Move/len"),
            ("List.Add(N: 1000)", "N", 1000, "List.Add"),
            ("Sum(a, 1kB)", "", 1000, "Sum(a)"),
            ("Select on 200 fd's", "", 200, "Select on fd's"),
            ("1MiB/copy", "", 1_048_576, "copy"),
        ] {
            assert_eq!(numbers(text), [(key.to_owned(), n, rest.to_owned())], "{text}");
        }
        let both: Vec<String> = numbers("BM_Sort/8/1024").into_iter().map(|(_, _, rest)| rest).collect();
        assert_eq!(both, ["BM_Sort/1024", "BM_Sort/8"]);
    }

    #[test]
    fn other_digits_are_letters_of_a_name() {
        for text in ["SHA256", "x86/fast", "", "/", "5", "v1.5/x", "at/-3", "12:01 log", "a/5x", "load/0.5"] {
            assert_eq!(numbers(text), [], "{text}");
        }
    }

    #[test]
    fn each_form_keeps_more_of_the_name() {
        let name = Name::parse("Sum/size=16/pad=0");
        let forms = [Form::Short, Form::WithKey, Form::Braces].map(|form| name.without(&[0], &[], form));
        assert_eq!(forms, ["Sum/pad=0", "Sum/size/pad=0", "Sum/size={size}/pad=0"]);
        let two = Name::parse("f(16, 32)");
        assert_eq!(two.without(&[0, 1], &[], Form::Short), "f");
        let threads = Name::parse("Sort").with(Kind::Processors, "GOMAXPROCS", 8);
        assert_eq!(threads.without(&[], &[0], Form::Short), "Sort-8");
    }

    proptest! {
        #[test]
        fn any_text_is_a_name(text in "[a-z0-9/=:,\\[\\]() _é-]{0,24}|\\PC{0,24}") {
            let name = Name::parse(&text);
            for i in 0..name.numbers.len() {
                for form in [Form::Short, Form::WithKey, Form::Braces] {
                    prop_assert!(!name.without(&[i], &[], form).is_empty());
                }
            }
            prop_assert!(name.template().len() <= 2 * text.len() + 1);
        }
    }
}
