//! Counts and lists in words, for messages and reports.

/// The space inside a quantity: narrow, and a line never breaks at it.
pub const GAP: char = '\u{202f}';

/// A count with its thousands apart: `10 000`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 || i == 1 && digits.len() == 4 {
            out.push(GAP);
        }
        out.push(digit);
    }
    out
}

/// A number of things, in the singular or the plural: `1 trial`, `10 trials`.
pub fn things(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n as u64), if n == 1 { one } else { many })
}

/// Words in a row: `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
