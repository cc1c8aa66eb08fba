//! Standard output for results, standard error for everything else.

use std::io::{self, IsTerminal, Write};

use report::Style;

/// Width of the output without a terminal: enough for every column of a table.
const WIDTH_IN_A_PIPE: usize = 132;

/// What the two outputs are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    /// Whether standard output is a terminal.
    pub(crate) terminal: bool,
    /// How standard output is to be written to.
    pub(crate) style: Style,
    /// Whether standard error is a terminal.
    pub(crate) watched: bool,
}

impl Console {
    /// The outputs of this process. `NO_COLOR` is honoured (no-color.org).
    pub(crate) fn of_process() -> Console {
        let terminal = io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = match terminal_size::terminal_size() {
            Some((width, _)) if terminal => usize::from(width.0),
            _ => WIDTH_IN_A_PIPE,
        };
        Console {
            terminal,
            style: Style { width, colour: terminal && !plain, unicode: speaks_unicode() },
            watched: io::stderr().is_terminal(),
        }
    }

    /// The text as a heading on standard output.
    pub(crate) fn bold(&self, text: &str) -> String {
        if self.style.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Prints a line to standard error. A closed standard error is not a failure.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
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
