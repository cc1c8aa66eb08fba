//! The tables: all values, observations of load generators, latencies, the systems, and the loads beside
//! trials.

use std::borrow::Cow;
use std::rc::Rc;

use base64::prelude::{BASE64_STANDARD, Engine};
use hdrhistogram::serialization::Deserializer;
use judge::bounds::Bounds;
use judge::{LoadVerdict, load_verdict};
use record::{
    Direction, GeneratorLevel, HeldBackground, Histogram, LimitedBy, Purpose, Recording, SeriesKey, System,
    Trial, TrialKey, TrialParameters,
};

/// A table beside that of all values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideTable {
    /// A row for each load: the load generator's own observations.
    Generator,
    /// A row for each step of each recorded distribution.
    Histograms,
    /// A row for each fact about a system: its environment and its processors.
    Systems,
    /// A row for each limit of a system.
    Limits,
    /// A row for each second of each load that was held beside a trial.
    Background,
}

/// The type of a column. Any cell may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text,
    Integer,
    Number,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Text(Cow<'a, str>),
    Integer(u64),
    Number(f64),
    Nothing,
}

/// A table, made row by row.
pub(super) struct Table<'a> {
    pub(super) columns: &'static [(&'static str, ColumnKind)],
    /// Whether no cell is empty, and n goes on by equal steps, as in the table of all values.
    pub(super) is_dense: bool,
    /// Each with a cell for every column.
    pub(super) rows: Rows<'a>,
}

type Rows<'a> = Box<dyn Iterator<Item = Vec<Cell<'a>>> + 'a>;

use ColumnKind::{Integer, Number, Text};

const VALUES: &[(&str, ColumnKind)] = &[
    ("system", Text),
    ("workload", Text),
    ("variant", Text),
    ("series", Text),
    ("direction", Text),
    ("trial", Integer),
    ("n", Integer),
    ("value", Number),
    ("unit", Text),
    ("limited_by", Text),
];

const GENERATOR: &[(&str, ColumnKind)] = &[
    ("system", Text),
    ("workload", Text),
    ("variant", Text),
    ("trial", Integer),
    ("n", Integer),
    ("purpose", Text),
    ("tester", Text),
    ("generators", Integer),
    ("connections", Integer),
    ("elapsed_seconds", Number),
    ("intended_per_second", Number),
    ("started_per_second", Number),
    ("completed_per_second", Number),
    ("unanswered", Integer),
    ("timed_out", Integer),
    ("failed", Integer),
    ("cpu_share", Number),
    ("run_delay_share", Number),
    ("latency_seconds_p50", Number),
    ("lateness_seconds_p99", Number),
    ("limited_by", Text),
];

const HISTOGRAMS: &[(&str, ColumnKind)] = &[
    ("system", Text),
    ("workload", Text),
    ("variant", Text),
    ("trial", Integer),
    ("n", Integer),
    ("name", Text),
    ("value", Number),
    ("count", Integer),
    ("unit", Text),
];

const SYSTEMS: &[(&str, ColumnKind)] = &[("system", Text), ("key", Text), ("value", Text)];

const LIMITS: &[(&str, ColumnKind)] = &[
    ("system", Text),
    ("resource", Text),
    ("limit", Text),
    ("value", Integer),
    ("usable", Integer),
    ("advice", Text),
];

const BACKGROUND: &[(&str, ColumnKind)] = &[
    ("system", Text),
    ("workload", Text),
    ("variant", Text),
    ("trial", Integer),
    ("load", Text),
    ("processor", Integer),
    ("second", Integer),
    ("rate", Number),
    ("target", Number),
    ("unit", Text),
    ("counter", Text),
    ("is_held", Integer),
];

impl SideTable {
    /// The table of a recording.
    pub(super) fn of(self, recording: &Recording) -> Table<'_> {
        let systems = recording.systems.iter();
        let (columns, rows): (_, Rows<'_>) = match self {
            SideTable::Generator => (GENERATOR, Box::new(recording.generators.iter().map(generator))),
            SideTable::Histograms => (HISTOGRAMS, Box::new(recording.histograms.iter().flat_map(steps))),
            SideTable::Systems => (SYSTEMS, Box::new(systems.flat_map(facts))),
            SideTable::Limits => (LIMITS, Box::new(systems.flat_map(limits))),
            SideTable::Background => {
                (BACKGROUND, Box::new(recording.trials.iter().flat_map(seconds_of_background)))
            }
        };
        Table { columns, is_dense: false, rows }
    }
}

/// The table of all values of some series.
pub(super) fn values<'a>(
    recording: &'a Recording,
    series: impl Iterator<Item = &'a SeriesKey> + 'a,
) -> Table<'a> {
    let bounds = Rc::new(Bounds::new(recording));
    let trials = series.flat_map(move |key| recording.trials_of(key).iter().map(move |trial| (key, trial)));
    let rows = trials.flat_map(move |(key, trial)| {
        let (bounds, kind) = (Rc::clone(&bounds), recording.kind(key));
        trial.points().map(move |(n, value)| {
            vec![
                text(&key.system),
                text(&key.workload),
                text(&key.variant),
                text(&key.name),
                text(if key.direction == Direction::Up { "up" } else { "down" }),
                Cell::Integer(trial.trial.into()),
                Cell::Integer(n),
                Cell::Number(value),
                text(kind.map_or("", |kind| kind.unit.name())),
                text(bounds.of_value(key, kind, trial.trial, n).map_or("", LimitedBy::name)),
            ]
        })
    });
    Table { columns: VALUES, is_dense: true, rows: Box::new(rows) }
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

fn number(value: Option<f64>) -> Cell<'static> {
    value.map_or(Cell::Nothing, Cell::Number)
}

fn trial(of: &TrialKey, n: u64) -> Vec<Cell<'_>> {
    let names = [&of.system, &of.workload, &of.variant].map(|name| text(name));
    names.into_iter().chain([Cell::Integer(of.trial.into()), Cell::Integer(n)]).collect()
}

fn generator(level: &GeneratorLevel) -> Vec<Cell<'_>> {
    let mut row = trial(&level.of, level.n);
    let failed = level.failures.iter().fold(0_u64, |sum, failure| sum.saturating_add(failure.count));
    row.extend([
        text(match level.purpose {
            Purpose::Level => "level",
            Purpose::Capacity => "capacity",
        }),
        text(level.tester.name()),
        Cell::Integer(level.generators),
        Cell::Integer(level.connections),
        Cell::Number(level.elapsed_seconds),
        number(level.intended_per_second),
        Cell::Number(level.started_per_second),
        Cell::Number(level.completed_per_second),
        Cell::Integer(level.unanswered),
        Cell::Integer(level.timed_out),
        Cell::Integer(failed),
        Cell::Number(level.cpu_share),
        number(level.run_delay_share),
        number(level.latency_seconds_p50),
        number(level.lateness_seconds_p99),
        text(match load_verdict(level) {
            LoadVerdict::Limited(by, _) => LimitedBy::name(by),
            _ => "",
        }),
    ]);
    row
}

/// The steps of a histogram that hold values, rising; none where it cannot be read.
fn steps(recorded: &Histogram) -> Vec<Vec<Cell<'_>>> {
    let Ok(bytes) = BASE64_STANDARD.decode(&recorded.hdr) else { return Vec::new() };
    let read = Deserializer::new().deserialize::<u64, _>(&mut bytes.as_slice());
    let row = |value: u64, count: u64| {
        let mut row = trial(&recorded.of, recorded.n);
        let value = Cell::Number(value as f64 * recorded.scale);
        row.extend([text(&recorded.name), value, Cell::Integer(count), text(recorded.unit.name())]);
        row
    };
    let rows = read.map(|histogram| {
        let steps = histogram.iter_recorded();
        steps.map(|step| row(step.value_iterated_to(), step.count_at_value())).collect()
    });
    rows.unwrap_or_default()
}

/// A load without a known second has one row, without a rate.
fn seconds_of_background(trial: &Trial) -> Vec<Vec<Cell<'_>>> {
    let loads = trial.held_background.iter();
    loads
        .flat_map(|held| {
            let seconds = 0..held.rates.len().max(1);
            seconds.map(|second| second_of_background(&trial.order, held, second))
        })
        .collect()
}

fn second_of_background<'a>(
    order: &'a TrialParameters,
    held: &'a HeldBackground,
    second: usize,
) -> Vec<Cell<'a>> {
    vec![
        text(&order.system),
        text(&order.workload),
        text(&order.variant),
        Cell::Integer(order.trial.into()),
        text(&held.background.load),
        held.background.processor.map_or(Cell::Nothing, |processor| Cell::Integer(processor.into())),
        Cell::Integer(second as u64),
        number(held.rates.get(second).copied()),
        Cell::Number(held.target),
        text(held.unit.name()),
        text(&held.counter),
        Cell::Integer(held.is_held.into()),
    ]
}

fn facts(system: &System) -> Vec<Vec<Cell<'_>>> {
    let row =
        |key: &'static str, value: String| vec![text(&system.name), text(key), Cell::Text(Cow::Owned(value))];
    let environment = system.environment.iter();
    let mut rows: Vec<Vec<Cell<'_>>> =
        environment.map(|(key, value)| vec![text(&system.name), text(key), text(value)]).collect();
    if let Some(processors) = &system.processors {
        let usable: Vec<String> = processors.usable.iter().map(u32::to_string).collect();
        rows.push(row("processors.online", processors.online.to_string()));
        rows.push(row("processors.usable", usable.join(" ")));
        rows.extend(processors.trial.map(|cpu| row("processors.trial", cpu.to_string())));
        rows.extend(processors.server.map(|cpu| row("processors.server", cpu.to_string())));
    }
    rows
}

fn limits(system: &System) -> Vec<Vec<Cell<'_>>> {
    let all =
        system.limits.iter().flat_map(|(resource, limits)| limits.iter().map(move |one| (resource, one)));
    all.map(|(resource, limit)| {
        vec![
            text(&system.name),
            text(resource),
            text(&limit.name),
            Cell::Integer(limit.value),
            Cell::Integer(limit.usable),
            text(&limit.advice),
        ]
    })
    .collect()
}
