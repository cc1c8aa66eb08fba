//! Rust source with everything but code blanked out, so that rules about code ignore prose. Lines and columns
//! stay where they were.

/// Replaces comments and the contents of string and character literals by spaces.
pub(super) fn only(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let end = comment(&letters, at).or_else(|| string(&letters, at)).or_else(|| character(&letters, at));
        match end {
            Some(end) => {
                let end = end.min(letters.len());
                code.extend(letters[at..end].iter().map(|letter| if *letter == '\n' { '\n' } else { ' ' }));
                at = end;
            }
            None => {
                code.push(letters[at]);
                at += 1;
            }
        }
    }
    code
}

/// The places where the words stand alone, not as a part of longer names.
pub(super) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back().is_some_and(part);
        let after = code[at + word.len()..].chars().next().is_some_and(part);
        !before && !after
    })
}

fn comment(letters: &[char], at: usize) -> Option<usize> {
    match letters[at..] {
        ['/', '/', ..] => {
            let length = letters[at..].iter().position(|letter| *letter == '\n');
            Some(length.map_or(letters.len(), |length| at + length))
        }
        ['/', '*', ..] => {
            let (mut depth, mut end) = (1, at + 2);
            while depth > 0 && end < letters.len() {
                match letters[end..] {
                    ['/', '*', ..] => (depth, end) = (depth + 1, end + 2),
                    ['*', '/', ..] => (depth, end) = (depth - 1, end + 2),
                    _ => end += 1,
                }
            }
            Some(end)
        }
        _ => None,
    }
}

/// `"…"`, `r"…"`, `r#"…"#`, and those with b or c before them.
fn string(letters: &[char], at: usize) -> Option<usize> {
    let inside_word = at > 0 && (letters[at - 1].is_alphanumeric() || letters[at - 1] == '_');
    let mut open = at;
    if !inside_word && matches!(letters[open], 'b' | 'c') {
        open += 1;
    }
    let raw = !inside_word && letters.get(open) == Some(&'r');
    let hashes = if raw {
        open += 1;
        letters[open..].iter().take_while(|letter| **letter == '#').count()
    } else {
        0
    };
    open += hashes;
    if letters.get(open) != Some(&'"') {
        return None;
    }
    let mut end = open + 1;
    while end < letters.len() {
        match letters[end] {
            '\\' if !raw => end += 1,
            '"' if letters[end + 1..].iter().take(hashes).filter(|letter| **letter == '#').count()
                == hashes =>
            {
                return Some(end + 1 + hashes);
            }
            _ => {}
        }
        end += 1;
    }
    Some(end)
}

/// `'x'` and `'\n'`, but not the lifetime `'x`.
fn character(letters: &[char], at: usize) -> Option<usize> {
    match letters[at..] {
        ['\'', '\\', _, ..] => {
            let length = letters[at + 3..].iter().position(|letter| *letter == '\'')?;
            Some(at + 3 + length + 1)
        }
        ['\'', _, '\'', ..] => Some(at + 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn blanked(text: &str, expected: &str) {
        assert_eq!(only(text).split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn prose_is_not_code() {
        blanked("a // unsafe\nb", "a b");
        blanked("a /* x /* unsafe */ y */ b", "a b");
        blanked("f(\"unsafe \\\" // \") + 1", "f( ) + 1");
        blanked("r#\"un\"safe\"# + br\"x\\\" + c\"y\"", "+ +");
        blanked("'\"' + '\\'' + b'x' + '\\u{1F600}'", "+ + b +");
        blanked("fn f<'a>(x: &'a str) -> &'a u8", "fn f<'a>(x: &'a str) -> &'a u8");
    }

    #[test]
    fn lines_stay_where_they_were() {
        let text = "a\n/* b\nc */ d\n\"e\nf\" g\n";
        assert_eq!(only(text).matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn words_stand_alone() {
        let code = "unsafe { unsafe_code } not_unsafe;";
        assert_eq!(words(code, "unsafe").collect::<Vec<_>>(), [0]);
    }
}
