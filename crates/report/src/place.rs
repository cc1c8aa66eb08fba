//! Places of n in words: one n, a range of n, and the objects that n counts.

use stats::Interval;

use crate::words::count;

/// The n from one to another: `20–22`; one n stands alone.
pub fn range(low: u64, high: u64) -> String {
    if low == high { count(low) } else { format!("{}–{}", count(low), count(high)) }
}

/// The range that something holds for: `from n = 10 to 20 000`, `at n = 5 000`.
pub(crate) fn span(low: u64, high: u64) -> String {
    match low == high {
        true => format!("at n = {}", count(low)),
        false => format!("from n = {} to {}", count(low), count(high)),
    }
}

/// The two n between which a jump is, `100 and 1 000`; `None` where it is known exactly, and is given as the
/// first n behind it.
pub(crate) fn between(jump: Interval) -> Option<String> {
    let Interval { value, low, high } = jump;
    let before = (low.round() as u64).saturating_sub(1);
    let is_open = high - low > EXACT * value;
    is_open.then(|| format!("{} and {}", count(before), count(high.round() as u64)))
}

/// A place that is known to this share is given as one n with its interval.
const EXACT: f64 = 0.01;

/// `at 1 000 simultaneous connections`, `at n = 1 000`.
pub(crate) fn at(n: u64, grows: &str) -> String {
    format!("at {}", counted(&count(n), grows))
}

/// The same of a level; `None` for the only one of something that has no levels, such as a command.
pub(crate) fn at_level(n: u64, grows: &str) -> Option<String> {
    let has_levels = n != 1 || !matches!(grows, "n" | "");
    has_levels.then(|| at(n, grows))
}

/// A number of the objects that n counts: `1 000 bound sockets`, `1 bound socket`, `n = 1 000`.
pub fn counted(number: &str, grows: &str) -> String {
    match grows {
        "n" | "" => format!("n = {number}"),
        _ if number == "1" => format!("1 {}", singular(grows)),
        _ => format!("{number} {grows}"),
    }
}

/// The singular of the objects that n counts: the noun at the end of its words, or before a relative clause.
fn singular(grows: &str) -> String {
    let mut words: Vec<&str> = grows.split(' ').collect();
    let tells_more = |word: &&str| ["that", "in", "of", "per"].contains(word);
    let end = words.iter().position(tells_more).unwrap_or(words.len());
    if let Some(noun) = end.checked_sub(1).and_then(|place| words.get_mut(place)) {
        let plural = if noun.ends_with("sses") { "es" } else { "s" };
        *noun = noun.strip_suffix(plural).unwrap_or(noun);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let one = |grows| counted("1", grows);
        assert_eq!(one("simultaneous connections"), "1 simultaneous connection");
        assert_eq!(one("live processes"), "1 live process");
        assert_eq!(one("files in the folder"), "1 file in the folder");
        assert_eq!(one("MiB that the parent has written"), "1 MiB that the parent has written");
        assert_eq!(one("open and mapped files"), "1 open and mapped file");
        assert_eq!(one("n"), "n = 1");
        assert_eq!(counted("2", "compilers"), "2 compilers");
    }

    #[test]
    fn one_n_is_no_range() {
        assert_eq!((range(5, 5), range(20, 22)), ("5".into(), "20–22".into()));
        assert_eq!((span(5, 5), span(20, 22)), ("at n = 5".into(), "from n = 20 to 22".into()));
    }
}
