//! The output of a load: a live line while it runs, and its result, on the terminal and in files in the
//! formats of their names.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::report::Style;
use ::report::document::terminal::{self, Length};
use ::report::document::{markdown_writer, page};
use ::report::place::counted;
use ::report::quantity::time;
use ::report::words::count;
use indicatif::ProgressBar;
use net::load::{Distribution, Level, Load, LoadSettings, PERCENTS, Percentile, Progress, Recent};
use record::HeldBackground;
use serde_json::Value;

use super::answer::{JudgedLevel, LoadAnswer};
use super::args::{Args, LoadFormat};
use crate::cmd::limits;
use crate::cmd::{print_place, refuse_existing, warn, write_file, write_json};
use crate::console::{Console, Failure, write_results};

/// Steps of the progress bar.
const BAR_STEPS: u64 = 1000;

/// The live view: one line on a terminal, rewritten each second. In a pipe there is none.
pub(super) struct Screen {
    bar: ProgressBar,
    last: RefCell<Progress>,
}

impl Screen {
    pub(super) fn new(console: &Console) -> Screen {
        let bar = console.progress(BAR_STEPS, "  {bar:6} {percent:>3} %  {wide_msg}");
        Screen { bar, last: RefCell::default() }
    }

    /// Whether standard error is a terminal.
    pub(super) fn is_watched(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Rewrites the line when a second is over; during a warm-up it only says that.
    pub(super) fn show(&self, load: &Load, progress: &Progress) {
        let mut last = self.last.borrow_mut();
        if progress.seconds < last.seconds {
            *last = Progress::default();
        }
        let line = match &progress.recent {
            _ if progress.warming_up => format!("warming up · {}", asked(load, progress)),
            Some(recent) => {
                let line = line(load, progress, &last, recent);
                *last = progress.clone();
                line
            }
            None => return,
        };
        self.bar.set_position((progress.share * BAR_STEPS as f64) as u64);
        self.bar.set_message(line);
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// The files to write.
pub(super) struct Outputs {
    format: LoadFormat,
    files: Vec<(PathBuf, FileFormat)>,
    force: bool,
}

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileFormat {
    Page,
    Text,
    Json,
    Csv,
    Markdown,
    HdrLog,
}

impl FileFormat {
    /// The format by the name of a file.
    fn from_name(path: &Path) -> Result<FileFormat, Failure> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        Ok(match ending.as_deref() {
            Some("html" | "htm") => FileFormat::Page,
            Some("json") => FileFormat::Json,
            Some("csv") => FileFormat::Csv,
            Some("md") => FileFormat::Markdown,
            Some("txt") => FileFormat::Text,
            Some("hlog") => FileFormat::HdrLog,
            _ => {
                return Err(Failure::Usage(format!(
                    "the name {} says no format: end it in .html (a page), .json, .csv, .md, .txt or .hlog \
                     (an HdrHistogram log)",
                    path.display()
                )));
            }
        })
    }
}

impl Outputs {
    /// Refuses, before time is spent on them, files that could not be written.
    pub(super) fn new(args: &Args) -> Result<Outputs, Failure> {
        let named = |path: &PathBuf| Ok((path.clone(), FileFormat::from_name(path)?));
        let mut files = args.out.iter().map(named).collect::<Result<Vec<_>, Failure>>()?;
        files.extend(args.hdr.iter().map(|path| (path.clone(), FileFormat::HdrLog)));
        for (path, _) in &files {
            refuse_existing(path, args.force)?;
        }
        Ok(Outputs { format: args.format, files, force: args.force })
    }

    /// Writes the files.
    pub(super) fn write(&self, answer: &LoadAnswer) -> Result<(), Failure> {
        let levels = answer.levels.iter().map(|judged| &judged.level);
        for (path, format) in &self.files {
            write_file(path, self.force, |out| match format {
                FileFormat::Page => page::write(&answer.document(), out),
                FileFormat::Text => {
                    terminal::write(&answer.document(), Length::Short, &Style::default(), out)
                }
                FileFormat::Json => write_json(answer, out),
                FileFormat::Csv => write_csv(answer, out),
                FileFormat::Markdown => markdown_writer::write(&answer.document(), out),
                FileFormat::HdrLog => net::load::write_interval_log(levels.clone(), out),
            })?;
            if *format == FileFormat::Json {
                warn_of_credentials(answer, &path.display().to_string());
            }
        }
        Ok(())
    }

    /// Prints the answer, and which files have it.
    pub(super) fn print(&self, answer: &LoadAnswer, console: &Console) -> Result<(), Failure> {
        match self.format {
            LoadFormat::Text => console.print(&answer.document(), Length::Short)?,
            LoadFormat::Json => write_results(|out| write_json(answer, out))?,
            LoadFormat::Csv => write_results(|out| write_csv(answer, out))?,
            LoadFormat::Markdown => write_results(|out| markdown_writer::write(&answer.document(), out))?,
        }
        if self.format == LoadFormat::Json && !console.terminal {
            warn_of_credentials(answer, "the JSON on standard output");
        }
        for (path, format) in self.files.iter().filter(|_| self.format == LoadFormat::Text) {
            print_place(name_of(*format), path)?;
        }
        Ok(())
    }

    /// Prints the decisions on limits, the last lines of the verb.
    pub(super) fn print_limits(&self, answer: &LoadAnswer, console: &Console) -> Result<(), Failure> {
        let repeat: Vec<String> =
            command().iter().skip(1).map(|word| ::report::shell::quoted(word)).collect();
        let repeat = format!("osdyno {}", repeat.join(" "));
        limits::print(&answer.limits, &repeat, self.format == LoadFormat::Text, console)
    }
}

fn name_of(format: FileFormat) -> &'static str {
    match format {
        FileFormat::Page => "page",
        FileFormat::HdrLog => "log",
        FileFormat::Text | FileFormat::Json | FileFormat::Csv | FileFormat::Markdown => "result",
    }
}

/// Warns where credentials of the command line can be read from now on.
fn warn_of_credentials(answer: &LoadAnswer, place: &str) {
    let names = names_of_credentials(&answer.settings);
    if !names.is_empty() {
        warn(&format!(
            "{place} holds the value of {}; others may read it there, and in the list of processes: put the \
             field into a file, and name that with -H @FILE",
            names.join(" and ")
        ));
    }
}

/// The command line, without the values of its header fields, which may be credentials.
pub(super) fn command() -> Vec<String> {
    let mut is_header = false;
    let shown = |word: String| {
        let is_value = std::mem::replace(&mut is_header, matches!(word.as_str(), "-H" | "--header"));
        let attached = ["--header=", "-H"].iter().any(|name| word.starts_with(name) && word != *name);
        match word.split_once(':') {
            Some((name, _)) if is_value || attached => format!("{name}: …"),
            _ => word,
        }
    };
    std::env::args().map(shown).collect()
}

/// Fields of RFC 9110 and RFC 6265, and parts of names that others use, as in `X-Api-Key`.
const SECRET: [&str; 6] = ["authorization", "cookie", "key", "token", "secret", "password"];

/// The names of the fields on the command line whose values give access.
fn names_of_credentials(settings: &LoadSettings) -> Vec<String> {
    let client = serde_json::to_value(&settings.client).unwrap_or_default();
    let fields = client.pointer("/settings/fields").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |field: &Value| field.as_str()?.split_once(':').map(|(name, _)| name.to_owned());
    fields.iter().filter_map(name).filter(|name| is_secret(name)).collect()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.starts_with('@') && SECRET.iter().any(|part| name.contains(part))
}

/// The events since the last line. All of a closed loop fits into 80 columns; the end is cut off where a
/// terminal is narrower.
fn line(load: &Load, progress: &Progress, last: &Progress, recent: &Recent) -> String {
    let span = (progress.seconds - last.seconds).max(1e-9);
    let rate = progress.completed.saturating_sub(last.completed) as f64 / span;
    let at = |share| recent.quantile(share).map_or("—".to_owned(), time);
    let (p50, p99) = (at(0.5), at(0.99));
    let (rate, failed) = (count(rate.round() as u64), count(progress.failed));
    format!("{rate}/s · p50 {p50} · p99 {p99} · {failed} failed · {}", asked(load, progress))
}

fn asked(load: &Load, progress: &Progress) -> String {
    let connections = counted(&count(progress.open as u64), "connections");
    match load.rate {
        Some(rate) => format!("{connections}, {}/s asked for", count(rate.round() as u64)),
        None => connections,
    }
}

/// A line for each level, for spreadsheets and scripts. Base units: seconds, bytes.
fn write_csv(answer: &LoadAnswer, out: &mut dyn Write) -> io::Result<()> {
    let held = answer.background_of_levels();
    write!(out, "connections,rate,seconds,intended,started,completed,failed,late,unanswered,timed_out")?;
    write!(out, ",started_per_second,completed_per_second,sent_bytes,received_bytes")?;
    for percent in PERCENTS {
        write!(out, ",p{percent},p{percent}_low,p{percent}_high")?;
    }
    writeln!(
        out,
        ",min,mean,max,service_p99,lag_p99,lateness_p99,connect_p99,handshake_p99,cpu_seconds,cpu_share,limit\
         ,statuses,background,background_rates,background_held"
    )?;
    // The result of the load beside each level, if there was one.
    let held = held.iter().copied().chain(std::iter::repeat(&[][..]));
    answer.levels.iter().zip(held).try_for_each(|(level, held)| csv_line(level, held, out))
}

fn csv_line(judged: &JudgedLevel, held: &[HeldBackground], out: &mut dyn Write) -> io::Result<()> {
    let JudgedLevel { level, verdict } = judged;
    write!(
        out,
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        level.load.connections,
        or_empty(level.load.rate),
        level.elapsed_seconds,
        or_empty(level.intended),
        level.requests.started,
        level.requests.completed,
        level.requests.failed,
        level.requests.late,
        level.requests.unanswered,
        level.requests.timed_out,
        level.started_per_second,
        level.completed_per_second,
        level.sent_bytes,
        level.received_bytes
    )?;
    for percent in PERCENTS {
        let percentile = level.latency.percentile(percent);
        let of = |field: fn(&Percentile) -> Option<f64>| or_empty(percentile.and_then(field));
        write!(out, ",{},{},{}", of(|p| p.seconds), of(|p| p.low), of(|p| p.high))?;
    }
    let p99 = |times: &Option<Distribution>| or_empty(times.as_ref().map(|times| times.quantile(0.99)));
    let limit = verdict.limit.column();
    writeln!(
        out,
        ",{},{},{},{},{},{},{},{},{},{},{limit},{},{}",
        level.latency.min_seconds,
        level.latency.mean_seconds,
        level.latency.max_seconds,
        p99(&level.service),
        p99(&level.lag),
        p99(&level.lateness),
        p99(&level.connect),
        p99(&level.handshake),
        level.watch.cpu_seconds,
        level.watch.cpu_share,
        csv_statuses(level),
        background(held)
    )
}

/// The loads beside it, `cpu:50% disk:20MB/s`; the mean rate of each in base units, and whether all were held
/// in every second. Three empty columns without any.
fn background(held: &[HeldBackground]) -> String {
    let joined = |of: fn(&HeldBackground) -> String| held.iter().map(of).collect::<Vec<_>>().join(" ");
    let mean = |one: &HeldBackground| {
        let seconds = one.rates.len() as f64;
        if one.rates.is_empty() {
            "nan".to_owned()
        } else {
            (one.rates.iter().sum::<f64>() / seconds).to_string()
        }
    };
    let is_held = (!held.is_empty()).then(|| held.iter().all(|one| one.is_held));
    format!("{},{},{}", joined(|one| one.background.load.clone()), joined(mean), or_empty(is_held))
}

/// `200:9800 404:12`.
fn csv_statuses(level: &Level) -> String {
    let statuses = level.statuses.iter().map(|(status, count)| format!("{status}:{count}"));
    statuses.collect::<Vec<_>>().join(" ")
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_give_access_are_known() {
        for name in ["Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "X-Auth-Token"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["Host", "Accept", "@token", "User-Agent"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
