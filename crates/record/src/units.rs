//! Numbers with units, as a person writes them: the only grammar of them on every command line.
//!
//! A number is `20`, `2.5` or `1e4`. Prefixes are those of SI and IEC as written: k (or K), M, G and T are
//! powers of 1000; Ki, Mi, Gi and Ti are powers of 1024. A size may end with B: `2G` is `2GB`. Times are
//! those of the crate humantime: `500ms`, `2m`, `1h 30m`.
//!
//! Units are strict, because a wrong guess is a factor of eight or of a thousand: `mbps` means bits to most
//! and bytes to tc(8). An error quotes the text, names the fault and gives an example that works.

use std::ops::RangeInclusive;
use std::time::Duration;

/// A text that cannot be read: the text, and the advice to its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\": {advice}")]
pub struct Unreadable {
    text: String,
    advice: String,
}

/// The text may be long, and its beginning is enough to find it.
const QUOTED_MAX: usize = 60;

impl Unreadable {
    /// The advice names the fault, and has an example that works.
    pub fn new(text: &str, advice: impl Into<String>) -> Unreadable {
        let text = match text.char_indices().nth(QUOTED_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        Unreadable { text, advice: advice.into() }
    }
}

/// The dimension of a number, which decides its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// `500`, `20k`, `1e4`.
    Count,
    /// Bytes: `512B`, `2G`, `64KiB`.
    Size,
    /// A share of 1: `50%` is 0.5.
    Share,
    /// Bytes per second: `20MB/s`.
    ByteRate,
    /// Bits per second: `100mbit`, `1Gbit/s`, `12MB/s`.
    BitRate,
    /// Events per second: `200/s`, `1M/s`; the unit may be left out.
    EventRate,
}

/// A prefix and its factor, which is a power of 10 times a power of 2.
struct Prefix {
    name: &'static str,
    ten: i32,
    two: i32,
}

const PREFIXES: [Prefix; 10] = [
    Prefix { name: "", ten: 0, two: 0 },
    Prefix { name: "k", ten: 3, two: 0 },
    Prefix { name: "K", ten: 3, two: 0 },
    Prefix { name: "M", ten: 6, two: 0 },
    Prefix { name: "G", ten: 9, two: 0 },
    Prefix { name: "T", ten: 12, two: 0 },
    Prefix { name: "Ki", ten: 0, two: 10 },
    Prefix { name: "Mi", ten: 0, two: 20 },
    Prefix { name: "Gi", ten: 0, two: 30 },
    Prefix { name: "Ti", ten: 0, two: 40 },
];

/// Bytes to bits, as a power of 2.
const BITS_OF_BYTE: i32 = 3;

/// The largest integer to which all smaller ones are exact as a floating point number.
pub const COUNT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

impl Quantity {
    /// Its units and their factors as powers of 2, each before those that it ends with. The first is printed.
    const fn units(self) -> &'static [(&'static str, i32)] {
        match self {
            Quantity::Count => &[("", 0)],
            Quantity::Size => &[("B", 0), ("", 0)],
            Quantity::Share => &[("%", 0)],
            Quantity::ByteRate => &[("B/s", 0)],
            Quantity::BitRate => &[("bit", 0), ("bit/s", 0), ("B/s", BITS_OF_BYTE)],
            Quantity::EventRate => &[("/s", 0), ("", 0)],
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Quantity::Count => "500 or 20k",
            Quantity::Size => "50MB or 2GiB",
            Quantity::Share => "50%",
            Quantity::ByteRate => "20MB/s",
            Quantity::BitRate => "100mbit or 12MB/s",
            Quantity::EventRate => "200/s or 1M/s",
        }
    }

    /// The prefix and the power of 2 of a unit as written.
    fn factor(self, unit: &str) -> Option<(&'static Prefix, i32)> {
        self.units().iter().find_map(|&(name, two)| {
            let prefix = unit.strip_suffix(name)?;
            // tc(8) and most people write bits with small letters, and nothing has a thousandth of a bit.
            let any_case = name.starts_with("bit");
            let is_it =
                |known: &&Prefix| known.name == prefix || any_case && known.name.eq_ignore_ascii_case(prefix);
            let prefix = PREFIXES.iter().find(is_it)?;
            let is_unit = match self {
                // A number alone may have Ki or Mi too.
                Quantity::Size => !unit.is_empty(),
                Quantity::Share => prefix.name.is_empty(),
                _ => true,
            };
            is_unit.then_some((prefix, two))
        })
    }

    /// The fault of a unit, and an example.
    fn advice(self, unit: &str) -> String {
        let example = self.example();
        let lower = unit.to_ascii_lowercase();
        let is_bytes = matches!(self, Quantity::Size | Quantity::ByteRate | Quantity::BitRate);
        if unit.is_empty() {
            format!("it has no unit; write {example}")
        } else if lower.ends_with("bps") {
            let prefix = &unit[..unit.len() - "bps".len()];
            format!("\"{unit}\" is bits to most and bytes to some; write {prefix}bit or {prefix}B/s")
        } else if is_bytes && matches!(lower.trim_end_matches("/s"), "b" | "kb" | "mb" | "gb" | "tb") {
            format!("a B is a byte, as in MB and MB/s, and bits are written bit; write {example}")
        } else if self == Quantity::Share {
            format!("\"{unit}\" is no unit here; write {example}")
        } else {
            format!(
                "\"{unit}\" is no unit here; write {example}; k, M, G, T are powers of 1000, and Ki, Mi, Gi, \
                 Ti of 1024"
            )
        }
    }
}

/// Reads a number directly followed by its unit, in base units: bytes, bits, shares of 1, each second.
///
/// # Errors
/// [`Unreadable`].
pub fn parse(text: &str, quantity: Quantity) -> Result<f64, Unreadable> {
    let Some((mantissa, exponent, unit)) = number(text) else {
        let number = if quantity == Quantity::Count { "a number" } else { "a number and its unit" };
        let advice = format!("write {number}, such as {}", quantity.example());
        return Err(Unreadable::new(text, advice));
    };
    let Some((prefix, two)) = quantity.factor(unit) else {
        return Err(Unreadable::new(text, quantity.advice(unit)));
    };
    // As text, so that 0.3G is the number that is nearest to 300,000,000.
    let power = if quantity == Quantity::Share { -2 } else { prefix.ten };
    let decimal: f64 = format!("{mantissa}e{}", exponent.saturating_add(power)).parse().unwrap_or(f64::NAN);
    let value = decimal * f64::from(1_u32 << two) * (1_u64 << prefix.two) as f64;
    match value.is_finite() {
        true => Ok(value),
        false => Err(Unreadable::new(text, format!("it is too large; write {}", quantity.example()))),
    }
}

/// The digits and the exponent of the number at the beginning, and the rest.
fn number(text: &str) -> Option<(&str, i32, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = Some(digits(text)).filter(|&count| count > 0)?;
    let fraction = match text[whole..].strip_prefix('.') {
        Some(rest) => 1 + Some(digits(rest)).filter(|&count| count > 0)?,
        None => 0,
    };
    let (mantissa, rest) = text.split_at(whole + fraction);
    let Some(behind) = rest.strip_prefix(['e', 'E']) else { return Some((mantissa, 0, rest)) };
    let sign = usize::from(behind.starts_with(['+', '-']));
    match digits(&behind[sign..]) {
        0 => Some((mantissa, 0, rest)),
        count => Some((mantissa, behind[..sign + count].parse().ok()?, &behind[sign + count..])),
    }
}

/// Prints a number that [`parse`] reads as the same: with the largest prefix that leaves at least 1, so that
/// equal numbers are equal texts. A size is decimal or binary, whichever is shorter.
pub fn written(value: f64, quantity: Quantity) -> String {
    let decimal = decimal(value, quantity);
    let binary = binary(value).filter(|_| quantity == Quantity::Size);
    binary.filter(|binary| binary.len() < decimal.len()).unwrap_or(decimal)
}

fn decimal(value: f64, quantity: Quantity) -> String {
    let (unit, _) = quantity.units()[0];
    let scientific = format!("{value:e}");
    let parts = scientific.split_once('e').and_then(|(digits, ten)| Some((digits, ten.parse::<i32>().ok()?)));
    // Not a number, or infinite.
    let Some((digits, exponent)) = parts else { return format!("{value}{unit}") };
    let (power, prefix) = match quantity {
        Quantity::Share => (-2, ""),
        _ => {
            let fits = |prefix: &&Prefix| prefix.two == 0 && prefix.ten <= exponent && prefix.name != "K";
            PREFIXES.iter().rev().find(fits).map_or((0, ""), |prefix| (prefix.ten, prefix.name))
        }
    };
    let number = shifted(digits, if value == 0.0 { 0 } else { exponent - power });
    match quantity {
        Quantity::BitRate => format!("{number}{}{unit}", prefix.to_ascii_lowercase()),
        _ => format!("{number}{prefix}{unit}"),
    }
}

/// `d.ddd` times that power of 10, digit by digit: a floating point number would round.
fn shifted(digits: &str, power: i32) -> String {
    let digits = digits.replacen('.', "", 1);
    let before = 1 + power.unsigned_abs() as usize;
    match power {
        ..0 => format!("0.{}{digits}", "0".repeat(before - 2)),
        _ if digits.len() <= before => format!("{digits:0<before$}"),
        _ => format!("{}.{}", &digits[..before], &digits[before..]),
    }
}

/// `2GiB`, where it is a whole number of these.
fn binary(bytes: f64) -> Option<String> {
    let whole = (bytes > 0.0 && bytes.fract() == 0.0 && bytes <= COUNT_MAX as f64).then_some(bytes as u64)?;
    let fits = |prefix: &&Prefix| prefix.two > 0 && whole.is_multiple_of(1 << prefix.two);
    let prefix = PREFIXES.iter().rev().find(fits)?;
    Some(format!("{}{}B", whole >> prefix.two, prefix.name))
}

/// Reads a whole number: `500`, `20k`, `64Ki`.
///
/// # Errors
/// [`Unreadable`], also above [`COUNT_MAX`].
pub fn count(text: &str) -> Result<u64, Unreadable> {
    within(text, 0..=COUNT_MAX)
}

/// A reader of whole numbers that are in this range, and in that of their type.
pub fn counts<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, Unreadable> + Clone + Send + Sync + 'static {
    move |text| {
        let count = within(text, range.clone())?;
        T::try_from(count).map_err(|_| Unreadable::new(text, "it is too large; write 500"))
    }
}

fn within(text: &str, range: RangeInclusive<u64>) -> Result<u64, Unreadable> {
    let value = parse(text, Quantity::Count)?;
    let refuse = |fault: String| {
        let example = [500, *range.start(), 20].into_iter().find(|example| range.contains(example));
        Unreadable::new(text, format!("{fault}; write {}", example.unwrap_or(*range.start())))
    };
    if value.fract() != 0.0 {
        return Err(refuse("it is no whole number".to_owned()));
    }
    if value < *range.start() as f64 || value > *range.end() as f64 {
        return Err(refuse(match *range.end() {
            COUNT_MAX.. if value < *range.start() as f64 => format!("the least is {}", range.start()),
            _ => format!("from {} to {} is possible", range.start(), range.end()),
        }));
    }
    Ok(value as u64)
}

/// Reads a share of 1, `0.05` or `5%`, from 0 to 1.
///
/// # Errors
/// [`Unreadable`].
pub fn share(text: &str) -> Result<f64, Unreadable> {
    let share = if is_bare(text) { parse(text, Quantity::Count) } else { parse(text, Quantity::Share) };
    match share? {
        share if share <= 1.0 => Ok(share),
        _ => Err(Unreadable::new(text, "a share is from 0 to 1; write 0.05 or 5%")),
    }
}

/// Reads a number of percent, `5%` or `5`, as a share of 1: 0.05.
///
/// # Errors
/// [`Unreadable`].
pub fn percent(text: &str) -> Result<f64, Unreadable> {
    if is_bare(text) { parse(&format!("{text}%"), Quantity::Share) } else { parse(text, Quantity::Share) }
}

/// Whether it is a number without a unit.
fn is_bare(text: &str) -> bool {
    number(text).is_some_and(|(.., unit)| unit.is_empty())
}

/// Reads a time with its units: `500ms`, `2m`, `1h 30m`.
///
/// # Errors
/// [`Unreadable`].
pub fn time(text: &str) -> Result<Duration, Unreadable> {
    use humantime::DurationError;
    const EXAMPLE: &str = "write 500ms, 2s or 1h 30m";
    let refuse = |fault: String| Err(Unreadable::new(text, format!("{fault}; {EXAMPLE}")));
    if has_long_number(text) {
        return refuse("it is too long".to_owned());
    }
    if text.contains('M') {
        // humantime reads it as a month, and everywhere else here it is a million.
        return refuse("M is no unit of time, and a minute is m".to_owned());
    }
    match humantime::parse_duration(text) {
        // It reads 0 without a unit too, and so do we.
        Ok(time) => Ok(time),
        Err(DurationError::UnknownUnit { unit, .. }) if unit.is_empty() => {
            refuse("it has no unit".to_owned())
        }
        Err(DurationError::UnknownUnit { unit, .. }) => {
            refuse(format!("\"{unit}\" is no unit of time, which are ns, us, ms, s, m, h and d"))
        }
        Err(DurationError::NumberOverflow) => {
            refuse("it is too long, or has fractions of a nanosecond".to_owned())
        }
        Err(_) => refuse("a time is a number and its unit".to_owned()),
    }
}

/// Whether the sum of its parts may be beyond a [`Duration`], where humantime panics: it has a number of more
/// than ten digits (a part is below 10^18 s then), or more than a dozen parts.
fn has_long_number(text: &str) -> bool {
    let long = text.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() > 10);
    long || text.len() > 12 * 5
}

/// Reads a time as [`time`] does, or a number without a unit, which is in seconds.
///
/// # Errors
/// [`Unreadable`].
pub fn time_or_seconds(text: &str) -> Result<Duration, Unreadable> {
    match is_bare(text) {
        true => {
            let seconds = Duration::try_from_secs_f64(parse(text, Quantity::Count)?);
            seconds.map_err(|_| Unreadable::new(text, "it is too long; write 10, 500ms or 2m"))
        }
        false => time(text),
    }
}

/// Reads a time with its unit, in seconds. Unlike a [`Duration`], it may have fractions of a nanosecond.
///
/// # Errors
/// [`Unreadable`].
pub fn seconds(text: &str) -> Result<f64, Unreadable> {
    let nanoseconds = text.strip_suffix("ns").filter(|number| is_bare(number));
    match nanoseconds {
        Some(nanoseconds) => Ok(parse(nanoseconds, Quantity::Count)? / 1e9),
        None => time(text).map(|time| time.as_secs_f64()),
    }
}

/// Prints a time that [`time`] reads as the same.
pub fn written_time(time: Duration) -> String {
    // Its months have 30.44 days, which surprises readers: days are the largest unit here.
    const DAY: u64 = 86_400;
    let (days, rest) = (time.as_secs() / DAY, Duration::new(time.as_secs() % DAY, time.subsec_nanos()));
    match (days, rest.is_zero()) {
        (0, _) => humantime::format_duration(rest).to_string(),
        (days, true) => format!("{days}d"),
        (days, false) => format!("{days}d {}", humantime::format_duration(rest)),
    }
}
