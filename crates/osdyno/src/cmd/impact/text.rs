//! The answer in a terminal: the conclusion first, then each cost, then other paths.

use std::io::{self, Write};

use ::report::quantity::{duration, time, time_with_interval};
use ::report::words::{amount_with_interval, share_with_interval};
use ::report::{Style, write_columns, write_paragraph};
use inspect::impact::{CostImpact, Impact, PathPart, UserShare};

use super::answer::Answer;

/// Costs that are shown unless all are wanted.
const COSTS_MOST: usize = 10;

pub(super) fn write(answer: &Answer, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for sentence in conclusion(answer) {
        write_paragraph(&sentence, 2, style, out)?;
    }
    writeln!(out)?;
    path(answer, style, out)?;
    costs(answer, verbose, style, out)?;
    capacity(answer, verbose, style, out)?;
    exchanges(answer, style, out)?;
    elsewhere(answer, style, out)
}

/// What there is to know, in two or three sentences.
pub(super) fn conclusion(answer: &Answer) -> Vec<String> {
    let Some(main) = answer.impact.main() else { return Vec::new() };
    let name = name(main, &answer.impact);
    let mut gains = Vec::new();
    if let Some(response) = &main.response {
        gains.push(format!("{} of a response", share_with_interval(response.gain)));
    }
    if let Some(transfer) = &main.transfer {
        gains.push(format!("{} of a transfer of {}", share_with_interval(transfer.gain), size(answer)));
    }
    let on = if answer.has_path { "on this path" } else { "behind fibre to the home" };
    let mut sentences = vec![match gains.as_slice() {
        [] => {
            format!("{name} is paid for bytes, and the path has no rate: give a part one, such as lan 1gbit.")
        }
        gains => {
            format!("{name}: a system twice as fast gains a user {on} at most {}.", gains.join(", and "))
        }
    }];
    if let Some(capacity) = &main.capacity {
        let from = amount_with_interval(capacity.matters_from);
        sentences.push(format!("At {from} responses per second or more it saves a core."));
    }
    if let Some(rate) = main.capacity.and_then(|capacity| capacity.at_rate) {
        let money = rate.money_saved.map(|money| format!(", worth {}", amount_with_interval(money)));
        sentences.push(format!(
            "At {} per second it occupies {} cores and would save {}{}.",
            ::report::words::about(rate.per_second),
            amount_with_interval(rate.cores),
            amount_with_interval(rate.saved),
            money.unwrap_or_default()
        ));
    }
    sentences
}

/// The cost in words, with the system where there are several.
pub(super) fn name(one: &CostImpact, impact: &Impact) -> String {
    let systems = impact.costs.iter().map(|other| &other.cost.system);
    let is_alone = systems.clone().all(|system| *system == one.cost.system || system.is_empty());
    let times = if one.cost.times == 1.0 { String::new() } else { format!("{} × ", one.cost.times) };
    let at = one.cost.n.map(|n| format!(" at n = {}", ::report::words::count(n))).unwrap_or_default();
    match is_alone || one.cost.system.is_empty() {
        true => format!("{times}{}{at}", one.cost.name),
        false => format!("{times}{}{at} on {}", one.cost.name, one.cost.system),
    }
}

pub(super) fn size(answer: &Answer) -> String {
    format!("{} MB", ::report::words::about((answer.question.bytes / 1e6).max(1.0)))
}

/// A part of the path: its delay and its rate.
pub(super) fn part(part: &PathPart) -> [String; 2] {
    let rate = part.bits_per_second.map(|rate| match rate {
        rate if rate >= 1e9 => format!("{} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{} Mbit/s", rate / 1e6),
        rate => format!("{} kbit/s", rate / 1e3),
    });
    [part.delay_seconds.map(time).unwrap_or_default(), rate.unwrap_or_default()]
}

fn path(answer: &Answer, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let path = &answer.question.path;
    let row = |one: &PathPart| [vec![one.name.clone()], part(one).to_vec()].concat();
    let rows: Vec<Vec<String>> = path.parts().iter().map(row).collect();
    write_columns(&["path", "delay", "rate"], &rows, style, out)?;
    let together = match path.bottleneck() {
        Some((slowest, rate)) => format!(
            "in total {} for a response, {} for {} through {}",
            time(path.delay_seconds()),
            duration(answer.question.bytes * 8.0 / rate + path.delay_seconds()),
            size(answer),
            slowest.name
        ),
        None => format!("in total {} for a response", time(path.delay_seconds())),
    };
    writeln!(out)?;
    write_paragraph(&together, 2, style, out)
}

/// Those that are shown.
fn shown(impact: &Impact, verbose: bool) -> impl Iterator<Item = &CostImpact> {
    let most = if verbose { usize::MAX } else { COSTS_MOST };
    impact.together.iter().chain(impact.costs.iter().take(most))
}

fn costs(answer: &Answer, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let impact = &answer.impact;
    let cell =
        |share: Option<UserShare>| share.map_or("—".to_owned(), |one| share_with_interval(one.share));
    let row = |one: &CostImpact| {
        let taken = one.response.or(one.transfer).map(|share| share.system_seconds);
        let taken = taken.unwrap_or_else(|| one.cost.of(answer.question.bytes));
        vec![name(one, impact), time_with_interval(taken), cell(one.response), cell(one.transfer)]
    };
    let rows: Vec<Vec<String>> = shown(impact, verbose).map(row).collect();
    writeln!(out)?;
    let transfer = format!("share of {}", size(answer));
    write_columns(&["cost", "time", "share of a response", &transfer], &rows, style, out)?;
    let hidden = impact.costs.len().saturating_sub(COSTS_MOST);
    if !verbose && hidden > 0 {
        write_paragraph(&format!("{hidden} smaller ones with --verbose"), 2, style, out)?;
    }
    Ok(())
}

fn capacity(answer: &Answer, verbose: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = shown(&answer.impact, verbose)
        .filter_map(|one| {
            let capacity = one.capacity?;
            let mut row = vec![
                name(one, &answer.impact),
                amount_with_interval(capacity.per_core),
                amount_with_interval(capacity.matters_from),
            ];
            if let Some(rate) = capacity.at_rate {
                row.extend([amount_with_interval(rate.cores), amount_with_interval(rate.saved)]);
                row.extend(rate.money_saved.map(amount_with_interval));
            }
            Some(row)
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heading = [
        "capacity",
        "per second and core",
        "twice as fast saves a core from",
        "cores",
        "cores saved",
        "money saved",
    ];
    let columns = rows.first().map_or(0, Vec::len);
    write_columns(&heading[..columns.min(heading.len())], &rows, style, out)
}

fn exchanges(answer: &Answer, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let cell = |gain: Option<_>| gain.map_or("—".to_owned(), share_with_interval);
    let rows: Vec<Vec<String>> = answer
        .impact
        .exchanges
        .iter()
        .map(|one| {
            let from_to = format!("{} → {}", one.from, one.to);
            vec![one.name.clone(), from_to, cell(one.response), cell(one.transfer)]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    write_columns(
        &["from one system to another", "", "gain of a response", "of a transfer"],
        &rows,
        style,
        out,
    )
}

fn elsewhere(answer: &Answer, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let cell = |share: Option<UserShare>| share.map_or("—".to_owned(), |one| share_with_interval(one.gain));
    let row = |(name, impact): &(&'static str, Impact)| {
        let main = impact.main()?;
        Some(vec![(*name).to_owned(), cell(main.response), cell(main.transfer)])
    };
    let rows: Vec<Vec<String>> = answer.elsewhere.iter().filter_map(row).collect();
    writeln!(out)?;
    write_columns(&["twice as fast gains at most", "of a response", "of a transfer"], &rows, style, out)
}
