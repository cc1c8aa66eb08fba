//! Standard output for results, standard error for everything else.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use clap::ValueEnum;
use report::document::Document;
use report::document::terminal::{self, Length};
use report::{PrintableLines, Style, printable};

/// Width of the output without a terminal: enough for every column of a table.
const WIDTH_IN_A_PIPE: usize = 132;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always, also in a pipe
    Always,
    /// Never
    Never,
}

/// The two outputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// The style of standard output.
    pub(crate) style: Style,
    /// Whether standard error is a terminal.
    pub(crate) watched: bool,
}

impl Console {
    /// The outputs of this process. `NO_COLOR` is honoured (no-color.org) unless the command line asks for
    /// colour. Thousands stand apart for people only, so that a program can read the numbers in a pipe.
    pub(crate) fn of_process(colour: Colour) -> Console {
        let terminal = io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = match terminal_size::terminal_size() {
            Some((width, _)) if terminal => usize::from(width.0),
            _ => WIDTH_IN_A_PIPE,
        };
        let colour = match colour {
            Colour::Auto => terminal && !plain,
            Colour::Always => true,
            Colour::Never => false,
        };
        Console {
            terminal,
            style: Style { width, colour, unicode: speaks_unicode(), grouped: terminal },
            watched: io::stderr().is_terminal(),
        }
    }

    /// Prints a document on standard output.
    pub(crate) fn print(&self, document: &Document, extent: Length) -> io::Result<()> {
        let mut out = BufWriter::new(results());
        terminal::write(document, extent, &self.style, &mut out)?;
        out.flush()
    }

    /// Prints a document on standard error, all of it at once. A closed standard error is not a failure.
    pub(crate) fn tell(&self, document: &Document) {
        let style = Style { colour: false, grouped: self.watched, ..self.style };
        let mut text = Vec::new();
        let _ = terminal::write(document, Length::Short, &style, &mut text)
            .and_then(|()| io::stderr().write_all(&text));
    }
}

/// Standard output, for results. A file or a program gets every byte as it is; a terminal gets untrusted
/// names without control characters.
pub(crate) enum Results {
    Terminal(PrintableLines<Stdout>),
    Program(Stdout),
}

pub(crate) fn results() -> Results {
    let out = io::stdout();
    if out.is_terminal() { Results::Terminal(PrintableLines::in_colour(out)) } else { Results::Program(out) }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Results::Terminal(lines) => lines.write(bytes),
            Results::Program(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Results::Terminal(lines) => lines.flush(),
            Results::Program(out) => out.flush(),
        }
    }
}

/// Prints lines to standard error, with control characters of quotations escaped. A closed standard error is
/// not a failure.
pub(crate) fn tell(text: &str) {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    let _ = writeln!(io::stderr(), "{}", lines.join("\n"));
}

/// Whether UTF-8 may be printed: the locale names it, or names no character set at all, as in most
/// containers.
fn speaks_unicode() -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    set.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8") || locale == "c" || locale == "posix"
    })
}
