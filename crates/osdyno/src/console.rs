//! Standard output for results, standard error for everything else; failures that end the program, and its
//! exit codes.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use inspect::tune::TuneError;
use report::document::Document;
use report::document::terminal::{self, Length};
use report::{PrintableLines, Style, printable};

/// Done, but something could not be measured, or delivered.
pub(crate) const INCOMPLETE: u8 = 3;
/// A claim of a gate is certain.
pub(crate) const REGRESSED: u8 = 4;
/// Stopped by the user: 128 + SIGINT, as shells count.
pub(crate) const INTERRUPTED: u8 = 130;

const FAILED: u8 = 1;
const WRONG_USAGE: u8 = 2;

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

    /// The progress of so many steps, in one line of standard error, where that is a terminal.
    pub(crate) fn progress(&self, steps: u64, template: &str) -> ProgressBar {
        let target = if self.watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(template).map(|style| style.progress_chars("█▉▊▋▌▍▎▏ "));
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::with_draw_target(Some(steps), target).with_style(style)
    }

    /// Prints a document on standard output.
    pub(crate) fn print(&self, document: &Document, extent: Length) -> io::Result<()> {
        write_results(|out| terminal::write(document, extent, &self.style, out))
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

/// Writes all of the results on standard output.
pub(crate) fn write_results(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(results());
    write(&mut out)?;
    out.flush()
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

/// The exit code of a verb that is done, wholly or not.
pub(crate) fn completion(is_whole: bool) -> ExitCode {
    if is_whole { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) }
}

/// A failure that ends the program. Each message names the attempt, its object, and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Runner(#[from] runner::Error),
    #[error(transparent)]
    Record(#[from] record::Error),
    #[error(transparent)]
    Net(#[from] net::Error),
    #[error(transparent)]
    Mail(#[from] mail::MailError),
    #[error(transparent)]
    Spool(#[from] mail::SpoolError),
    #[error(transparent)]
    History(#[from] history::Error),
    #[error(transparent)]
    Lab(#[from] lab::Error),
    #[error(transparent)]
    Background(#[from] background::Error),
    #[error(transparent)]
    Tune(#[from] TuneError),
    #[error(transparent)]
    Fleet(#[from] fleet::Error),
    #[error("{} exists already; choose another name, or overwrite it with --force", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot write to standard output: {0}")]
    Print(#[from] io::Error),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("--fail-on is undecided: {0}")]
    Undecided(String),
}

impl Failure {
    pub(crate) fn writing(path: &Path) -> impl FnOnce(io::Error) -> Failure {
        let path = path.to_owned();
        move |source| Failure::Write { path, source }
    }

    /// Prints the failure and returns its exit code. A closed pipe is not reported.
    pub(crate) fn tell(self) -> ExitCode {
        if matches!(&self, Failure::Print(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            return ExitCode::SUCCESS;
        }
        tell(&format!("error: {}", report::printable(&self.to_string())));
        let wrong_usage = matches!(
            self,
            Failure::Usage(_)
                | Failure::Fleet(_)
                | Failure::Spool(mail::SpoolError::OtherDelivery { .. })
                | Failure::Net(net::Error::Unknown { .. } | net::Error::Settings(_))
                | Failure::Mail(
                    mail::MailError::NoInterface(_)
                        | mail::MailError::NotPermitted(_)
                        | mail::MailError::Settings(_)
                        | mail::MailError::Dns(
                            mail::dns::DnsError::NoServer | mail::dns::DnsError::NotPermitted(_)
                        )
                )
                | Failure::Runner(
                    runner::Error::Fleet(_)
                        | runner::Error::UnknownWorkload { .. }
                        | runner::Error::UnknownPreset { .. }
                        | runner::Error::SameName { .. }
                        | runner::Error::NothingToSample { .. }
                        | runner::Error::AgainstItself
                        | runner::Error::FewTrials { .. }
                        | runner::Error::PublicServer { .. }
                        | runner::Error::UnreachableServer { .. }
                        | runner::Error::NoLevels { .. }
                )
        );
        ExitCode::from(match &self {
            Failure::Undecided(_) | Failure::Net(net::Error::Void(_)) => INCOMPLETE,
            _ if wrong_usage => WRONG_USAGE,
            _ => FAILED,
        })
    }
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
