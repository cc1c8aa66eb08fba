//! A comparison for programs (`docs/report.md`): one form for systems and for the variants of a workload.

use std::io::{self, Write};

use judge::compare::{Comparison, Ranking, RankingEntry, Ratio, Reference};
use record::Unit;
use serde_json::{Value, json};
use stats::{Answer, Design, Interval};

use super::{lines, notes, words};
use crate::json_parts::{SCHEMA, StopEntry, limited, plain};

/// Writes a comparison as a document of its own.
pub fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut document = entry(compared);
    document["schema"] = SCHEMA.into();
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// A comparison as part of a document.
pub(crate) fn entry(compared: &Comparison) -> Value {
    let (judged, of) = compared.judged();
    let is_of_variants = compared.reference == Reference::Best;
    let system = compared.contenders.first().map(|contender| &contender.system.name);
    let means = compared.contenders.iter().skip(1).zip(&compared.means).filter_map(|(contender, mean)| {
        let mean = mean.as_ref()?;
        Some(json!({ "contender": contender.name, "ratio": mean.ratio, "of": mean.of }))
    });
    let references = compared.references.iter().map(|&place| &compared.contenders[place].name);
    let mut said: Vec<String> = Vec::new();
    for (row, one) in compared.rankings.iter().flat_map(|row| row.standings.iter().map(move |one| (row, one)))
    {
        said.extend(lines::note(row, one).filter(|note| is_of_variants && !said.contains(note)));
    }
    json!({
        "reference": if is_of_variants { "best" } else { "first" },
        "references": references.collect::<Vec<_>>(),
        "workload": compared.workload,
        "system": system.filter(|_| is_of_variants),
        "contenders": compared.contenders.iter().map(|contender| &contender.name).collect::<Vec<_>>(),
        "margin": compared.margin,
        "alpha": compared.alpha,
        "correction": "false discovery rate: Benjamini-Hochberg over series, Holm over the pairs of one",
        "ratios": compared.ratios,
        "pairs": compared.pairs,
        "judged": judged,
        "of": of,
        "noise_floors": compared.contenders.iter().map(|s| s.system.noise_floor.as_ref().map(|floor| json!({
            "share": floor.share, "measured_at": floor.measured_at,
        }))).collect::<Vec<_>>(),
        "differences": compared.differences.iter().map(|d| json!({
            "key": d.key, "values": d.values,
        })).collect::<Vec<_>>(),
        "series": compared.rankings.iter().map(series).collect::<Vec<_>>(),
        "geometric_means": means.collect::<Vec<_>>(),
        "refused": compared.refused.iter().map(notes::refused).collect::<Vec<_>>(),
        "notes": said.iter().map(|note| plain(note)).collect::<Vec<_>>(),
    })
}

fn series(row: &Ranking) -> Value {
    json!({
        "label": row.label,
        "name": row.name,
        "variant": row.variant,
        "direction": row.direction,
        "unit": Some(row.unit.name()).filter(|name| !name.is_empty()),
        "better": if row.unit.more_is_better() { "more" } else { "less" },
        "grows": row.grows,
        "n": row.n,
        "best": row.best().map(|best| &best.name),
        "words": words::sentence(row).map(|words| plain(&words)),
        "contenders": row.standings.iter().map(|one| contender(row, one)).collect::<Vec<_>>(),
    })
}

fn contender(row: &Ranking, one: &RankingEntry) -> Value {
    let note = lines::note(row, one).map(|note| plain(&note));
    json!({
        "contender": one.name,
        "cost": one.verdict.as_ref().map(|verdict| json!({
            "n_low": verdict.n_low,
            "n_high": verdict.n_high,
            "low": verdict.cost_low,
            "high": verdict.cost_high,
        })),
        "rank": one.rank.map(|rank| json!({ "best": rank.best, "worst": rank.worst, "of": rank.of })),
        "last": one.last.as_ref().map(|last| ratio(last, row.unit)),
        "overall": one.overall.as_ref().map(|overall| ratio(overall, row.unit)),
        "note": note,
        "limited_by_generator": one.limited.as_ref().map(limited),
        "levels": one.levels.iter().map(|level| json!({
            "n": level.n, "value": level.value, "trials": level.trials, "limited": level.limited,
            "at_least": level.at_least,
        })).collect::<Vec<_>>(),
        "stops": one.stops.iter().map(StopEntry::of).collect::<Vec<_>>(),
    })
}

/// The cost of one over that of the reference.
fn ratio(ratio: &Ratio, unit: Unit) -> Value {
    let answer = &ratio.comparison;
    let words = match ratio.levels {
        0 => words::answer(ratio, unit),
        _ => words::answer_overall(ratio, unit, ""),
    };
    let block =
        |(low, high, ratio): &(u64, u64, Interval)| json!({ "n_low": low, "n_high": high, "ratio": ratio });
    let crossing = |crossing: &stats::Crossing| {
        let (slower, faster) = words::sides(unit);
        let below = if crossing.faster_below { faster } else { slower };
        json!({ "n": crossing.n, "low": crossing.n_low, "high": crossing.n_high, "below": below })
    };
    json!({
        "answer": answer_name(answer.answer, unit),
        "words": plain(&words),
        "ratio": answer.ratio,
        "level": answer.level,
        "margin": answer.margin,
        "noise_floor": answer.floor,
        "paired": answer.design == Design::Paired,
        "n_low": answer.n_low,
        "n_high": answer.n_high,
        "levels": Some(ratio.levels).filter(|levels| *levels > 0),
        "ends": [answer.ends.0, answer.ends.1],
        "trials": [answer.trials.0, answer.trials.1],
        "trials_needed": answer.trials_needed,
        "boots": answer.boots.map(|boots| [boots.0, boots.1]),
        "boots_needed": answer.boots_needed,
        "at_least": ratio.at_least,
        "crossings": answer.crossings.iter().map(crossing).collect::<Vec<_>>(),
        "blocks": answer.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

/// An answer as one word.
fn answer_name(answer: Answer, unit: Unit) -> &'static str {
    let (slower, faster) = words::sides(unit);
    match answer {
        Answer::Faster => faster,
        Answer::Slower => slower,
        Answer::Equivalent => "equivalent",
        Answer::DifferentButSmall => "different-but-small",
        Answer::Unresolved => "unresolved",
    }
}
