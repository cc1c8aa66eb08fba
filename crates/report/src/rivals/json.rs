//! Rivals as part of the document for programs (`docs/report.md`).

use serde_json::{Value, json};

use judge::compare::{Comparison, Ranking, RankingEntry, Ratio};
use stats::Design;

use super::words;

use crate::json_parts::{Estimate, StopEntry, answer_name, limited, plain};
use judge::Findings;

/// One entry for each workload with rivals on each system.
pub(crate) fn entries(findings: &Findings) -> Vec<Value> {
    let entry = |rivals: &Comparison| {
        json!({
            "workload": rivals.workload,
            "system": rivals.contenders.first().map(|contender| &contender.system.name),
            "grows": rivals.rankings.first().map(|ranking| &ranking.grows),
            "variants": rivals.contenders.iter().map(|contender| &contender.name).collect::<Vec<_>>(),
            "ratios": rivals.ratios,
            "pairs": rivals.pairs,
            "margin": rivals.margin,
            "alpha": rivals.alpha,
            "series": rivals.rankings.iter().map(series).collect::<Vec<_>>(),
            "notes": words::notes(rivals).iter().map(|note| plain(note)).collect::<Vec<_>>(),
        })
    };
    findings.rivals.iter().map(entry).collect()
}

fn series(ranking: &Ranking) -> Value {
    json!({
        "name": ranking.name,
        "direction": ranking.direction,
        "unit": Some(ranking.unit.name()).filter(|name| !name.is_empty()),
        "better": if ranking.unit.more_is_better() { "more" } else { "less" },
        "n": ranking.n,
        "best": ranking.best().map(|best| &best.name),
        "words": words::sentence(ranking).map(|words| plain(&words)),
        "variants": ranking.standings.iter().map(|standing| variant(ranking, standing)).collect::<Vec<_>>(),
    })
}

fn variant(ranking: &Ranking, standing: &RankingEntry) -> Value {
    let ratio = |ratio: &Ratio| {
        let answer = &ratio.comparison;
        json!({
            "n_low": answer.n_low,
            "n_high": answer.n_high,
            "levels": ratio.levels,
            "ratio": Estimate::from(ratio.of_values(ranking.unit)),
            "level": answer.level,
            "answer": answer_name(answer.answer, ranking.unit),
            "trials": [answer.trials.0, answer.trials.1],
            "paired": answer.design == Design::Paired,
            "trials_needed": answer.trials_needed,
        })
    };
    json!({
        "variant": standing.name,
        "rank": standing.rank.map(|rank| json!({ "best": rank.best, "worst": rank.worst, "of": rank.of })),
        "last": standing.last.as_ref().map(ratio),
        "mean": standing.overall.as_ref().map(ratio),
        "limited_by_generator": standing.limited.as_ref().map(limited),
        "levels": standing.levels.iter().map(|level| json!({
            "n": level.n, "value": level.value, "trials": level.trials, "limited": level.limited,
        })).collect::<Vec<_>>(),
        "stops": standing.stops.iter().map(StopEntry::of).collect::<Vec<_>>(),
    })
}
