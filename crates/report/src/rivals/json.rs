//! Rivals as part of the document for programs (`docs/report.md`).

use serde_json::{Value, json};

use judge::rivals::{Contest, Ratio, Rival, Rivals};

use super::words;

use crate::json::{Estimate, StopEntry, answer_name, limited, plain};
use judge::Findings;

/// One entry for each workload with rivals on each system.
pub(crate) fn entries(findings: &Findings) -> Vec<Value> {
    let entry = |rivals: &Rivals| {
        json!({
            "workload": rivals.workload,
            "system": rivals.system,
            "grows": rivals.grows,
            "variants": rivals.variants,
            "ratios": rivals.ratios,
            "pairs": rivals.pairs,
            "margin": judge::rivals::MARGIN,
            "alpha": rivals.alpha,
            "series": rivals.contests.iter().map(|contest| series(rivals, contest)).collect::<Vec<_>>(),
            "notes": words::notes(rivals).iter().map(|note| plain(note)).collect::<Vec<_>>(),
        })
    };
    findings.rivals.iter().map(entry).collect()
}

fn series(rivals: &Rivals, contest: &Contest) -> Value {
    json!({
        "name": contest.name,
        "direction": contest.direction,
        "unit": Some(contest.unit.name()).filter(|name| !name.is_empty()),
        "better": if contest.unit.more_is_better() { "more" } else { "less" },
        "n": contest.n,
        "best": contest.best().map(|best| &best.variant),
        "words": words::sentence(rivals, contest).map(|words| plain(&words)),
        "variants": contest.rivals.iter().map(|rival| variant(contest, rival)).collect::<Vec<_>>(),
    })
}

fn variant(contest: &Contest, rival: &Rival) -> Value {
    let ratio = |ratio: &Ratio| {
        json!({
            "n_low": ratio.n.0,
            "n_high": ratio.n.1,
            "levels": ratio.levels,
            "ratio": Estimate::from(ratio.ratio),
            "level": ratio.level,
            "answer": answer_name(ratio.cost_answer(contest.unit), contest.unit),
            "trials": [ratio.trials.0, ratio.trials.1],
            "paired": ratio.paired,
            "trials_needed": ratio.trials_needed,
        })
    };
    json!({
        "variant": rival.variant,
        "rank": rival.rank.map(|rank| json!({ "best": rank.best, "worst": rank.worst, "of": rank.of })),
        "last": rival.last.as_ref().map(ratio),
        "mean": rival.mean.as_ref().map(ratio),
        "limited_by_generator": rival.limited.as_ref().map(limited),
        "levels": rival.levels.iter().map(|level| json!({
            "n": level.n, "value": level.value, "trials": level.trials, "limited": level.limited,
        })).collect::<Vec<_>>(),
        "stops": rival.stops.iter().map(StopEntry::of).collect::<Vec<_>>(),
    })
}
