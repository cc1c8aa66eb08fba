//! The n at which a workload is measured, and how far n goes on a system: the tightest limit on the resources
//! of the workload, and the helpers that go beyond the limits of one process.
//!
//! A run plans with this, and `osdyno doctor` predicts with it: they cannot differ.

use record::{ResourceLimit, Shape, System, resource};

use crate::definition::Workload;
use crate::helpers::{DESCRIPTORS_OF_HELPER, HELPERS_MAX};

/// The n at which a workload is measured.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// 0, 1, 2 and so on: the cost of each next one.
    Every,
    /// At some n only, each held for a while. The function gives them for the largest: rising, none of them
    /// 0 or above it, one at least where that is not 0.
    Levels(fn(u64) -> Vec<u64>),
    /// At these levels, which somebody chose: rising, none of them 0.
    Chosen(&'static [u64]),
}

impl Sizes {
    /// How many n there are up to `top`.
    pub fn count(self, top: u64) -> usize {
        self.levels(top).map_or(top as usize, |levels| levels.len())
    }

    /// Each n up to `top`, rising.
    pub fn list(self, top: u64) -> Vec<u64> {
        self.levels(top).unwrap_or_else(|| (0..top).collect())
    }

    /// The levels up to `top`, rising; `None` where every n is measured.
    pub fn levels(self, top: u64) -> Option<Vec<u64>> {
        match self {
            Sizes::Every => None,
            Sizes::Levels(levels) => Some(levels(top)),
            Sizes::Chosen(levels) => Some(levels.iter().copied().filter(|&level| level <= top).collect()),
        }
    }

    /// The levels that somebody chose; empty where nobody did.
    pub fn chosen(self) -> &'static [u64] {
        match self {
            Sizes::Chosen(levels) => levels,
            Sizes::Every | Sizes::Levels(_) => &[],
        }
    }

    /// Whether only some n are measured.
    pub fn are_levels(self) -> bool {
        !matches!(self, Sizes::Every)
    }
}

/// 1, 2, 5, 10, 20, 50 and so on below `top`, and `top` itself last. Even spaces on a logarithmic scale, at
/// numbers that people know. Empty for 0.
pub fn one_two_five(top: u64) -> Vec<u64> {
    let decades = std::iter::successors(Some(1_u64), |decade| decade.checked_mul(10));
    let levels = decades.flat_map(|decade| [1, 2, 5].map(|digit| decade.saturating_mul(digit)));
    let below = levels.take_while(|&level| level < top);
    below.chain((top > 0).then_some(top)).collect()
}

/// `top` alone: of a job, all of its work. Empty for 0.
pub(crate) fn top_only(top: u64) -> Vec<u64> {
    (top > 0).then_some(top).into_iter().collect()
}

/// An amount of a resource of the system; the planner stops n before it runs out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The resource, one of [`resource`].
    pub resource: &'static str,
    /// The amount. For memory, that of kernel and process together, roughly.
    pub amount: u64,
    /// The variants that take it; empty for all.
    pub variants: &'static [&'static str],
}

impl Need {
    /// So much of it, in all variants.
    pub const fn new(resource: &'static str, amount: u64) -> Need {
        Need { resource, amount, variants: &[] }
    }

    /// The same in these variants only.
    pub const fn only_in(self, variants: &'static [&'static str]) -> Need {
        Need { variants, ..self }
    }

    /// So many times these.
    pub const fn times<const COUNT: usize>(mut needs: [Need; COUNT], factor: u64) -> [Need; COUNT] {
        let mut place = 0;
        while place < COUNT {
            needs[place].amount *= factor;
            place += 1;
        }
        needs
    }

    /// Those of this variant.
    pub(crate) fn of_variant(needs: &[Need], variant: &str) -> Vec<Need> {
        let is_of = |need: &&Need| need.variants.is_empty() || need.variants.contains(&variant);
        needs.iter().filter(is_of).copied().collect()
    }
}

/// Memory that a workload may not take: half of the available memory stays with the machine.
const MEMORY_SHARE: u64 = 2;

/// Usage changes from moment to moment, and with it the rest of a limit: n that differ by less than this
/// share count as equal.
const ALIKE_SHARE: f64 = 0.1;

/// A limit of a system on a resource of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The n that it suffices for.
    pub n: u64,
    /// The resource, of [`resource`]; `None` is the number of processors.
    pub resource: Option<&'static str>,
    /// How much of that one n takes.
    pub per_n: u64,
    /// How much of it a trial takes at any n.
    pub fixed: u64,
    /// The limit itself.
    pub limit: ResourceLimit,
}

/// How far n goes in one variant of a workload on one system.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// The largest n.
    pub n: u64,
    /// How far it would go without limits.
    pub wanted: u64,
    /// The limit on it, if there is one.
    pub ceiling: Option<Ceiling>,
    /// Processes that make objects beside the trial.
    pub helpers: u32,
}

impl Ceiling {
    /// All limits of a system on what one n needs and what a trial needs at any n, the tightest first.
    pub fn all(needs: &[Need], fixed_needs: &[Need], system: &System) -> Vec<Ceiling> {
        let limits = |need: &Need| system.limits.get(need.resource).into_iter().flatten();
        let of = |need: &Need| {
            let (resource, per_n) = (Some(need.resource), taken(need));
            let limits = limits(need).filter(move |_| per_n > 0);
            limits.map(move |limit| Ceiling {
                n: limit.usable / per_n,
                resource,
                per_n,
                fixed: 0,
                limit: limit.clone(),
            })
        };
        let too_low = |need: &Need| {
            let (resource, fixed) = (Some(need.resource), taken(need));
            let limits = limits(need).filter(move |limit| limit.usable < fixed);
            limits.map(move |limit| Ceiling { n: 0, resource, per_n: 0, fixed, limit: limit.clone() })
        };
        let mut ceilings: Vec<Ceiling> =
            needs.iter().flat_map(of).chain(fixed_needs.iter().flat_map(too_low)).collect();
        ceilings.extend(most_by_processors(needs, system).map(|n| {
            let per_n = amount(needs, resource::PROCESSORS);
            let count = n * per_n;
            let advice = "-n beyond it measures waiting".to_owned();
            let name = "the number of processors".to_owned();
            let limit = ResourceLimit { name, value: count, usable: count, advice };
            Ceiling { n, resource: None, per_n, fixed: 0, limit }
        }));
        ceilings.sort_by_key(|ceiling| ceiling.n);
        ceilings
    }

    /// The tightest of [`Ceiling::all`]; `None` if only time limits it.
    pub fn tightest(needs: &[Need], fixed_needs: &[Need], system: &System) -> Option<Ceiling> {
        Ceiling::all(needs, fixed_needs, system).into_iter().next()
    }

    /// Its value with a unit, if it has one.
    pub fn value(&self) -> String {
        match self.resource {
            Some(resource::MEMORY | resource::DISK) => format!("{} MiB", self.limit.value >> 20),
            _ => self.limit.value.to_string(),
        }
    }

    /// `RLIMIT_NOFILE is 1024; raise it with …`, to follow "because".
    pub fn reason(&self) -> String {
        format!("{} is {}; {}", self.limit.name, self.value(), self.limit.advice)
    }
}

impl Extent {
    /// As far as the ceiling allows, which is that of the workload on this system; with helpers, beyond those
    /// of one process.
    pub fn within(ceiling: Option<Ceiling>, wanted: u64, workload: &Workload, system: &System) -> Extent {
        let n = match &ceiling {
            Some(ceiling) => ceiling.n.min(wanted),
            None => wanted,
        };
        let alone = Extent { n, wanted, ceiling, helpers: 0 };
        if !workload.helpers || n == 0 || is_near(n, wanted) {
            return alone;
        }
        let is_of_process =
            |need: &&Need| matches!(need.resource, resource::DESCRIPTORS | resource::MAPPINGS);
        let (of_process, of_machine): (Vec<&Need>, Vec<&Need>) =
            workload.needs.iter().partition(is_of_process);
        let tightest = |needs: Vec<&Need>| {
            Ceiling::tightest(&needs.into_iter().copied().collect::<Vec<_>>(), &[], system)
        };
        let Some(process) = tightest(of_process) else { return alone };
        let machine = tightest(of_machine).filter(|ceiling| ceiling.n < wanted);
        let descriptors = amount(workload.needs, resource::DESCRIPTORS);
        let most = machine.as_ref().map_or(wanted, |ceiling| ceiling.n);
        let held = |helpers: u32| {
            let taken = u64::from(helpers) * DESCRIPTORS_OF_HELPER.div_ceil(descriptors.max(1));
            process.n.saturating_sub(taken) * (u64::from(helpers) + 1)
        };
        let enough = (1..=HELPERS_MAX).find(|&helpers| held(helpers) >= most);
        let helpers = enough.or((1..=HELPERS_MAX).max_by_key(|&helpers| held(helpers))).unwrap_or(0);
        let n = held(helpers).min(most);
        let ceiling = if n < most { Some(process) } else { machine };
        Extent { n: n - n % (u64::from(helpers) + 1), wanted, ceiling, helpers }
    }

    /// The limit that ends it before the wanted n.
    pub fn stopped_by(&self) -> Option<&Ceiling> {
        self.ceiling.as_ref().filter(|by| self.n < self.wanted && by.n < self.wanted)
    }
}

/// How much of these needs is of one resource.
fn amount(needs: &[Need], resource: &str) -> u64 {
    needs.iter().filter(|need| need.resource == resource).map(|need| need.amount).sum()
}

/// The share of the usable amount that a need takes.
fn taken(need: &Need) -> u64 {
    match need.resource {
        resource::MEMORY => need.amount * MEMORY_SHARE,
        _ => need.amount,
    }
}

/// How many n the processors of the system suffice for, where n takes any.
pub fn most_by_processors(needs: &[Need], system: &System) -> Option<u64> {
    let online = system.processors.as_ref().map(|processors| u64::from(processors.online));
    online?.checked_div(amount(needs, resource::PROCESSORS))
}

/// The most workers of a scaling that have a processor each, all the time, and twice as many `beyond` that.
pub fn most_workers(workload: &Workload, system: &System, beyond: bool) -> Option<u64> {
    let usable = system.workers_at_once().filter(|_| workload.shape == Shape::Scaling);
    usable.map(|usable| if beyond { 2 * usable } else { usable })
}

/// Whether n comes so near to the wanted one that helpers are not needed.
pub fn is_near(n: u64, wanted: u64) -> bool {
    n as f64 >= (1.0 - ALIKE_SHARE) * wanted as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_one_level() {
        assert!(top_only(0).is_empty());
        assert_eq!(top_only(7), [7]);
    }

    #[test]
    fn levels_rise_to_the_top_and_end_there() {
        assert!(one_two_five(0).is_empty());
        assert_eq!(one_two_five(1), [1]);
        assert_eq!(one_two_five(8), [1, 2, 5, 8]);
        assert_eq!(one_two_five(50), [1, 2, 5, 10, 20, 50]);
        assert_eq!(one_two_five(1024).last_chunk(), Some(&[500, 1000, 1024]));
        assert!(one_two_five(u64::MAX).is_sorted_by(|a, b| a < b));
    }
}
