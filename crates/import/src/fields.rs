//! The fields of a line: numbers, and the text shown of a field that is not a number.

use record::N_MAX;

/// A whole number of objects that a run file can hold: `1000`, and also `1e3` and `1000.0`.
pub(crate) fn parse_n(field: &[u8]) -> Option<u64> {
    parse_whole(field).filter(|n| *n <= N_MAX)
}

fn parse_whole(field: &[u8]) -> Option<u64> {
    let mut n: u64 = 0;
    let digits = field.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    if digits == field.len() && digits > 0 {
        for byte in field {
            n = n.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        }
        return Some(n);
    }
    let n = parse_value(field)?;
    // 2^64 is the first that does not fit, and a float.
    (n >= 0.0 && n.fract() == 0.0 && n < 18_446_744_073_709_551_616.0).then_some(n as u64)
}

/// Any number that Rust's own parser takes; `nan` and `inf` too.
pub(crate) fn parse_value(field: &[u8]) -> Option<f64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Whether a field is a number but for a decimal comma or separators of thousands.
pub(crate) fn has_separator(field: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(field) else { return false };
    let is_separator = |letter: char| matches!(letter, ',' | '\'' | '’' | '_' | ' ' | '\u{a0}' | '\u{202f}');
    let of_number =
        |letter: char| letter.is_ascii_digit() || ".+-eE".contains(letter) || is_separator(letter);
    let is_parted = text.contains(is_separator) || text.matches('.').count() > 1;
    text.contains(|letter: char| letter.is_ascii_digit()) && text.chars().all(of_number) && is_parted
}

/// The text of a field, short enough to be shown.
pub(crate) fn shown(field: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(field);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", &text[..end]),
        None => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_separators_are_known() {
        for text in ["0,84", "1,000", "1 000", "1'000", "1.000.000", "-1,5e3", "1_000", "1\u{202f}000"] {
            assert!(has_separator(text.as_bytes()), "{text}");
        }
        for text in ["", ",", "0.84", "1e3", "fast", "a,1", "-2"] {
            assert!(!has_separator(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn n_is_whole_however_it_is_written() {
        for (text, n) in [("0", 0), ("1000", 1000), ("1e4", 10_000), ("1000.0", 1000), ("+5", 5), ("-0", 0)] {
            assert_eq!(parse_n(text.as_bytes()), Some(n), "{text}");
        }
        assert_eq!(parse_n(b"9223372036854775807"), Some(N_MAX));
        for text in [
            "",
            "-1",
            "1.5",
            "1e30",
            "9223372036854775808",
            "18446744073709551616",
            "nan",
            "inf",
            "ten",
            "1 000",
            "0x10",
        ] {
            assert_eq!(parse_n(text.as_bytes()), None, "{text}");
        }
    }
}
