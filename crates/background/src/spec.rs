//! The words of a user: `cpu:50%,disk:20MB/s`, or with levels `cpu:0%/25%/50%/75%`.

use record::units::{self, Quantity, Unreadable};

/// The loads of a system, at one level or at several.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundSpec {
    levels: Vec<BackgroundLevel>,
}

/// The loads that are held at the same time; empty at a level of zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackgroundLevel {
    /// As it is written on a command line, also where it is zero: `cpu:0%`.
    pub name: String,
    /// The loads, each to be held by a process of its own.
    pub loads: Vec<FixedLoad>,
}

/// One load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedLoad {
    pub(crate) kind: Kind,
    /// How much in each second: a share of a processor, bytes, connections or calls.
    pub(crate) rate: f64,
    /// The processor that the user chose.
    pub(crate) processor: Option<u32>,
}

/// The resource that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Cpu,
    Net,
    Disk,
    /// With this many bytes, which are all read in turn.
    Memory(u64),
    /// With this many that stay open.
    Connections(u64),
    Syscalls,
}

/// The name of a kind, its notation, and its rates.
struct Form {
    name: &'static str,
    example: &'static str,
    quantity: Quantity,
    least: f64,
    most: f64,
}

/// Less than the least cannot be held to 2 % within half a second, because it comes in pieces.
const FORMS: [Form; 6] = [
    Form { name: "cpu", example: "50%", quantity: Quantity::Share, least: 0.01, most: 1.0 },
    Form { name: "net", example: "100mbit", quantity: Quantity::BitRate, least: 125e3, most: 125e9 },
    Form { name: "disk", example: "20MB/s", quantity: Quantity::ByteRate, least: 5e5, most: 1e12 },
    Form { name: "memory", example: "2GiB@5GB/s", quantity: Quantity::ByteRate, least: 1e6, most: 1e13 },
    Form {
        name: "connections",
        example: "5000@200/s",
        quantity: Quantity::EventRate,
        least: 100.0,
        most: 1e9,
    },
    Form { name: "syscalls", example: "1M/s", quantity: Quantity::EventRate, least: 1e3, most: 1e12 },
];

const MEMORY_BYTES_LEAST: f64 = 1e6;
const MEMORY_BYTES_MOST: f64 = 1e15;
const CONNECTIONS_MOST: u64 = 1_000_000;

/// Loads at the same time, and levels: more of either is a mistake.
const LOADS_MOST: usize = 16;
const LEVELS_MOST: usize = 16;

const HOW: &str = "write it as in cpu:50%, net:100mbit, disk:20MB/s, memory:2GiB@5GB/s, \
                   connections:5000@200/s or syscalls:1M/s, several with commas between them";

impl BackgroundSpec {
    /// Reads loads with commas between them. One of them may have several levels, with slashes between them.
    ///
    /// # Errors
    /// [`Unreadable`] with a correct example.
    pub fn parse(text: &str) -> Result<BackgroundSpec, Unreadable> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        if parts.len() > LOADS_MOST {
            return Err(Unreadable::new(text, format!("{LOADS_MOST} loads at the same time are the most")));
        }
        let parts: Vec<Vec<FixedLoad>> = parts.into_iter().map(levels).collect::<Result<_, _>>()?;
        let count = parts.iter().map(Vec::len).max().unwrap_or(0);
        if parts.iter().filter(|levels| levels.len() > 1).count() > 1 {
            return Err(Unreadable::new(text, "one load at most can have several levels"));
        }
        let level = |place: usize| {
            let of = |levels: &Vec<FixedLoad>| levels.get(place).or(levels.first()).copied();
            let loads: Vec<FixedLoad> = parts.iter().filter_map(of).collect();
            let name = loads.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            BackgroundLevel { name, loads: loads.into_iter().filter(|load| load.rate > 0.0).collect() }
        };
        Ok(BackgroundSpec { levels: (0..count).map(level).collect() })
    }

    /// Its levels, in their order; one at least.
    pub fn levels(&self) -> &[BackgroundLevel] {
        &self.levels
    }
}

/// One load with its levels: `disk:10MB/s/20MB/s`.
fn levels(text: &str) -> Result<Vec<FixedLoad>, Unreadable> {
    let (name, value) = text.split_once(':').ok_or_else(|| Unreadable::new(text, HOW))?;
    let Some(form) = FORMS.iter().find(|form| form.name == name) else {
        return Err(Unreadable::new(text, format!("there is no load \"{name}\"; {HOW}")));
    };
    let (value, processor) = match value.split_once('#') {
        None => (value, None),
        Some((value, number)) => {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let processor = number.parse().ok().filter(|_| is_number);
            let advice = || Unreadable::new(text, "behind # is the number of a processor, as in cpu:50%#1");
            (value, Some(processor.ok_or_else(advice)?))
        }
    };
    let (size, rates) = match (value.split_once('@'), form.example.split_once('@')) {
        (Some((size, rates)), Some(_)) => (Some(size), rates),
        (None, None) => (None, value),
        _ => return Err(Unreadable::new(text, format!("write {name}:{}", form.example))),
    };
    let kind = kind(form, size)?;
    let mut levels: Vec<FixedLoad> = Vec::new();
    for rate in apart(rates) {
        let load = FixedLoad { kind, rate: rate_of(form, &rate)?, processor };
        if levels.contains(&load) {
            return Err(Unreadable::new(text, "the same level is there twice"));
        }
        levels.push(load);
    }
    if levels.len() > LEVELS_MOST {
        return Err(Unreadable::new(text, format!("{LEVELS_MOST} levels are the most")));
    }
    Ok(levels)
}

/// The levels between slashes; the slash of `/s` is none.
fn apart(rates: &str) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for piece in rates.split('/') {
        match levels.last_mut() {
            Some(last) if piece == "s" => last.push_str("/s"),
            _ => levels.push(piece.to_owned()),
        }
    }
    levels
}

fn rate_of(form: &Form, text: &str) -> Result<f64, Unreadable> {
    let example = form.example.split_once('@').map_or(form.example, |(_, rate)| rate);
    let rate = units::parse(text, form.quantity)? / form.per_base_unit();
    let least = || format!("the least is {}, and 0 is none; write {example}", form.written(form.least));
    match rate {
        rate if rate == 0.0 => Ok(rate),
        rate if rate < form.least => Err(Unreadable::new(text, least())),
        rate if rate > form.most => {
            Err(Unreadable::new(text, format!("the most is {}; write {example}", form.written(form.most))))
        }
        rate => Ok(rate),
    }
}

fn kind(form: &Form, size: Option<&str>) -> Result<Kind, Unreadable> {
    Ok(match (form.name, size) {
        ("cpu", _) => Kind::Cpu,
        ("net", _) => Kind::Net,
        ("disk", _) => Kind::Disk,
        ("memory", Some(size)) => {
            let bytes = units::parse(size, Quantity::Size)?;
            if !(MEMORY_BYTES_LEAST..=MEMORY_BYTES_MOST).contains(&bytes) {
                return Err(Unreadable::new(size, "memory is from 1MB on; write 2GiB"));
            }
            Kind::Memory(bytes as u64)
        }
        ("connections", Some(count)) => Kind::Connections(units::counts(1..=CONNECTIONS_MOST)(count)?),
        _ => Kind::Syscalls,
    })
}

impl FixedLoad {
    /// Reads one load at one level, in the form in which it is recorded.
    ///
    /// # Errors
    /// [`Unreadable`] with a correct example.
    pub fn parse(text: &str) -> Result<FixedLoad, Unreadable> {
        match levels(text)?[..] {
            [load] if load.rate > 0.0 => Ok(load),
            _ => Err(Unreadable::new(text, "one level above zero is wanted here")),
        }
    }

    /// The processor that the user chose for it.
    pub fn processor(&self) -> Option<u32> {
        self.processor
    }

    /// How much of it in each second, in base units.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

impl Form {
    /// A line is written in bits, and held in bytes.
    fn per_base_unit(&self) -> f64 {
        if self.quantity == Quantity::BitRate { 8.0 } else { 1.0 }
    }

    fn written(&self, rate: f64) -> String {
        units::written(rate * self.per_base_unit(), self.quantity)
    }
}

impl Kind {
    fn form(self) -> &'static Form {
        match self {
            Kind::Cpu => &FORMS[0],
            Kind::Net => &FORMS[1],
            Kind::Disk => &FORMS[2],
            Kind::Memory(_) => &FORMS[3],
            Kind::Connections(_) => &FORMS[4],
            Kind::Syscalls => &FORMS[5],
        }
    }

    /// A rate as it is written: `49.9 %`, `19.8 MB/s`.
    pub(crate) fn rate_in_words(self, rate: f64) -> String {
        let text = self.form().written(rate);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let digits = match number.parse::<f64>() {
            Ok(value) if value >= 100.0 => format!("{value:.0}"),
            Ok(value) if value >= 10.0 => format!("{value:.1}"),
            Ok(value) => format!("{value:.2}"),
            Err(_) => number.to_owned(),
        };
        format!("{digits} {unit}")
    }
}

/// The canonical form, without which equal loads would not be equal texts.
impl std::fmt::Display for FixedLoad {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = self.kind.form();
        write!(out, "{}:", form.name)?;
        match self.kind {
            Kind::Memory(bytes) => write!(out, "{}@", units::written(bytes as f64, Quantity::Size))?,
            Kind::Connections(count) => write!(out, "{count}@")?,
            _ => {}
        }
        out.write_str(&form.written(self.rate))?;
        self.processor.map_or(Ok(()), |processor| write!(out, "#{processor}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        BackgroundSpec::parse(text).unwrap().levels.into_iter().map(|level| level.name).collect()
    }

    #[test]
    fn every_kind_is_read_and_written_again() {
        for text in [
            "cpu:50%",
            "net:100mbit",
            "disk:20MB/s",
            "memory:2GiB@5GB/s",
            "memory:2GB@5GB/s",
            "connections:5000@200/s",
            "syscalls:1M/s",
            "cpu:12.5%#1",
            "disk:1.5MB/s#0",
        ] {
            assert_eq!(names(text), [text]);
            assert_eq!(FixedLoad::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(names("memory:2G@5GB/s"), ["memory:2GB@5GB/s"], "no text of a record from before 0.1.0");
        assert_eq!(names("cpu:50.0%, net:0.1gbit#3"), ["cpu:50%,net:100mbit#3"]);
        assert_eq!(names("memory:2GiB@5000MB/s"), names("memory:2048Mi@5GB/s"));
    }

    #[test]
    fn levels_stand_between_slashes() {
        assert_eq!(names("cpu:0%/25%/50%"), ["cpu:0%", "cpu:25%", "cpu:50%"]);
        assert_eq!(names("disk:0MB/s/1MB/s/2MB/s#1"), ["disk:0B/s#1", "disk:1MB/s#1", "disk:2MB/s#1"]);
        let both = BackgroundSpec::parse("net:8mbit,cpu:0%/10%").unwrap();
        assert_eq!(both.levels[0].name, "net:8mbit,cpu:0%");
        assert_eq!(both.levels.iter().map(|level| level.loads.len()).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn nonsense_is_refused_with_words_to_write_instead() {
        for (text, says) in [
            ("", "write it as in cpu:50%"),
            ("cpu", "write it as in cpu:50%"),
            ("gpu:50%", "there is no load \"gpu\""),
            ("cpu:50", "it has no unit"),
            ("cpu:101%", "the most is 100%"),
            ("cpu:0.5%", "the least is 1%, and 0 is none"),
            ("cpu:50%#", "the number of a processor"),
            ("cpu:50%#one", "the number of a processor"),
            ("cpu:50%@5", "write cpu:50%"),
            ("memory:2G", "write memory:2GiB@5GB/s"),
            ("memory:2@5GB/s", "it has no unit"),
            ("memory:1K@5GB/s", "memory is from 1MB on"),
            ("connections:0@200/s", "from 1 to 1000000 is possible"),
            ("connections:5000@20/s", "the least is 100/s"),
            ("disk:20MB", "a B is a byte, as in MB and MB/s"),
            ("net:100mbps", "bits to most and bytes to some"),
            ("cpu:25%/25%", "the same level is there twice"),
            ("cpu:25%/50%,net:8mbit/9mbit", "one load at most"),
            ("cpu:50%,", "write it as in cpu:50%"),
            ("syscalls:1M/s/", "a number and its unit"),
        ] {
            let error = BackgroundSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        assert!(FixedLoad::parse("cpu:0%").is_err() && FixedLoad::parse("cpu:1%/2%").is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_a_background_or_an_error(text in "\\PC{0,24}") {
            let _ = BackgroundSpec::parse(&text);
        }

        #[test]
        fn what_is_a_background_is_the_same_when_it_is_written_again(
            text in "(cpu|net|disk|syscalls|memory):([0-9]{1,4}[MG]@)?[0-9]{1,3}(%|mbit|MB/s|k/s)(#[0-9])?"
        ) {
            if let Ok(background) = BackgroundSpec::parse(&text) {
                let name = &background.levels()[0].name;
                prop_assert_eq!(BackgroundSpec::parse(name).unwrap(), background.clone());
            }
        }
    }
}
