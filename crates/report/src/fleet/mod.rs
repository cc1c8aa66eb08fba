//! A run on the hosts of a fleet, or two of them: a document for the terminal, and the sections of a page.
//! The values of each host stand behind folds, because a hundred hosts with thirty series fill no screen.

mod page;
mod words;

use judge::gate::GateAnswer;
use judge::{Findings, Fleet, FleetHostState, FleetOutlier, FleetRatio, FleetSeries, JudgedHost, Note};
use serde::Serialize;
use stats::{Answer, Class, Interval};

use crate::answer::SCHEMA;
use crate::document::{
    Cell, Column, Document, Element, Fold, Names, Narrow, Row, Section, Table, Text, Tone,
};
use crate::overview::yields;
use crate::quantity::Quantity;
use crate::sentences;
use crate::words::{factor_with_interval, grouped_once, list, percent, ratio_with_interval, things};
pub use page::write as write_html;
pub(crate) use page::{STYLE, blocks, environment, head};
pub(crate) use words::{ratio as ratio_words, title};

/// Remarks about the machines at the most, where not all are wanted.
const REMARKS_MOST: usize = 2;
/// Sentences about facts at the most, where not all are wanted.
const FACTS_MOST: usize = 3;
/// Series beside a host at the most.
const SERIES_MOST: usize = 3;
/// Facts of hosts that have columns in a page.
const FACT_COLUMNS_MOST: usize = 4;
/// Rows of a table at first.
const ROWS_MAX: usize = 10;

/// The answer of `compare` about a fleet: a run, or a run against another on the same hosts.
#[derive(Clone, Debug, Serialize)]
pub struct FleetAnswer<'a> {
    /// Version of this answer.
    pub schema: u32,
    /// The runs, folded over their hosts.
    pub fleet: &'a Fleet,
    /// Decision on `--fail-on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<&'a GateAnswer>,
}

impl<'a> FleetAnswer<'a> {
    /// The answer about a fleet.
    pub fn new(fleet: &'a Fleet, gate: Option<&'a GateAnswer>) -> Self {
        FleetAnswer { schema: SCHEMA, fleet, gate }
    }
}

/// A run folded over its hosts: hosts that were lost, hosts that lie apart, ratios, then costs, each the
/// worst first. The machines are left out where they were printed when the run began.
pub(crate) fn document(findings: &Findings, fleet: &Fleet, is_machine_known: bool) -> Document {
    let mut document = Document::default();
    if !is_machine_known {
        let tool = &findings.run.tool;
        let machine = format!("{} {} · {}", tool.name, tool.version, words::title(fleet, &findings.systems));
        document.say(Text::toned(machine, Tone::Strong));
    }
    let remarks = remarks(findings, fleet, is_machine_known);
    let (shown, rest) = remarks.split_at(remarks.len().min(REMARKS_MOST));
    shown.iter().for_each(|remark| document.say(Text::toned(remark, Tone::Notable)));
    let rest: Vec<Element> = rest.iter().map(|remark| Text::toned(remark, Tone::Notable).into()).collect();
    if !rest.is_empty() {
        document.push(Fold { blocks: rest, ..Fold::default() });
    }
    document.blocks.extend(body(fleet));
    document
}

/// The second of two runs against the first, folded over their hosts.
pub fn compared(fleet: &Fleet) -> Document {
    Document { blocks: body(fleet), ..Document::default() }
}

/// All but the machines.
fn body(fleet: &Fleet) -> Vec<Element> {
    let mut blocks: Vec<Element> = vec![Text::toned(words::summary(fleet), Tone::Strong).into()];
    blocks.extend(differences(fleet));
    blocks.extend(words::lost(fleet).into_iter().map(|(label, items)| {
        Names { label: label.into(), items, behind: String::new(), lines_max: 2 }.into()
    }));
    blocks.extend(apart(fleet).map(Into::into));
    if !fleet.ratios.is_empty() {
        let mut section = Section::new(Text::toned(words::ratios_title(fleet), Tone::Strong));
        section.push(Table { yields: Some(yields::SYSTEMS), ..ratios(fleet) });
        blocks.push(section.into());
    }
    if !fleet.series.is_empty() {
        let mut section = Section::new(Text::toned(words::costs_title(fleet), Tone::Strong));
        section.push(Table { yields: Some(yields::COSTS), ..costs(fleet) });
        blocks.push(section.into());
    }
    blocks.extend(lists(fleet));
    blocks.push(values(fleet).into());
    let more = "a further host is expected in the last interval · --verbose has the value of every host";
    blocks.push(Text::toned(more, Tone::Faint).into());
    blocks
}

/// The facts that two runs differ in.
fn differences(fleet: &Fleet) -> Option<Element> {
    if fleet.runs.is_empty() {
        return None;
    }
    let items: Vec<String> = fleet.differences.iter().map(|change| words::change(fleet, change)).collect();
    let items = if items.is_empty() { vec!["no recorded fact".into()] } else { items };
    Some(Names { label: "Differs".into(), items, behind: String::new(), lines_max: 2 }.into())
}

/// The hosts that lie apart, with the facts that they alone have.
fn apart(fleet: &Fleet) -> Option<Section> {
    let table = outlying(fleet);
    if table.rows.is_empty() {
        return None;
    }
    let mut section = Section::new(Text::toned(words::apart_title(fleet), Tone::Strong));
    section.push(Table { yields: Some(yields::GROWTHS), ..table });
    let alone = words::alone(fleet);
    let (shown, rest) = alone.split_at(alone.len().min(FACTS_MOST));
    shown.iter().for_each(|sentence| section.say(sentence));
    if !rest.is_empty() {
        let blocks = rest.iter().map(|sentence| Text::from(sentence).into()).collect();
        section.push(Fold { blocks, ..Fold::default() });
    }
    Some(section)
}

/// The hosts that are left out of a series, and the series that were not compared or not measured.
fn lists(fleet: &Fleet) -> Vec<Element> {
    let refused: Vec<String> = fleet.refused.iter().map(crate::compare::refused).collect();
    let lists = [
        ("Left out", words::left_out(fleet)),
        ("Without a number on any host", fleet.without_number.clone()),
        ("Refused", refused),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    lists
        .map(|(label, items)| {
            Names { label: label.into(), items, behind: String::new(), lines_max: 1 }.into()
        })
        .collect()
}

/// The values of each host, series by series.
fn values(fleet: &Fleet) -> Fold {
    let costs = fleet.series.iter().map(|series| (series.label(), of_series(series)));
    let ratios = fleet.ratios.iter().map(|ratio| (words::ratio_name(fleet, ratio), of_ratio(ratio)));
    let section = |(title, table): (String, Table)| {
        let mut section = Section::new(Text::toned(title, Tone::Strong));
        section.push(table);
        section.into()
    };
    Fold { blocks: ratios.chain(costs).map(section).collect(), ..Fold::default() }
}

/// Disturbances of measurements: remarks about the run, then those about hosts, equal ones once.
fn remarks(findings: &Findings, fleet: &Fleet, is_machine_known: bool) -> Vec<String> {
    let of_run = sentences::notes(findings).into_iter().zip(&findings.notes);
    let of_run = of_run.filter(|(_, note)| !matches!(note, Note::Readiness { .. }));
    let mut remarks: Vec<String> = of_run.map(|(remark, _)| remark).collect();
    let host = |name: &str| {
        let system = findings.systems.iter().find(|system| system.name == name);
        system.and_then(|system| system.fleet.as_ref()).map_or(name, |place| &place.host).to_owned()
    };
    // The remark about a host that was lost is the reason for that, and stands there.
    let is_lost =
        |name: &str| fleet.hosts.iter().any(|host| host.name == name && host.state == FleetHostState::Lost);
    let readiness = findings.notes.iter().filter(|_| !is_machine_known).filter_map(|note| match note {
        Note::Readiness { system, warning } => Some((warning, host(system))),
        _ => None,
    });
    // The configurations of a host share its machine.
    let mut of_hosts = grouped_once(readiness.filter(|(_, host)| !is_lost(host)));
    of_hosts.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    remarks.extend(of_hosts.iter().map(|(warning, hosts)| format!("{}: {warning}", words::hosts(hosts))));
    remarks
}

/// How the error rates are held, for a page.
fn held(fleet: &Fleet) -> String {
    let configurations = things(fleet.configurations.len(), "configuration", "configurations");
    let of = if fleet.configurations.len() > 1 { format!(" in {configurations}") } else { String::new() };
    let runs = if fleet.runs.is_empty() { String::new() } else { format!(" of {}", list(&fleet.runs)) };
    format!(
        "Each host{runs}{of} is one observation: its trials are compared with its own only. The mean is that \
         of a random-effects model (DerSimonian and Laird; Hartung and Knapp), and a further host like these \
         is expected in the prediction interval. Hosts lie apart if they differ from the others for certain \
         and by more than {}; of all that are named, at most {} are expected to be equal to the others.",
        percent(fleet.margin),
        percent(fleet.alpha)
    )
}

/// The series in which a host lies apart, the furthest first.
fn of_host<'a>(fleet: &'a Fleet, host: &JudgedHost) -> Vec<(String, &'a FleetOutlier)> {
    let of = |outliers: &'a [FleetOutlier]| outliers.iter().find(|one| one.host == host.name);
    let costs = fleet.series.iter().filter_map(|series| Some((series.label(), of(&series.outliers)?)));
    let ratios = fleet.ratios.iter().filter_map(|ratio| {
        Some((format!("ratio of {}", words::ratio_name(fleet, ratio)), of(&ratio.outliers)?))
    });
    let mut all: Vec<(String, &FleetOutlier)> = costs.chain(ratios).collect();
    all.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
    all
}

fn size(one: &FleetOutlier) -> f64 {
    one.ratio.value.ln().abs()
}

/// The hosts that lie apart: how far, and in which series.
fn outlying(fleet: &Fleet) -> Table {
    let columns = vec![Column::from("host"), Column::from("from the others"), Column::from("series")];
    let mut table = Table { more: ": --verbose", rows_max: ROWS_MAX, ..Table::of_columns(columns) };
    let mut hosts: Vec<(&JudgedHost, Vec<(String, &FleetOutlier)>)> = fleet
        .hosts
        .iter()
        .map(|host| (host, of_host(fleet, host)))
        .filter(|(_, all)| !all.is_empty())
        .collect();
    let furthest = |all: &[(String, &FleetOutlier)]| all.first().map_or(0.0, |(_, one)| size(one));
    hosts.sort_by(|a, b| furthest(&b.1).total_cmp(&furthest(&a.1)));
    for (host, all) in hosts {
        let Some((first, one)) = all.first() else { continue };
        let others: Vec<String> = all
            .iter()
            .skip(1)
            .take(SERIES_MOST - 1)
            .map(|(series, one)| words::distance_in(series, one))
            .collect();
        let more = all.len().saturating_sub(SERIES_MOST);
        let more = (more > 0).then(|| things(more, "more series", "more series"));
        let series: Vec<String> = std::iter::once(first.clone()).chain(others).chain(more).collect();
        let cells = [
            Cell::toned(&host.name, Tone::Strong),
            Cell::toned(words::distance(one), Tone::Notable),
            Cell::from(series.join(", ")),
        ];
        table.push(Row::new(cells));
    }
    table
}

/// The mean ratio of each series: slower ones first, then faster ones, then those that are not decided.
fn ratios(fleet: &Fleet) -> Table {
    let columns = vec![
        Column::default(),
        Column::from("mean ratio"),
        Column::from("a further host").narrow(Narrow::LeftOut),
        Column::from("hosts"),
    ];
    let mut table = Table { more: " series: --verbose", wraps_at: 24, ..Table::of_columns(columns) };
    let rank = |ratio: &FleetRatio| match ratio.answer {
        Answer::Slower => 0,
        Answer::Faster => 1,
        _ if !ratio.outliers.is_empty() => 2,
        Answer::Unresolved => 3,
        Answer::DifferentButSmall => 4,
        Answer::Equivalent => 5,
    };
    let size = |ratio: &FleetRatio| ratio.mean.map_or(0.0, |mean| mean.value.ln().abs());
    let mut all: Vec<&FleetRatio> = fleet.ratios.iter().collect();
    all.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    for ratio in all {
        table.push(Row::new([
            Cell::from(words::ratio_name(fleet, ratio)),
            Cell::toned(words::ratio(ratio), words::tone(ratio.answer)),
            Cell::toned(ratio.prediction.map_or("—".into(), range_of_ratio), Tone::Faint),
            Cell::from(words::counts(ratio)),
        ]));
    }
    table
}

/// `0.98–1.05`.
fn range_of_ratio(ratio: Interval) -> String {
    let words = ratio_with_interval(ratio);
    let inner = words.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or("—").to_owned()
}

/// The mean cost of each series: those with outlying hosts first, then those that grow, then the rest by
/// their spread.
fn costs(fleet: &Fleet) -> Table {
    let columns = vec![
        Column::default(),
        Column::number("mean"),
        Column::number("a further host").narrow(Narrow::LeftOut),
        Column::number("spread"),
        Column::from("hosts"),
    ];
    let mut table = Table { more: " series: --verbose", wraps_at: 24, ..Table::of_columns(columns) };
    let mut all: Vec<&FleetSeries> = fleet.series.iter().collect();
    let grows = |series: &FleetSeries| series.classes.first().is_some_and(|one| is_notable(one.class));
    let furthest = |series: &FleetSeries| series.outliers.iter().map(size).fold(0.0, f64::max);
    all.sort_by(|a, b| {
        furthest(b)
            .total_cmp(&furthest(a))
            .then(grows(b).cmp(&grows(a)))
            .then(b.spread.unwrap_or(0.0).total_cmp(&a.spread.unwrap_or(0.0)))
    });
    for series in all {
        let mean = series.mean.map_or("—".into(), |mean| series.unit.estimate_with_interval(mean));
        let short = series.mean.map_or("—".into(), |mean| series.unit.estimate(mean));
        let further = series.prediction.map_or("—".into(), |further| range(series, further));
        table.push(Row::new([
            Cell::from(series.label()),
            Cell { short: Some(short.into()), ..Cell::from(mean) },
            Cell::toned(further, Tone::Faint),
            Cell::from(series.spread.map_or("—".into(), percent)),
            Cell::toned(hosts_of(series), tone(series)),
        ]));
    }
    table
}

/// The interval alone.
fn range(series: &FleetSeries, of: Interval) -> String {
    let words = series.unit.estimate_with_interval(of);
    let Some((_, rest)) = words.split_once('(') else { return words };
    rest.replacen(')', "", 1)
}

/// The classes of hosts, and the outlying ones.
fn hosts_of(series: &FleetSeries) -> String {
    let apart: Vec<String> = series.outliers.iter().map(|one| words::distance_in(&one.host, one)).collect();
    let apart = if apart.is_empty() { String::new() } else { format!("; apart: {}", words::hosts(&apart)) };
    format!("{}{apart}", words::classes(series))
}

fn is_notable(class: Class) -> bool {
    !matches!(
        class,
        Class::Value | Class::Flat | Class::SmallGrowth | Class::Inconclusive | Class::Decreasing
    )
}

fn tone(series: &FleetSeries) -> Tone {
    match series.classes.first() {
        _ if !series.outliers.is_empty() => Tone::Notable,
        Some(first) if is_notable(first.class) => Tone::Notable,
        Some(first) if matches!(first.class, Class::Flat | Class::SmallGrowth) => Tone::Good,
        _ => Tone::Open,
    }
}

/// The value of each host in one series, the largest first.
fn of_series(series: &FleetSeries) -> Table {
    let columns = vec![Column::from("host"), Column::number("value"), Column::from("verdict")];
    let mut table = Table::of_columns(columns);
    let class = |host: &str| {
        let own = series.classes.iter().find(|one| one.hosts.iter().any(|name| name == host));
        own.map_or("", |one| words::class(one.class))
    };
    for one in series.hosts.iter().rev() {
        let apart = series.outliers.iter().find(|outlier| outlier.host == one.host);
        table.push(of_value(
            &one.host,
            series.unit.estimate_with_interval(one.value),
            class(&one.host),
            apart,
        ));
    }
    table
}

/// The ratio on each host, the largest first.
fn of_ratio(ratio: &FleetRatio) -> Table {
    let columns = vec![Column::from("host"), Column::number("ratio"), Column::from("answer")];
    let mut table = Table::of_columns(columns);
    for one in ratio.hosts.iter().rev() {
        let apart = ratio.outliers.iter().find(|outlier| outlier.host == one.host);
        let answer = words::answer(one.answer, ratio);
        table.push(of_value(&one.host, factor_with_interval(one.ratio), answer, apart));
    }
    table
}

fn of_value(host: &str, value: String, words: &str, apart: Option<&FleetOutlier>) -> Row {
    let text = match apart {
        Some(one) => Text::toned(format!("{words}; {} from the others", words::distance(one)), Tone::Notable),
        None => Text::from(words),
    };
    Row::new([Cell::from(host), Cell::from(value), Cell::from(text)])
}

/// All hosts with the facts in which they differ, those that lie apart or lack something first.
fn hosts(fleet: &Fleet) -> Table {
    let mut keys: Vec<&str> =
        fleet.hosts.iter().flat_map(|host| host.facts.keys()).map(String::as_str).collect();
    keys.sort_by_key(|key| (judge::environment::importance(key), *key));
    keys.dedup();
    // Facts of nearly every host's own stand last: they describe no group of hosts.
    let distinct = |key: &&str| {
        let mut values: Vec<&String> = fleet.hosts.iter().filter_map(|host| host.facts.get(*key)).collect();
        values.sort_unstable();
        values.dedup();
        2 * values.len() > fleet.hosts.len()
    };
    keys.sort_by_key(distinct);
    keys.truncate(FACT_COLUMNS_MOST);
    let columns = ["Host", "State", "Lies apart in"].map(Column::from).into_iter();
    let columns = columns.chain(keys.iter().map(|key| Column::from(*key)));
    let mut table = Table { wraps: 2, ..Table::of_columns(columns.collect()) };
    let mut all: Vec<&JudgedHost> = fleet.hosts.iter().collect();
    all.sort_by_key(|host| (host.state == FleetHostState::Judged, host.outlying.is_empty()));
    for host in all {
        let state = match host.state {
            FleetHostState::Judged => Cell::from("judged"),
            FleetHostState::Partly => {
                Cell::toned(format!("incomplete ({})", words::reason(host)), Tone::Open)
            }
            FleetHostState::Lost => Cell::toned(format!("lost ({})", words::reason(host)), Tone::Notable),
        };
        let apart = of_host(fleet, host);
        let named = apart.iter().take(SERIES_MOST).map(|(series, one)| words::distance_in(series, one));
        let mut named: Vec<String> = named.collect();
        let more = apart.len().saturating_sub(SERIES_MOST);
        named.extend((more > 0).then(|| things(more, "more series", "more series")));
        let facts = keys.iter().map(|key| Cell::from(host.facts.get(*key).map_or("—", String::as_str)));
        let tone = if named.is_empty() { Tone::Plain } else { Tone::Notable };
        let first = [Cell::from(host.name.as_str()), state, Cell::toned(named.join(", "), tone)];
        table.push(Row::new(first.into_iter().chain(facts)));
    }
    table
}
