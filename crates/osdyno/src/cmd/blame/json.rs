//! The answer for programs.

use inspect::blame::{Blame, CounterGrowth, FunctionShare, SeriesBlame, SideCost};
use serde_json::{Value, json};
use stats::Interval;

pub(super) fn of(blame: &Blame) -> Value {
    json!({
        "schema": 1,
        "series": blame.series.iter().map(series).collect::<Value>(),
        "not_sampled": blame.unexplained,
        "reasons": blame.reasons,
        "judged": blame.judged,
        "margin": blame.margin,
    })
}

fn series(series: &SeriesBlame) -> Value {
    let key = &series.key;
    json!({
        "system": key.system,
        "workload": key.workload,
        "variant": key.variant,
        "name": key.name,
        "direction": key.direction,
        "label": series.label,
        "step": series.step,
        "low": side(series.sides[0]),
        "high": side(series.sides[1]),
        "growth_seconds": series.growth.map(interval),
        "is_seen": series.is_seen(),
        "waiting_share": series.waiting.map(interval),
        "trials": series.trials,
        "lost": series.lost,
        "nameless": series.nameless,
        "holder": series.holder().map(function),
        "functions": series.functions.iter().map(function).collect::<Value>(),
        "counters": series.counters.iter().map(both_sides).collect::<Value>(),
        "uncounted": series.uncounted,
        "unsampled": series.unsampled,
        "in_use": series.in_use.iter().map(both_sides).collect::<Value>(),
    })
}

fn both_sides(one: &CounterGrowth) -> Value {
    json!({ "name": one.name, "low": interval(one.sides[0]), "high": interval(one.sides[1]) })
}

fn side(side: SideCost) -> Value {
    json!({
        "n_low": side.range.n_low,
        "n_high": side.range.n_high,
        "elapsed_seconds": side.seconds,
        "processor_seconds": side.processor_seconds,
        "operations": side.operations,
        "samples": side.samples,
    })
}

fn function(one: &FunctionShare) -> Value {
    json!({
        "function": one.name,
        "module": one.module,
        "own_share": interval(one.own),
        "whole_share": interval(one.whole),
        "own_seconds": one.own_seconds,
        "whole_seconds": one.whole_seconds,
    })
}

/// Ends that are not finite become null.
fn interval(interval: Interval) -> Value {
    json!({ "value": interval.value, "low": interval.low, "high": interval.high })
}
