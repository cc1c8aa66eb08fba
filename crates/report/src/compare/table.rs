//! A comparison as a document. The costs have a row for each series and a column for each system; the ratios
//! behind them have tables of their own.

use judge::Findings;
use judge::compare::{Claim, Comparison, Ranking, RankingEntry, Ratio};
use stats::{Interval, Verdict};

use super::lines::{self, Line};
use super::{growth, words};
use crate::document::{Cell, Column, Document, Narrow, Row, Section, Table, Text, Tone};
use crate::place;
use crate::quantity::Quantity;
use crate::sentences::capital;
use crate::words::{count, percent, things};

/// The marks behind a cost.
const BEST: &str = " *";
const CERTAIN: &str = " !";

/// A comparison of systems: the facts that differ, the costs, an answer for every series, then the claim
/// about all.
pub fn document(compared: &Comparison) -> Document {
    let mut document = Document { title: words::title(compared), ..Document::default() };
    if let Some(interleaved) = words::interleaved(compared) {
        document.say(Text::toned(interleaved, Tone::Notable));
    }
    document.say(Text::toned(words::title(compared), Tone::Strong));
    if !compared.is_of_other_programs() {
        document.say(format!("differs: {}", words::differs(compared)));
    }
    document.say(words::judged(compared));
    // The ratios stand below, each with its notes.
    let rows = cost_rows(compared).into_iter().map(|row| CostRow { answer: None, ..row });
    let rows: Vec<CostRow<'_>> = rows.collect();
    if !rows.is_empty() {
        let rows: Vec<&CostRow<'_>> = rows.iter().collect();
        document.push(costs(compared, &rows));
        document.say(Text::toned(legend(compared, &rows), Tone::Faint));
    }
    document.push(Section { blocks: vec![answers(compared).into()], ..Section::default() });
    growth::scaling_sentences(compared).into_iter().for_each(|sentence| document.say(sentence));
    for sentence in lines::without_number(compared) {
        document.say(Text::toned(capital(&sentence), Tone::Faint));
    }
    let mut summary = Section::new(Text::toned(words::summary(compared), Tone::Strong));
    let means = words::means(compared);
    means.iter().for_each(|mean| summary.say(mean));
    if !means.is_empty() {
        summary.say(Text::toned("--out FILE.html plots the ratios behind this mean", Tone::Faint));
    }
    for refused in &compared.refused {
        summary.say(Text::toned(format!("refused: {}", lines::refused(refused)), Tone::Open));
    }
    let carries = format!(
        "margin {} · {} · {}",
        percent(compared.margin),
        words::design(compared),
        words::noise_floor(compared)
    );
    summary.say(Text::toned(carries, Tone::Faint));
    document.push(summary);
    document
}

/// A comparison of variants as part of a run: the largest differences first, then every contender.
pub(crate) fn section(findings: &Findings, compared: &Comparison) -> Section {
    let title = words::title(compared) + &words::on_system(findings, compared);
    let mut section = Section::new(Text::toned(title, Tone::Strong));
    words::findings(compared).into_iter().for_each(|finding| section.say(finding));
    section.push(answers(compared));
    section.blocks.extend(growths(findings, compared, false).map(Into::into));
    let carries = format!("{}; {}", words::judged(compared), words::design(compared));
    section.say(Text::toned(carries, Tone::Faint));
    section
}

/// How the times of each contender change with n; empty where none is judged.
pub(crate) fn growths(findings: &Findings, compared: &Comparison, is_short: bool) -> Option<Section> {
    let (heading, growths) = growth::growths(findings, compared, is_short);
    let mut section = Section::new(Text::toned(heading, Tone::Strong));
    let mut table = Table::without_headings(2);
    for one in &growths {
        table.push([one.name.as_str(), one.words.as_str()]);
    }
    section.push(table);
    (!growths.is_empty()).then_some(section)
}

/// One series on every system.
pub(crate) struct CostRow<'a> {
    pub(crate) ranking: &'a Ranking,
    /// The largest n that all systems with a cost reached.
    pub(crate) n: u64,
    /// By the places of the systems.
    pub(crate) cells: Vec<CostCell>,
    /// The ratio of two systems in words.
    pub(crate) answer: Option<(String, Tone)>,
}

/// The cost of one series on one system.
#[derive(Default)]
pub(crate) struct CostCell {
    /// With its interval; empty without a cost.
    pub(crate) cost: Option<String>,
    /// Without.
    short: String,
    /// No other system has a better one, as far as the estimates go.
    pub(crate) is_best: bool,
    /// It differs from the cost on the first system for certain.
    pub(crate) is_certain: bool,
    tone: Tone,
}

impl CostCell {
    /// The cost with its marks.
    pub(crate) fn shown(&self, with_interval: bool) -> String {
        let Some(cost) = &self.cost else { return "—".into() };
        let best = if self.is_best { BEST } else { "" };
        let certain = if self.is_certain { CERTAIN } else { "" };
        format!("{}{best}{certain}", if with_interval { cost } else { &self.short })
    }
}

impl CostRow<'_> {
    /// The certain distance of two systems.
    fn distance(&self) -> f64 {
        let sure =
            self.ranking.others().filter_map(|entry| entry.overall.as_ref()).filter(|ratio| is_sure(ratio));
        sure.map(|ratio| ratio.comparison.ratio.value.ln().abs()).fold(0.0, f64::max)
    }
}

/// Every series with a cost on some system: for two systems the largest certain differences first, for more
/// in the order of the run.
pub(crate) fn cost_rows(compared: &Comparison) -> Vec<CostRow<'_>> {
    let mut rows: Vec<CostRow<'_>> =
        compared.rankings.iter().filter_map(|ranking| cost_row(compared, ranking)).collect();
    if compared.contenders.len() == 2 {
        rows.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
    }
    rows
}

/// The rows, the first of each workload and variant, then the second of each: a screen gives them up from the
/// end, and the whole of a job stands before its phases. With two systems the order stays.
pub(crate) fn by_importance<'r, 'a>(compared: &Comparison, rows: &'r [CostRow<'a>]) -> Vec<&'r CostRow<'a>> {
    if compared.contenders.len() == 2 {
        return rows.iter().collect();
    }
    let group = |row: &CostRow<'_>| {
        let label = &row.ranking.label;
        label.strip_suffix(&row.ranking.name).unwrap_or(label).to_owned()
    };
    let depth = |place: usize| rows[..place].iter().filter(|row| group(row) == group(&rows[place])).count();
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|place| (depth(*place), *place));
    places.into_iter().map(|place| &rows[place]).collect()
}

/// The rows as a table, with intervals where all of them fit into the width.
pub(crate) fn costs(compared: &Comparison, rows: &[&CostRow<'_>]) -> Table {
    let has_answers = rows.iter().any(|row| row.answer.is_some());
    let systems = compared.contenders.iter().map(|contender| Column::number(&contender.name));
    let columns = [Column::default(), Column::number("n")].into_iter().chain(systems);
    let answer = has_answers.then(|| format!("against {}", words::reference(compared)).into());
    let mut table = Table { class: "verdicts costs", ..Table::of_columns(columns.chain(answer).collect()) };
    table.wraps = 0;
    for row in rows {
        let names = [Cell::from(&row.ranking.label), Cell::toned(count(row.n), Tone::Faint)];
        let costs = row.cells.iter().map(|cell| Cell {
            short: Some(Text::toned(cell.shown(false), cell.tone)),
            ..Cell::toned(cell.shown(true), cell.tone)
        });
        let answer = row.answer.iter().map(|(answer, tone)| Cell::toned(answer, *tone));
        table.push(Row::new(names.into_iter().chain(costs).chain(answer)));
    }
    table
}

/// The meaning of the marks, and what n counts in these rows.
pub(crate) fn legend(compared: &Comparison, rows: &[&CostRow<'_>]) -> String {
    let place = "at the largest n that all reached".to_owned();
    [Some(place), Some(marks(compared)), counted(rows)].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The meaning of the marks.
pub(crate) fn marks(compared: &Comparison) -> String {
    let first = words::reference(compared);
    format!("*\u{a0}best · !\u{a0}differs from {first} for certain")
}

/// The objects that n counts in these rows; empty if that is only n.
pub(crate) fn counted(rows: &[&CostRow<'_>]) -> Option<String> {
    let mut counted: Vec<(&str, &str)> = Vec::new();
    for ranking in rows.iter().map(|row| row.ranking).filter(|ranking| !["n", ""].contains(&&*ranking.grows))
    {
        let workload = ranking.label.split(['/', ' ']).next().unwrap_or_default();
        if !counted.contains(&(workload, &ranking.grows)) {
            counted.push((workload, &ranking.grows));
        }
    }
    match counted.as_slice() {
        [] => None,
        [(_, grows)] => Some(format!("n: {grows}")),
        several => {
            let each: Vec<String> =
                several.iter().map(|(workload, grows)| format!("{grows} ({workload})")).collect();
            Some(format!("n: {}", each.join(", ")))
        }
    }
}

/// Every contender in every series, in the columns that are not empty.
fn answers(compared: &Comparison) -> Table {
    let lines: Vec<Line<'_>> =
        lines::of(compared).into_iter().filter(|line| line.ranking.is_some()).collect();
    let is_named = lines::is_named(compared);
    let columns = match is_named {
        true => vec![
            "".into(),
            "".into(),
            heading(compared).into(),
            Column::from(mean_heading(compared)).narrow(Narrow::Below),
            "place".into(),
        ],
        false => vec![Column::default(); 5],
    };
    let mut table = Table { wraps: 2, is_compact: true, ..Table::of_columns(columns) };
    let mut series = None;
    for line in &lines {
        let is_first = std::mem::replace(&mut series, line.ranking.map(|(i, _)| i)) != series;
        let name = words::name(&compared.contenders[line.contender].name);
        let cells = [if is_first { &line.series } else { "" }, if is_named { name } else { "" }];
        let mut row = Row::from(cells);
        if line.is_reason {
            row.below.push(Text::toned(&line.answer, line.tone));
        } else {
            row.cells.push(Cell::toned(&line.answer, line.tone));
            row.cells.push(line.overall.clone().unwrap_or_default().into());
            row.cells.push(line.rank.clone().unwrap_or_default().into());
            row.below.extend(line.note.iter().map(|note| Text::toned(note, Tone::Open)));
        }
        table.push(row);
    }
    table
}

/// The heading of the answers, where they have one: `at 1 000 connections`, `against 6.12`.
fn heading(compared: &Comparison) -> String {
    let level = compared.rankings.iter().find_map(|ranking| Some((ranking.n?, &ranking.grows)));
    match level {
        Some((n, grows)) => place::at_level(n, grows).unwrap_or_else(|| "against the best".to_owned()),
        None => format!("against {}", words::reference(compared)),
    }
}

fn mean_heading(compared: &Comparison) -> String {
    let most = compared.rankings.iter().map(Ranking::most_levels).max().unwrap_or(0);
    format!("mean of {}", things(most, "level", "levels"))
}

fn is_sure(ratio: &Ratio) -> bool {
    !matches!(ratio.claim(), Claim::Equivalent { .. } | Claim::DifferentButSmall | Claim::Unresolved { .. })
}

/// `None` where no system has a cost.
fn cost_row<'a>(compared: &Comparison, ranking: &'a Ranking) -> Option<CostRow<'a>> {
    let n = ranking.standings.iter().filter_map(|entry| Some(entry.verdict.as_ref()?.n_high)).min()?;
    let entry = |place: usize| ranking.standings.iter().find(|entry| entry.place == place);
    let costs: Vec<Option<Interval>> =
        (0..compared.contenders.len()).map(|place| cost_at(entry(place)?, n)).collect();
    let known = costs.iter().flatten().map(|cost| cost.value);
    let best = match ranking.unit.more_is_better() {
        true => known.reduce(f64::max)?,
        false => known.reduce(f64::min)?,
    };
    let several = costs.iter().flatten().count() > 1;
    let cell = |(place, cost): (usize, &Option<Interval>)| {
        let Some(cost) = cost else { return CostCell::default() };
        let ratio = entry(place).and_then(|entry| entry.overall.as_ref()).filter(|ratio| is_sure(ratio));
        CostCell {
            cost: Some(ranking.unit.estimate_with_interval(*cost)),
            short: ranking.unit.estimate(*cost),
            is_best: several && cost.value == best,
            is_certain: ratio.is_some(),
            tone: ratio.map_or(Tone::Plain, |ratio| words::tone(ratio.claim())),
        }
    };
    let answer = |ratio: &Ratio| (words::answer(ratio, ranking.unit), words::tone(ratio.claim()));
    let other = ranking.others().next().filter(|_| compared.contenders.len() == 2);
    Some(CostRow {
        ranking,
        n,
        cells: costs.iter().enumerate().map(cell).collect(),
        answer: other.and_then(|entry| entry.overall.as_ref()).map(answer),
    })
}

/// The cost at this n, or in the range that holds it. A value that the load generator limited is no cost of a
/// system.
fn cost_at(entry: &RankingEntry, n: u64) -> Option<Interval> {
    let Verdict { n_high, cost_high, blocks, .. } = entry.verdict.as_ref()?;
    if entry.levels.iter().any(|level| level.n == n && level.limited) {
        return None;
    }
    let block = blocks.iter().find(|block| (block.n_low..=block.n_high).contains(&n));
    if *n_high == n { Some(*cost_high) } else { block.map(|block| block.cost) }
}
