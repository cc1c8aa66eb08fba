//! The answer in a terminal: for each cost the sentence first, then its functions.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ::report::quantity::time;
use ::report::words::{amount_with_interval, count, percent, sentence, share_with_interval};
use ::report::{Style, write_columns, write_paragraph};
use inspect::blame::{Blame, CounterGrowth, FunctionShare, SeriesBlame};
use stats::Interval;

/// Functions that are shown unless all are wanted.
const FUNCTIONS_MOST: usize = 10;
/// Smaller shares, and those that may be nothing, are shown only if all are wanted.
const SHARE_LEAST: f64 = 0.01;
/// Waiting below this share of the growth is not worth a word.
const WAITING_LEAST: f64 = 0.1;

pub(super) fn write(blame: &Blame, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for (place, series) in blame.series.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        write_paragraph(&headline(series), 2, style, out)?;
        for remark in remarks(series) {
            write_paragraph(&format!("  {remark}"), 4, style, out)?;
        }
        functions(series, verbose, style, out)?;
        counters(series, style, out)?;
    }
    for text in missing(blame) {
        write_paragraph(&text, 2, style, out)?;
    }
    Ok(())
}

/// What there is to know, in a sentence: first what has the largest share.
pub(super) fn headline(series: &SeriesBlame) -> String {
    match leading_wait(series) {
        Some(waiting) => {
            let [low, high] = series.sides.map(|side| time(side.seconds));
            format!(
                "{} of the growth of {} from {low} to {high} of elapsed time is {WAITS}",
                share(waiting),
                series.label
            )
        }
        None => in_functions(series, &series.label),
    }
}

/// Time that no function has, in words.
const WAITS: &str = "not processor time of the trial: it waits, or others have the processor";

/// The share of waiting in the elapsed time, where no function has a larger one.
fn leading_wait(series: &SeriesBlame) -> Option<Interval> {
    let waiting = series.waiting.filter(|waiting| waiting.low > WAITING_LEAST)?;
    let largest = series.holder().or(series.functions.first()).filter(|_| series.is_seen());
    let largest = largest.map_or(0.0, |one| if is_alone(one) { one.own.value } else { one.whole.value });
    (waiting.value > largest * (1.0 - waiting.value)).then_some(waiting)
}

/// Which functions the processor time of that goes to.
fn in_functions(series: &SeriesBlame, whose: &str) -> String {
    let [low, high] = series.sides.map(|side| time(side.processor_seconds));
    let Some(more) = series.growth.filter(|_| series.is_seen()) else {
        return format!(
            "{}: the samples do not show its growth ({low} to {high} of processor time for an operation, {} \
             trials); more trials may, or it waits",
            series.label, series.trials
        );
    };
    let from = format!("the growth of {whose} from {low} to {high} of processor time");
    match series.holder() {
        Some(one) if is_alone(one) => format!("{} of {from} is in {}", share(one.own), one.name),
        Some(one) => format!("{} of {from} is in {} and what it calls", share(one.whole), one.name),
        None => {
            let largest = series.functions.first();
            let largest = largest.map(|one| format!("; most, {}, in {}", share(one.own), one.name));
            let more = time(more.value);
            format!("No function holds half of {from}, {more} more{}", largest.unwrap_or_default())
        }
    }
}

/// Whether it does by itself nearly all that is in it.
fn is_alone(one: &FunctionShare) -> bool {
    one.own.value >= 0.5
}

pub(super) fn share(interval: Interval) -> String {
    // No part is more than all; that an interval is, says how wide it is.
    share_with_interval(interval)
}

/// Where it was sampled, and what limits what can be said.
pub(super) fn remarks(series: &SeriesBlame) -> Vec<String> {
    let [low, high] = series.sides;
    let range = |side: inspect::blame::SideCost| ::report::place::range(side.range.n_low, side.range.n_high);
    let between = if series.step.is_some() { "before and after the step" } else { "at both ends" };
    let leading = leading_wait(series);
    let mut remarks: Vec<String> = leading.map(|_| in_functions(series, "the rest")).into_iter().collect();
    remarks.push(format!(
        "n = {} against {}, {between} · {} trials · {} and {} samples",
        range(low),
        ::report::place::counted(&range(high), &series.grows),
        series.trials,
        count(low.samples),
        count(high.samples)
    ));
    if let Some(waiting) = series.waiting.filter(|waiting| waiting.low > WAITING_LEAST && leading.is_none()) {
        remarks.push(format!("{} of the growth of the elapsed time is {WAITS}", share(waiting)));
    }
    let has_waited = series.waiting.is_some_and(|waiting| waiting.low > WAITING_LEAST);
    if has_waited && !series.unsampled.is_empty() {
        let why = &series.unsampled;
        remarks.push(format!("children and other threads of the trial are not in the samples: {why}"));
    }
    if !series.nameless.is_empty() {
        remarks.push(series.nameless.clone());
    }
    if series.lost > 0 {
        remarks.push(format!("up to {} samples of a trial were lost; shares are of the others", series.lost));
    }
    remarks
}

/// Those that are shown.
pub(super) fn shown(series: &SeriesBlame, verbose: bool) -> impl Iterator<Item = &FunctionShare> {
    let is_certain = |one: &FunctionShare| one.own.low > 0.0 || one.own.high < 0.0;
    let is_large =
        move |one: &&FunctionShare| verbose || one.own.value.abs() >= SHARE_LEAST && is_certain(one);
    let most = if verbose { usize::MAX } else { FUNCTIONS_MOST };
    series.functions.iter().filter(is_large).take(most)
}

/// The name, and the file of a function that is not the kernel's.
pub(super) fn full_name(one: &FunctionShare) -> String {
    let file = one.module.rsplit('/').next().unwrap_or_default();
    match one.module.as_str() {
        "kernel" => one.name.clone(),
        _ if one.name.starts_with('[') => one.name.clone(),
        _ => format!("{} ({})", one.name, file.trim_matches(['[', ']'])),
    }
}

/// Of what the shares of functions are: processor time, which is said where most of the growth is none.
pub(super) fn growth_of(series: &SeriesBlame) -> &'static str {
    if leading_wait(series).is_some() { "of the rest" } else { "of the growth" }
}

fn functions(series: &SeriesBlame, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let row = |one: &FunctionShare| {
        let [low, high] = one.own_seconds.map(time);
        vec![full_name(one), share(one.own), share(one.whole), low, high]
    };
    let rows: Vec<Vec<String>> = shown(series, verbose).map(row).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heading = ["function", growth_of(series), "with what it calls", "at low n", "at high n"];
    write_columns(&heading, &rows, style, out)
}

/// What was counted for an operation, and what there was more of.
fn counters(series: &SeriesBlame, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for (all, heading) in [(&series.counters, "for an operation"), (&series.in_use, "more was in use")] {
        let rows: Vec<Vec<String>> =
            all.iter().map(|one| [vec![one.name.clone()], both(one)].concat()).collect();
        if !rows.is_empty() {
            writeln!(out)?;
            write_columns(&[heading, "at low n", "at high n"], &rows, style, out)?;
        }
    }
    if let Some(reason) = uncounted(series) {
        writeln!(out)?;
        write_paragraph(&format!("  {reason}"), 4, style, out)?;
    }
    Ok(())
}

/// Why nothing was counted for an operation.
pub(super) fn uncounted(series: &SeriesBlame) -> Option<&'static str> {
    series.counters.is_empty().then_some(
        "nothing was counted for an operation: it is too short, or waits too long, for two samples in turn",
    )
}

/// What it was on both sides.
pub(super) fn both(one: &CounterGrowth) -> Vec<String> {
    one.sides.map(amount_with_interval).to_vec()
}

/// What was not explained or counted, and why; that there is nothing to blame.
pub(super) fn missing(blame: &Blame) -> Vec<String> {
    let mut texts = Vec::new();
    if blame.series.is_empty() && blame.unexplained.is_empty() {
        let (margin, judged) = (percent(blame.margin), blame.judged);
        texts.push(format!(
            "Nothing to blame: no cost of this run ({judged} series judged) grows for certain by more \
             than {margin}."
        ));
    }
    if !blame.unexplained.is_empty() {
        let names = ::report::words::list(&blame.unexplained);
        texts.push(format!("Not sampled, though it grows: {names}."));
    }
    texts.extend(blame.reasons.iter().map(|reason| sentence(reason)));
    // A machine lacks the same counters in all series.
    let lacking: BTreeSet<&str> = blame.series.iter().map(|series| series.uncounted.as_str()).collect();
    texts.extend(lacking.into_iter().filter(|reason| !reason.is_empty()).map(sentence));
    texts
}
