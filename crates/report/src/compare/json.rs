//! A comparison as a document for programs (`docs/report.md`).

use std::io::{self, Write};

use serde_json::{Value, json};
use stats::{Design, Interval};

use record::Unit;

use judge::compare::{Comparison, Contender, Mean, Ranking};

use super::words;
use crate::json_parts::{Estimate, answer_name, plain};

/// Writes a comparison.
pub fn write(compared: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &document(compared))?;
    writeln!(out)
}

fn estimate(interval: Interval) -> Estimate {
    Estimate::from(interval)
}

fn document(compared: &Comparison) -> Value {
    let (judged, of) = compared.judged();
    json!({
        "schema": crate::json_parts::SCHEMA,
        "margin": compared.margin,
        "alpha": compared.alpha,
        "correction": "false discovery rate: Benjamini-Hochberg over series, Holm over the systems of one",
        "subjects": compared.contenders.iter().map(|s| &s.name).collect::<Vec<_>>(),
        "noise_floors": compared.contenders.iter().map(|s| s.system.noise_floor.as_ref().map(|floor| json!({
            "share": floor.share, "measured_at": floor.measured_at,
        }))).collect::<Vec<_>>(),
        "differences": compared.differences.iter().map(|d| json!({
            "key": d.key, "values": d.values,
        })).collect::<Vec<_>>(),
        "judged": judged,
        "of": of,
        "series": compared.rankings.iter().map(|row| series(compared, row)).collect::<Vec<_>>(),
        "geometric_means": means(compared),
        "missing": missing(compared),
        "refused": compared.refused.iter().map(words::refused).collect::<Vec<_>>(),
    })
}

fn series(compared: &Comparison, row: &Ranking) -> Value {
    let answers = row.others().filter_map(|standing| {
        let note = standing.note.as_ref().map(|note| words::note(compared, standing.place, note));
        let answer = standing.answer()?;
        Some(self::answer(&standing.name, (answer, row.unit), note.as_deref()))
    });
    let ranks = row.standings.iter().filter_map(|standing| {
        let rank = standing.rank?;
        Some(json!({ "subject": standing.name, "best": rank.best, "worst": rank.worst, "of": rank.of }))
    });
    json!({
        "label": row.label,
        "unit": Some(row.unit.name()).filter(|name| !name.is_empty()),
        "answers": answers.collect::<Vec<_>>(),
        "ranks": ranks.collect::<Vec<_>>(),
    })
}

fn answer(subject: &str, (answer, unit): (&stats::Comparison, Unit), note: Option<&str>) -> Value {
    let block = |(low, high, ratio): &(u64, u64, Interval)| {
        let ratio = estimate(*ratio);
        json!({ "n_low": low, "n_high": high, "ratio": ratio })
    };
    let crossing = |crossing: &stats::Crossing| {
        let (slower, faster) = crate::ratios::sides(unit);
        let below = if crossing.faster_below { faster } else { slower };
        json!({ "n": crossing.n, "low": crossing.n_low, "high": crossing.n_high, "below": below })
    };
    json!({
        "subject": subject,
        "answer": answer_name(answer.answer, unit),
        "words": plain(&words::answer(answer, unit)),
        "ratio": estimate(answer.ratio),
        "level": answer.level,
        "margin": answer.margin,
        "noise_floor": answer.floor,
        "paired": answer.design == Design::Paired,
        "n_low": answer.n_low,
        "n_high": answer.n_high,
        "ends": [answer.ends.0, answer.ends.1],
        "note": note.map(plain),
        "trials": [answer.trials.0, answer.trials.1],
        "trials_needed": answer.trials_needed,
        "crossings": answer.crossings.iter().map(crossing).collect::<Vec<_>>(),
        "blocks": answer.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

fn means(compared: &Comparison) -> Vec<Value> {
    let others = compared.contenders.iter().skip(1).zip(&compared.means);
    let mean = |(subject, mean): (&Contender, &Option<Mean>)| {
        mean.map(|mean| json!({ "subject": subject.name, "ratio": estimate(mean.ratio), "of": mean.of }))
    };
    others.filter_map(mean).collect()
}

/// What has no answer.
fn missing(compared: &Comparison) -> Vec<Value> {
    let of_row = |row: &Ranking| -> Vec<Value> {
        let without = row.others().filter(|standing| standing.overall.is_none()).map(|standing| {
            let reason =
                standing.note.as_ref().map(|note| plain(&words::note(compared, standing.place, note)));
            json!({ "label": row.label, "subject": standing.name, "reason": reason })
        });
        without.collect()
    };
    compared.rankings.iter().flat_map(of_row).collect()
}
