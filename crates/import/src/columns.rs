//! The columns of numbers that the bench programs of 2003 printed, those of the web server gatling: a line
//! for every object that was added, a number for every operation. One file is one trial.

use std::io::{self, BufRead};

use record::Direction;
use record::words::things;

use crate::gather::Gather;
use crate::table::Options;
use crate::text::{LINE_BYTES_MAX, Line, Lines, is_blank, parse_value, shown};

/// The tick of a 2003 program, which prints whole microseconds or processor cycles.
const TICK: f64 = 1.0;
/// A line with more numbers is of another program.
const COLUMNS_MAX: usize = 64;

/// Words before the numbers of httpbench.
const WORDS: [&[u8]; 2] = [b"clat", b"sample"];

/// A bench program of 2003.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `socket bind`, while sockets pile up.
    Bindbench,
    /// `fork`, while processes pile up, and the end of one, from the oldest on: its first line has all
    /// alive.
    Forkbench,
    /// The same, linked statically.
    Forksbench,
    /// `thread`, while threads pile up.
    Pthreadbench,
    /// `mmap touch`, while mappings of one file pile up.
    Mmapbench,
    /// `open mmap touch`, while open and mapped files pile up.
    Manymapbench,
    /// `clat CONNECT`, while idle connections pile up, and `sample CONNECT REQUEST` between.
    Httpbench,
}

impl Program {
    /// All of them; where one name holds another, the longer one first.
    pub const ALL: [Program; 7] = [
        Program::Manymapbench,
        Program::Mmapbench,
        Program::Forksbench,
        Program::Forkbench,
        Program::Pthreadbench,
        Program::Bindbench,
        Program::Httpbench,
    ];

    /// Its name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            Program::Bindbench => "bindbench",
            Program::Forkbench => "forkbench",
            Program::Forksbench => "forksbench",
            Program::Pthreadbench => "pthreadbench",
            Program::Mmapbench => "mmapbench",
            Program::Manymapbench => "manymapbench",
            Program::Httpbench => "httpbench",
        }
    }

    /// The program whose name is in the name of a file, or its name without `bench`.
    pub(crate) fn of_file(path: &str) -> Option<Program> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
        let names = |program: &Program| name.contains(program.name());
        let hints = |program: &Program| name.contains(program.name().trim_end_matches("bench"));
        Program::ALL.into_iter().find(names).or_else(|| Program::ALL.into_iter().find(hints))
    }

    /// Its columns, with the direction of n in each.
    pub(crate) fn columns(self) -> &'static [(&'static str, Direction)] {
        use Direction::{Down, Up};
        match self {
            Program::Bindbench => &[("socket", Up), ("bind", Up)],
            Program::Forkbench | Program::Forksbench => &[("fork", Up), ("reap", Down)],
            Program::Pthreadbench => &[("thread", Up)],
            Program::Mmapbench => &[("mmap", Up), ("touch", Up)],
            Program::Manymapbench => &[("open", Up), ("mmap", Up), ("touch", Up)],
            Program::Httpbench => &[],
        }
    }
}

/// Whether a line may be the first of such a file: numbers with space between, one of the words before them.
pub(crate) fn is_row(line: &[u8]) -> bool {
    let mut fields = split(line);
    let Some(first) = fields.next() else { return false };
    let mut numbers = fields.map(|field| parse_value(field).is_some());
    let begins =
        if WORDS.contains(&first) { numbers.next() == Some(true) } else { parse_value(first).is_some() };
    begins && numbers.all(|is_number| is_number)
}

fn split(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// Facts of a file, known before it is read.
pub(crate) struct File<'a> {
    pub(crate) program: Option<Program>,
    /// Number of the trial that it is.
    pub(crate) trial: u32,
    /// Its first line, which says how many columns there are.
    pub(crate) first: &'a [u8],
}

/// Reads a file into `gather`; an unusable line goes to `bad` with its number.
pub(crate) fn read<R: BufRead>(
    file: &File<'_>,
    lines: &mut Lines<R>,
    options: &Options,
    gather: &mut Gather,
    mut bad: impl FnMut(u64, &str),
) -> io::Result<()> {
    let with_words = split(file.first).next().is_some_and(|first| WORDS.contains(&first));
    let mut columns = Columns::new(file, with_words);
    // Lines of numbers so far: the objects alive before the next operation.
    let mut n = 0;
    while let Some((number, line)) = lines.next()? {
        let line = match line {
            Line::TooLong => {
                bad(number, &format!("it has more than {LINE_BYTES_MAX} bytes"));
                n += 1;
                continue;
            }
            Line::Text(line) if is_blank(line) => continue,
            Line::Text(line) => line,
        };
        let taken = if with_words { columns.take_worded(line, n) } else { columns.take(line, n) };
        if let Err(reason) = taken {
            bad(number, &reason);
        }
        // A sample adds no object.
        n += u64::from(!line.trim_ascii_start().starts_with(b"sample"));
    }
    columns.give(n, file.trial, options, gather)
}

/// The values of one file, column by column.
struct Columns {
    columns: Vec<Column>,
}

struct Column {
    name: String,
    direction: Direction,
    /// n and value; on the way down n counts the objects removed before.
    values: Vec<(u64, f64)>,
}

impl Columns {
    fn new(file: &File<'_>, with_words: bool) -> Columns {
        let column = |name: String, direction| Column { name, direction, values: Vec::new() };
        let of_program = |name: &str| match file.program {
            Some(program) => format!("{} {name}", program.name()),
            None => name.to_owned(),
        };
        if with_words {
            let names = ["connect", "sample connect", "sample request"];
            return Columns { columns: names.map(|name| column(of_program(name), Direction::Up)).into() };
        }
        let count = split(file.first).count().min(COLUMNS_MAX);
        let known = file.program.map_or(&[][..], Program::columns);
        let columns = (0..count).map(|i| match known.get(i) {
            Some((name, direction)) => column(of_program(name), *direction),
            None => column(of_program(&format!("column {}", i + 1)), Direction::Up),
        });
        Columns { columns: columns.collect() }
    }

    /// A line of numbers, one for every column.
    fn take(&mut self, line: &[u8], n: u64) -> Result<(), String> {
        let values = numbers(split(line))?;
        if values.len() != self.columns.len() {
            let found = things(values.len(), "number", "numbers");
            return Err(format!("it has {found} where the first line has {}", self.columns.len()));
        }
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push((n, value)));
        Ok(())
    }

    /// A line of httpbench: `clat CONNECT` or `sample CONNECT REQUEST`.
    fn take_worded(&mut self, line: &[u8], n: u64) -> Result<(), String> {
        let mut fields = split(line);
        let word = fields.next().unwrap_or_default();
        let values = numbers(fields)?;
        let columns = match (word, values.len()) {
            (b"clat", 1) => &mut self.columns[..1],
            (b"sample", 2) => &mut self.columns[1..],
            _ => return Err("it is neither \"clat\" and a number nor \"sample\" and two".into()),
        };
        columns.iter_mut().zip(values).for_each(|(column, value)| column.values.push((n, value)));
        Ok(())
    }

    /// Passes on everything, now that the number of lines shows where the way down began.
    fn give(self, lines: u64, trial: u32, options: &Options, gather: &mut Gather) -> io::Result<()> {
        for column in self.columns.iter().filter(|column| !column.values.is_empty()) {
            let tick = TICK * options.scale;
            let place = gather.place(column.name.as_bytes(), trial, column.direction, tick);
            let place = place.map_err(io::Error::other)?;
            for (n, value) in &column.values {
                let n = if column.direction == Direction::Down { lines - n } else { *n };
                if n >= options.from {
                    gather.add(place, n, value * options.scale);
                } else {
                    gather.leave_below();
                }
            }
        }
        Ok(())
    }
}

fn numbers<'a>(fields: impl Iterator<Item = &'a [u8]>) -> Result<Vec<f64>, String> {
    let number = |field: &'a [u8]| parse_value(field).ok_or_else(|| format!("{} is no number", shown(field)));
    fields.take(COLUMNS_MAX + 1).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_the_name_of_the_file() {
        for (file, program) in [
            ("forkbench-linux26.1", Some(Program::Forkbench)),
            ("logs/forksbench.log", Some(Program::Forksbench)),
            ("manymap.txt", Some(Program::Manymapbench)),
            ("bind/mmap.txt", Some(Program::Mmapbench)),
            ("a.txt", None),
        ] {
            assert_eq!(Program::of_file(file), program, "{file}");
        }
    }

    #[test]
    fn a_row_is_numbers() {
        for line in ["1 2", " 12\t13 ", "clat 7", "sample 1 2"] {
            assert!(is_row(line.as_bytes()), "{line}");
        }
        for line in ["", "a b", "1,2", "clat", "clat x", "series 1", "1 x"] {
            assert!(!is_row(line.as_bytes()), "{line}");
        }
    }
}
