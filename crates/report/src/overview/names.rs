//! Names of many series in few words: variants of one operation that share a list share a name.

use judge::{Finding, Findings};

/// More variants are counted.
const VARIANTS_NAMED: usize = 3;

/// `bind`, `ready/epoll wait`, `ready wait (select, poll)`, `connect (4 of 5)`.
pub(super) fn of(findings: &Findings, series: &[&Finding]) -> Vec<String> {
    groups(series).iter().map(|group| of_group(findings, group)).collect()
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

/// The first series of each operation.
pub(super) fn firsts<'a>(series: &[&'a Finding]) -> Vec<&'a Finding> {
    groups(series).iter().map(|group| group[0]).collect()
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
