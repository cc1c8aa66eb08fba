//! The findings of a run beside growths, each kind in a list. Each series is of one kind, and variants of one
//! operation that share a list share a name.

use judge::verdict::known_bound;
use judge::{Cause, Finding, Findings, Settlement, Stop, improves, worsens};
use stats::{Class, Warning};

use crate::document::Names;
use crate::quantity::duration;
use crate::sentences;
use crate::words::{NO_BREAK, bound, count, grouped_once, list, percent, things};

/// More variants are counted.
const VARIANTS_NAMED: usize = 3;

/// The series of one kind.
pub(crate) struct List<'a> {
    pub(crate) names: Names,
    /// The kind of its series, and those; none where it is not one of series.
    pub(crate) series: Option<(Kind, Vec<&'a Finding>)>,
}

/// The kind of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It ends worse than it begins: a cost that grows, a rate that falls.
    Worse,
    Flat,
    GrowsLittle,
    /// It ends better than it begins.
    Better,
    /// It changes, and ends where it begins, within its interval.
    Uneven,
    OneLevel,
    TooShort,
    Undecided,
    /// A comparison stands in place of its verdict.
    Compared,
    NoNumber,
}

impl Kind {
    /// The kind of a series in a run.
    pub(super) fn in_run(findings: &Findings, finding: &Finding) -> Kind {
        match Kind::of(finding) {
            Kind::NoNumber => Kind::NoNumber,
            _ if findings.is_ranked_elsewhere(finding) => Kind::Compared,
            kind => kind,
        }
    }

    /// The kind by its own verdict.
    pub(crate) fn of(finding: &Finding) -> Kind {
        let Some(verdict) = &finding.verdict else { return Kind::NoNumber };
        match verdict.class {
            Class::Flat => Kind::Flat,
            Class::SmallGrowth => Kind::GrowsLittle,
            Class::Value => Kind::OneLevel,
            Class::Inconclusive if verdict.warnings.contains(&Warning::BelowResolution) => Kind::TooShort,
            Class::Inconclusive => Kind::Undecided,
            _ if worsens(finding) => Kind::Worse,
            _ if improves(finding) => Kind::Better,
            _ => Kind::Uneven,
        }
    }
}

/// The count of every kind: `95 series: 29 worse with n · 27 flat · 12 better with n · 27 undecided`.
pub(crate) fn counts(findings: &Findings) -> String {
    let counts = [
        (Kind::Worse, "worse with n"),
        (Kind::Flat, "flat"),
        (Kind::GrowsLittle, "small growth"),
        (Kind::Better, "better with n"),
        (Kind::Uneven, "uneven"),
        (Kind::OneLevel, "at one level"),
        (Kind::Compared, "compared"),
        (Kind::Undecided, "undecided"),
        (Kind::TooShort, "too short for the clock"),
        (Kind::NoNumber, "without a number"),
    ];
    let counts = counts.map(|(kind, word)| (of_kind(findings, kind).len(), word));
    let said = counts.iter().filter(|(n, _)| *n > 0);
    let said =
        said.map(|(n, word)| format!("{} {word}", count(*n as u64)).replace(' ', &NO_BREAK.to_string()));
    let said: Vec<String> = said.chain(sentences::noise_floor(findings)).collect();
    match findings.series.len() {
        0 => "nothing was measured".into(),
        all => format!("{}: {}", things(all, "series", "series"), said.join(" · ")),
    }
}

/// All lists that are not empty.
pub(crate) fn lists(findings: &Findings) -> Vec<List<'_>> {
    let lists = [
        flat(findings),
        plain("Small growth".into(), findings, Kind::GrowsLittle),
        plain("Better with n".into(), findings, Kind::Better),
        plain("Uneven (changes on the way, and comes back)".into(), findings, Kind::Uneven),
        values(findings),
        undecided(findings),
        plain("Too short for the clock".into(), findings, Kind::TooShort),
        stopped(findings),
    ];
    lists.into_iter().filter(|list| !list.names.items.is_empty()).collect()
}

/// The series that change for the better, and those that end where they begin.
pub(super) fn other_changes(findings: &Findings) -> Vec<&Finding> {
    [Kind::Better, Kind::Uneven].into_iter().flat_map(|kind| of_kind(findings, kind)).collect()
}

/// The name of series of one operation.
pub(super) fn of_group(findings: &Findings, group: &[&Finding]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let all = findings.series.iter().filter(|other| is_same_operation(first, other)).count();
    let name = match group.len() {
        1 => first.label.clone(),
        some if some == all => operation(first),
        some if some <= VARIANTS_NAMED => {
            let variants: Vec<&str> = group.iter().map(|finding| finding.key.variant.as_str()).collect();
            format!("{} ({})", operation(first), variants.join(", "))
        }
        some => format!("{} ({some} of {all})", operation(first)),
    };
    if findings.systems.len() > 1 { format!("{name} on {}", first.key.system) } else { name }
}

/// Series of the same operation together, in the order of the first of each.
pub(super) fn groups<'a>(series: &[&'a Finding]) -> Vec<Vec<&'a Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in series {
        match groups.iter_mut().find(|group| is_same_operation(group[0], finding)) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// The first series of each operation.
pub(super) fn firsts<'a>(series: &[&'a Finding]) -> Vec<&'a Finding> {
    groups(series).iter().map(|group| group[0]).collect()
}

fn of_kind(findings: &Findings, wanted: Kind) -> Vec<&Finding> {
    findings.series.iter().filter(|finding| Kind::in_run(findings, finding) == wanted).collect()
}

fn plain(label: String, findings: &Findings, kind: Kind) -> List<'_> {
    let series = of_kind(findings, kind);
    let items = groups(&series).iter().map(|group| of_group(findings, group)).collect();
    let names = Names { label, items, lines_max: 1, ..Names::default() };
    List { names, series: Some((kind, series)) }
}

/// `Flat within 10 % to n = 20 000: socket, open`.
fn flat(findings: &Findings) -> List<'_> {
    let flat = of_kind(findings, Kind::Flat);
    let top = flat.iter().filter_map(|finding| finding.verdict.as_ref()).map(|verdict| verdict.n_high).max();
    let top = top.map(|n| format!(" to n = {}", count(n))).unwrap_or_default();
    let label = format!("Flat within {}{top}", percent(findings.margin));
    let mut list = plain(label, findings, Kind::Flat);
    list.names.lines_max = 2;
    list
}

/// The costs of series that were measured at one level.
fn values(findings: &Findings) -> List<'_> {
    let value = |finding: &&Finding| {
        let verdict = finding.verdict.as_ref()?;
        Some(format!("{} {}", sentences::label(findings, finding), sentences::verdict(verdict, finding.unit)))
    };
    let mut list = plain("At one level".into(), findings, Kind::OneLevel);
    list.names.items = of_kind(findings, Kind::OneLevel).iter().filter_map(value).collect();
    list.names.lines_max = 2;
    list
}

/// `Undecided: reap/random (at most 48 %), fork; --budget 12min would settle 9 of 11`.
fn undecided(findings: &Findings) -> List<'_> {
    let undecided = of_kind(findings, Kind::Undecided);
    let item = |group: &Vec<&Finding>| {
        let bounds = group.iter().filter_map(|finding| known_bound(finding.verdict.as_ref()?));
        let most = bounds.reduce(f64::max).map(|most| format!(" (at most {})", bound(most)));
        of_group(findings, group) + &most.unwrap_or_default()
    };
    let names = Names {
        label: "Undecided".into(),
        items: groups(&undecided).iter().map(item).collect(),
        behind: findings
            .settlement
            .map_or_else(String::new, |settlement| settled(&settlement, undecided.len())),
        lines_max: 2,
    };
    List { names, series: Some((Kind::Undecided, undecided)) }
}

/// `; --budget 12min would settle 9 of 11`.
fn settled(settlement: &Settlement, of: usize) -> String {
    let of = format!("{} of {}", count(settlement.settles as u64), count(of as u64));
    match (settlement.seconds, settlement.is_planned) {
        (Some(seconds), true) => format!("; --budget {} would settle {of}", option(seconds)),
        (Some(seconds), false) => {
            format!("; --trials {} would settle {of}, in {}", settlement.trials, duration(seconds))
        }
        (None, _) => {
            format!("; {} would settle {of}", things(settlement.trials as usize, "trial", "trials"))
        }
    }
}

/// A time as `--budget` reads it: `90s`, `12m`.
fn option(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if whole.is_multiple_of(60) { format!("{}m", whole / 60) } else { format!("{whole}s") }
}

/// How trials ended early, alike ends once; that the time was too short for all n is a remark. Why a system
/// has not all rivals is on the page.
fn stopped(findings: &Findings) -> List<'_> {
    let of_series = |finding: &Finding| {
        let workload = findings.workload(&finding.key.workload);
        let is_rival = workload.is_some_and(|workload| workload.rivals);
        let label = sentences::variant_label(findings, finding);
        let words = move |stop: &Stop| match stop.cause {
            Cause::Unsupported { .. } if is_rival => "unsupported".into(),
            _ => sentences::stop(stop),
        };
        let stops = finding.stops.iter().filter(|stop| stop.cause != Cause::Allowance);
        stops.map(move |stop| (words(stop), label.clone())).collect::<Vec<_>>()
    };
    let said = |(words, labels): (String, Vec<String>)| match labels.len() {
        n if n > 4 => format!("{words} ({})", things(n, "workload", "workloads")),
        _ => format!("{words} ({})", list(&labels)),
    };
    let items = grouped_once(findings.series.iter().flat_map(of_series)).into_iter().map(said).collect();
    let names = Names { label: "Limits".into(), items, lines_max: 2, ..Names::default() };
    List { names, series: None }
}

/// The label without the variant.
fn operation(finding: &Finding) -> String {
    let variant = format!("/{}", finding.key.variant);
    finding.label.replacen(&variant, "", 1)
}

fn is_same_operation(one: &Finding, other: &Finding) -> bool {
    let (one, other) = (&one.key, &other.key);
    one.system == other.system
        && one.workload == other.workload
        && one.name == other.name
        && one.direction == other.direction
}
