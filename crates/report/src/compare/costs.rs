//! The cost of each series on each system: a row for each series, a column for each system. The ratios behind
//! them have tables of their own.

use judge::compare::{Claim, Comparison, Ranking, RankingEntry, Ratio};
use stats::{Interval, Verdict};

use super::words;
use crate::document::{Cell, Column, Row, Table, Text, Tone};
use crate::quantity::Quantity;
use crate::words::count;

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

/// The marks behind a cost.
const BEST: &str = " *";
const CERTAIN: &str = " !";

/// Every series with a cost on some system: for two systems the largest certain differences first, for more
/// in the order of the run.
pub(crate) fn of(compared: &Comparison) -> Vec<CostRow<'_>> {
    let mut rows: Vec<CostRow<'_>> =
        compared.rankings.iter().filter_map(|ranking| row(compared, ranking)).collect();
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

/// The meaning of the marks, and what n counts in these rows.
pub(crate) fn legend(compared: &Comparison, rows: &[&CostRow<'_>]) -> String {
    let place = "at the largest n that all reached".to_owned();
    [Some(place), Some(marks(compared)), counted(rows)].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The rows as a table, with intervals where all of them fit into the width.
pub(crate) fn table(compared: &Comparison, rows: &[&CostRow<'_>]) -> Table {
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

fn is_sure(ratio: &Ratio) -> bool {
    !matches!(ratio.claim(), Claim::Equivalent { .. } | Claim::DifferentButSmall | Claim::Unresolved { .. })
}

/// `None` where no system has a cost.
fn row<'a>(compared: &Comparison, ranking: &'a Ranking) -> Option<CostRow<'a>> {
    let n = ranking.standings.iter().filter_map(|entry| Some(entry.verdict.as_ref()?.n_high)).min()?;
    let entry = |place: usize| ranking.standings.iter().find(|entry| entry.place == place);
    let costs: Vec<Option<Interval>> =
        (0..compared.contenders.len()).map(|place| cost(entry(place)?, n)).collect();
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
fn cost(entry: &RankingEntry, n: u64) -> Option<Interval> {
    let Verdict { n_high, cost_high, blocks, .. } = entry.verdict.as_ref()?;
    if entry.levels.iter().any(|level| level.n == n && level.limited) {
        return None;
    }
    let block = blocks.iter().find(|block| (block.n_low..=block.n_high).contains(&n));
    if *n_high == n { Some(*cost_high) } else { block.map(|block| block.cost) }
}
