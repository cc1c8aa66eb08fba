//! The lines of the stream, as text, and the rules of the format that JSON does not enforce. Durations are
//! seconds, sizes are bytes: base units only.
//!
//! A line that breaks a rule is not read, so readers trust them. Statistics looks up values by n in a list
//! that rises; a list that does not would make verdicts of other values than those in the report.

use std::io;

use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use crate::series::{REDUCED_OF_TRIAL_MAX, total};
use crate::{
    Direction, GeneratorLevel, Histogram, JudgedSeries, Limitation, NRange, NoiseFloor, Profile,
    ProfileWindow, Series, System, Trial, TrialKey, Workload,
};

/// Version of the stream. It rises when a line changes its meaning or loses a field; readers accept every
/// older version, and refuse a newer one.
pub const SCHEMA: u32 = 2;

/// The largest n: the largest signed integer of 64 bits, the type of other readers.
pub const N_MAX: u64 = i64::MAX as u64;

/// One line of the stream.
///
/// It has no `Deserialize`, which would be compiled again in each crate that uses it, and be slower than
/// [`parse_line`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line {
    /// First line of every run: the program that measured, the time, and the settings.
    Run(Run),
    /// One system under test and its environment.
    System(System),
    /// The definition of one workload, as it stood when it was measured.
    Workload(Workload),
    /// The parameters of one trial and how it ended.
    Trial(Trial),
    /// The measurements of one kind that one trial made.
    Series(Series),
    /// The load generator's own observations at one level.
    Generator(GeneratorLevel),
    /// Values that are only lower bounds.
    Limited(Limitation),
    /// The distribution of one quantity at one level.
    Histogram(Histogram),
    /// The profile of one series of one trial.
    Profile(Profile),
    /// The verdict of a series whose measurements were reduced.
    Judged(JudgedSeries),
    /// The noise floor that this run found by measuring a system against itself.
    NoiseFloor(NoiseFloor),
    /// Last line of a run that ended by itself.
    End(End),
}

impl Line {
    /// The trial that the line is from; `None` where it is about the whole run.
    #[must_use]
    pub fn trial(&self) -> Option<TrialKey> {
        match self {
            Line::Trial(trial) => Some(TrialKey::from_parameters(&trial.order)),
            Line::Series(series) => Some(TrialKey {
                system: series.system.clone(),
                workload: series.workload.clone(),
                variant: series.variant.clone(),
                trial: series.trial,
            }),
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. })
            | Line::Profile(Profile { of, .. }) => Some(of.clone()),
            Line::Run(_)
            | Line::System(_)
            | Line::Workload(_)
            | Line::Judged(_)
            | Line::NoiseFloor(_)
            | Line::End(_) => None,
        }
    }

    /// Name of the workload that the line is about; `None` where it is about the whole run.
    #[must_use]
    pub fn workload(&self) -> Option<&str> {
        match self {
            Line::Workload(workload) => Some(&workload.name),
            Line::Trial(trial) => Some(&trial.order.workload),
            Line::Series(series) => Some(&series.workload),
            Line::Judged(judged) => Some(&judged.of.workload),
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. })
            | Line::Profile(Profile { of, .. }) => Some(&of.workload),
            Line::Run(_) | Line::System(_) | Line::NoiseFloor(_) | Line::End(_) => None,
        }
    }

    /// Sets the trial of a line that a load made without knowing its trial.
    pub fn belong_to(&mut self, trial: &TrialKey) {
        match self {
            Line::Generator(GeneratorLevel { of, .. })
            | Line::Limited(Limitation { of, .. })
            | Line::Histogram(Histogram { of, .. }) => of.clone_from(trial),
            _ => {}
        }
    }
}

/// The head of everything that one invocation records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The program that measured.
    pub tool: Tool,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command line, as typed, for repeating it.
    pub command: Vec<String>,
    /// Name of the preset: `quick`, `standard`, `full`, `classic`.
    pub preset: String,
    /// Decides the order of trials and every random choice of a workload.
    #[serde(deserialize_with = "seed")]
    pub seed: u64,
    /// Time the whole run may take; `None` when the preset fixes the number of trials instead.
    pub budget_seconds: Option<f64>,
    /// Numbers of trials at which the planner decided whether to go on; more looks cost confidence
    /// (METHODOLOGY.md, "Interim analyses"). Empty when the number of trials was fixed beforehand.
    pub looks: Vec<u32>,
    /// Whether trials were pinned to one processor.
    pub pinned: bool,
    /// Trial k of a workload on every system was run in the same block, back to back in random order: they
    /// are pairs, and a comparison of the systems may be a paired one.
    #[serde(default)]
    pub paired: bool,
}

/// The program that wrote the record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `osdyno`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Compiler, target, profile.
    pub build: String,
}

/// Last line of a run that ended by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub status: EndStatus,
    /// How long the run took.
    pub elapsed_seconds: f64,
}

/// How a run ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndStatus {
    /// All that was planned is measured.
    Complete,
    /// The time of the run was used up.
    Budget,
    /// The user stopped it.
    Interrupted,
    /// The record could not be written.
    Failed,
    /// The word of another version.
    #[serde(untagged)]
    Other(String),
}

impl EndStatus {
    /// The word in the record.
    pub fn as_str(&self) -> &str {
        match self {
            EndStatus::Complete => "complete",
            EndStatus::Budget => "budget",
            EndStatus::Interrupted => "interrupted",
            EndStatus::Failed => "failed",
            EndStatus::Other(word) => word,
        }
    }
}

/// Most bytes of a line that is not a series. Such lines become trees, which may take thirty times the memory
/// of their text, and their content is short.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Why a text is not a [`Line`].
#[derive(Debug, Error)]
pub enum LineError {
    /// A line of a type that this version does not know; readers skip it.
    #[error("unknown line type {0:?}")]
    Unknown(String),
    /// Not a series, and longer than [`LINE_BYTES_MAX`].
    #[error("a line of {0} bytes that is not a series")]
    TooLong(usize),
    /// Not JSON, or not the fields of its type.
    #[error("not a line of a record: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Several lines of text.
    #[error("a line of a record over several lines of text")]
    Several,
    /// Its fields contradict a rule of the format; which line, and which rule.
    #[error("{0}")]
    Broken(String),
}

/// One line as JSON, without a line feed.
///
/// Floats get their shortest form that reads back as the same value; those that are not finite have no
/// form in JSON, become `null`, and are refused on reading.
///
/// # Errors
/// None is known; JSON has a form for every line.
pub fn format_line(line: &Line) -> io::Result<String> {
    Ok(serde_json::to_string(line)?)
}

/// Writes one line as JSON, with its line feed.
///
/// # Errors
/// Those of [`format_line`] and of `out`.
pub fn write_line(line: &Line, out: &mut impl io::Write) -> io::Result<()> {
    out.write_all(format_line(line)?.as_bytes())?;
    out.write_all(b"\n")
}

/// A line with its text, if it was received: unless it is changed, it is written as it came.
#[derive(Clone, Debug)]
pub struct SentLine {
    line: Line,
    text: Option<Vec<u8>>,
}

impl SentLine {
    /// Reads a line that was sent without a line feed.
    ///
    /// # Errors
    /// Those of [`parse_line`], and [`LineError::Several`].
    pub fn parse(text: Vec<u8>) -> Result<SentLine, LineError> {
        let line = parse_bytes(&text)?;
        if text.contains(&b'\n') {
            return Err(LineError::Several);
        }
        Ok(SentLine { line, text: Some(text) })
    }

    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The line, to be changed.
    pub fn line_mut(&mut self) -> &mut Line {
        self.text = None;
        &mut self.line
    }

    /// The trial, to be changed, where this is its own line.
    pub fn trial_mut(&mut self) -> Option<&mut Trial> {
        match self.line {
            Line::Trial(_) => match self.line_mut() {
                Line::Trial(trial) => Some(trial),
                _ => None,
            },
            _ => None,
        }
    }

    /// Writes it with a line feed.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        match &self.text {
            Some(text) => {
                out.write_all(text)?;
                out.write_all(b"\n")
            }
            None => write_line(&self.line, out),
        }
    }
}

impl From<Line> for SentLine {
    fn from(line: Line) -> SentLine {
        SentLine { line, text: None }
    }
}

impl From<SentLine> for Line {
    fn from(sent: SentLine) -> Line {
        sent.line
    }
}

/// Reads one line of JSON; a line feed at its end does no harm.
///
/// # Errors
/// [`LineError::Unknown`] for a type of line that this version does not know, [`LineError::TooLong`],
/// [`LineError::Malformed`], [`LineError::Broken`].
pub fn parse_line(text: &str) -> Result<Line, LineError> {
    parse_bytes(text.as_bytes())
}

/// [`parse_line`] for bytes that are perhaps not UTF-8.
pub(crate) fn parse_bytes(text: &[u8]) -> Result<Line, LineError> {
    let line = parse_fields(text)?;
    check(&line).map_err(LineError::Broken)?;
    Ok(line)
}

/// The line, whatever its fields say.
///
/// Serde would first copy a tagged line into a tree to look for its tag, which takes a long series twice
/// the time and five times the memory. The tag is therefore looked up first, the body read after.
fn parse_fields(text: &[u8]) -> Result<Line, LineError> {
    let scanned;
    let tag = match leading_tag(text) {
        Some(tag) => tag,
        None => {
            scanned = serde_json::from_slice::<Tag>(text)?.name;
            scanned.as_bytes()
        }
    };
    Ok(match tag {
        b"series" => Line::Series(serde_json::from_slice(text)?),
        b"run" | b"system" | b"workload" | b"trial" | b"generator" | b"limited" | b"histogram"
        | b"profile" | b"judged" | b"noise-floor" | b"end"
            if text.len() > LINE_BYTES_MAX =>
        {
            return Err(LineError::TooLong(text.len()));
        }
        b"run" => Line::Run(serde_json::from_slice(text)?),
        b"system" => Line::System(serde_json::from_slice(text)?),
        b"workload" => Line::Workload(serde_json::from_slice(text)?),
        b"trial" => Line::Trial(serde_json::from_slice(text)?),
        b"generator" => Line::Generator(serde_json::from_slice(text)?),
        b"limited" => Line::Limited(serde_json::from_slice(text)?),
        b"histogram" => Line::Histogram(serde_json::from_slice(text)?),
        b"profile" => Line::Profile(serde_json::from_slice(text)?),
        b"judged" => Line::Judged(serde_json::from_slice(text)?),
        b"noise-floor" => Line::NoiseFloor(serde_json::from_slice(text)?),
        b"end" => Line::End(serde_json::from_slice(text)?),
        // Damage also looks like an unknown type; only valid JSON is a line of a later version.
        _ => return Err(LineError::Unknown(serde_json::from_slice::<Tag>(text)?.name)),
    })
}

/// Our own writer puts the tag first in the line. Other tools, such as `jq -S`, sort the keys.
fn leading_tag(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(br#"{"type":""#)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let tag = &rest[..end];
    tag.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-').then_some(tag)
}

/// Any line, as far as its type.
#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    name: String,
}

/// Reads a seed that other tools may have changed. It has 64 bits, and `jq` before 1.7 rounds it to a double,
/// perhaps beyond 64 bits. The seed is then lost, but the rest of the file need not be.
pub(crate) fn seed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Exact(u64),
        Rounded(f64),
    }
    Ok(match Seed::deserialize(deserializer)? {
        Seed::Exact(seed) => seed,
        Seed::Rounded(seed) => seed as u64,
    })
}

/// Checks one line.
///
/// # Errors
/// The subject of the line, and the rule that it breaks.
fn check(line: &Line) -> Result<(), String> {
    let broken = match line {
        Line::Series(series) => series_rule(series).map(|rule| (of_series(series), rule)),
        Line::Profile(profile) => profile_rule(profile).map(|rule| (of_profile(profile), rule)),
        _ => None,
    };
    broken.map_or(Ok(()), |(line, rule)| Err(format!("{line}: {rule}")))
}

fn series_rule(series: &Series) -> Option<String> {
    let Series { n_first, n_step, sizes, values, counts, .. } = series;
    if !counts.is_empty()
        && let Some(rule) = reduced_rule(series)
    {
        return Some(rule);
    }
    if sizes.is_empty() {
        return even_rule(*n_first, *n_step, values.len(), series.direction);
    }
    if sizes.len() != values.len() {
        let (sizes, values) = (sizes.len(), values.len());
        return Some(format!("{sizes} sizes for {values} values; each value needs one"));
    }
    if let Some(n) = sizes.iter().find(|n| **n > N_MAX) {
        return Some(format!("it has a value at n = {n}; n must be from 0 to {N_MAX}"));
    }
    let (goes_back, must) = match series.direction {
        Direction::Up => (sizes.windows(2).find(|pair| pair[1] < pair[0]), "must not fall"),
        Direction::Down => (sizes.windows(2).find(|pair| pair[1] > pair[0]), "must not rise"),
    };
    goes_back.map(|pair| format!("its sizes go from {} to {} and {must}", pair[0], pair[1]))
}

/// The rule that a reduced series breaks: its measurements were evenly spaced, as many as the counts say.
fn reduced_rule(series: &Series) -> Option<String> {
    let Series { n_first, n_step, sizes, values, counts, .. } = series;
    if counts.len() != values.len() || sizes.len() != values.len() {
        let (counts, sizes, values) = (counts.len(), sizes.len(), values.len());
        return Some(format!("{counts} counts and {sizes} sizes for {values} values; each value needs one"));
    }
    if counts.contains(&0) {
        return Some("a value stands for 0 measurements".to_owned());
    }
    let measurements = total(counts);
    if measurements > REDUCED_OF_TRIAL_MAX {
        return Some(format!("it stands for {measurements} measurements, more than {REDUCED_OF_TRIAL_MAX}"));
    }
    even_rule(*n_first, *n_step, measurements, series.direction)
}

/// The same of sizes that are evenly spaced: they keep to their direction and to 64 bits.
fn even_rule(n_first: u64, n_step: i64, values: usize, direction: Direction) -> Option<String> {
    let is_against = match direction {
        Direction::Up => n_step < 0,
        Direction::Down => n_step > 0,
    };
    if is_against {
        return Some(format!("its n_step is {n_step}, against its direction, {direction}"));
    }
    let steps = values.saturating_sub(1) as i128;
    let last = i128::from(n_first) + i128::from(n_step) * steps;
    let outside = [i128::from(n_first), last].into_iter().find(|n| !(0..=i128::from(N_MAX)).contains(n));
    outside.map(|n| format!("it has a value at n = {n}; n must be from 0 to {N_MAX}"))
}

fn profile_rule(profile: &Profile) -> Option<String> {
    let windows = [&profile.low, &profile.high];
    if let Some(ProfileWindow { range: NRange { n_low, n_high }, .. }) =
        windows.into_iter().find(|window| window.range.n_low > window.range.n_high)
    {
        return Some(format!("its n_low, {n_low}, exceeds its n_high, {n_high}"));
    }
    let named = profile.frames.len();
    let place =
        profile.stacks.iter().flat_map(|stack| &stack.frames).find(|place| **place as usize >= named)?;
    Some(format!("a stack names function {place} of {named}, counted from 0"))
}

fn of_series(series: &Series) -> String {
    let Series { name, direction, .. } = series;
    let of = TrialKey {
        system: series.system.clone(),
        workload: series.workload.clone(),
        variant: series.variant.clone(),
        trial: series.trial,
    };
    of_trial(&format!("series \"{name}\" {direction}"), &of)
}

fn of_profile(profile: &Profile) -> String {
    of_trial(&format!("profile of \"{}\" {}", profile.name, profile.direction), &profile.of)
}

fn of_trial(part: &str, of: &TrialKey) -> String {
    let slash = if of.variant.is_empty() { "" } else { "/" };
    format!("{part} of trial {} of {}{slash}{} on {}", of.trial, of.workload, of.variant, of.system)
}
