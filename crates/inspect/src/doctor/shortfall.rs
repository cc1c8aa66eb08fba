//! Settings that are too low: the present value, the needed one, the workloads that need it, and how it is
//! raised.

use record::{ResourceLimit, System, resource};
use serde::Serialize;
use workload::Ceiling;

use super::demand::MachineDemand;
use super::prognosis::Prognosis;
use super::setting::{Lasting, LimitSetting, Remedy};

/// A limit that is too low for what is wanted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// Name of the limit, such as `RLIMIT_NOFILE`.
    pub limit: String,
    /// Resource, such as `descriptors`.
    pub resource: &'static str,
    /// Value now, and the one that suffices.
    pub now: u64,
    /// See `now`.
    pub needed: u64,
    /// Workloads that want it, or `--for`.
    pub wanted_by: Vec<String>,
    /// The page of the manual of the setting behind it; `null` where nothing can be set, such as the memory
    /// of a machine.
    pub manual: Option<&'static str>,
    /// The command that raises it now; `null` where it cannot be raised, or not so far.
    pub command: Option<String>,
    /// For good; one suffices where it applies.
    pub lasting: Option<Vec<Lasting>>,
    /// Remedy, as the end of a sentence.
    pub advice: String,
    /// The setting behind it.
    #[serde(skip)]
    pub setting: Option<&'static LimitSetting>,
    /// The file of a control group.
    #[serde(skip)]
    pub file: Option<String>,
}

impl Shortfall {
    /// Stands for the demand among the workloads.
    const DEMAND: &'static str = "--for";

    /// Whether the demand wants it, and not workloads alone.
    pub(super) fn is_of_demand(&self) -> bool {
        self.wanted_by.iter().any(|name| name == Shortfall::DEMAND)
    }

    /// The same with the way to raise it.
    fn with_remedy(self) -> Shortfall {
        let setting = self.setting.filter(|_| !self.is_out_of_reach());
        let remedy = setting.map(|setting| setting.remedy(self.needed, self.file.as_deref()));
        let (command, lasting) = remedy.map(|Remedy { now, lasting }| (now, lasting)).unzip();
        Shortfall { manual: self.setting.map(|setting| setting.manual), command, lasting, ..self }
    }

    /// Whether the system does not take so much.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.setting.and_then(|setting| setting.most).is_some_and(|most| self.needed > most)
    }
}

/// Settings that are too low for workloads or for a demand, each once: those that the most depends on first.
pub fn shortfalls(
    system: &System,
    prognoses: &[Prognosis],
    demand: Option<&MachineDemand>,
) -> Vec<Shortfall> {
    let mut found: Vec<Shortfall> = Vec::new();
    if let Some(demand) = demand {
        of_demand(system, demand, &mut found);
    }
    // The list has every limit in the table of workloads, however near they come.
    for prognosis in prognoses.iter().filter(|prognosis| prognosis.extent.stopped_by().is_some()) {
        let wanted = prognosis.extent.wanted;
        for ceiling in &prognosis.ceilings {
            let total = wanted.saturating_mul(ceiling.per_n).max(ceiling.fixed);
            let is_short = ceiling.n < wanted && can_be_raised(ceiling);
            let Some(resource) = ceiling.resource.filter(|_| is_short) else { continue };
            add(&mut found, resource, &ceiling.limit, total, &prognosis.name);
        }
    }
    found.into_iter().map(Shortfall::with_remedy).collect()
}

/// Whether a setting is behind it: memory and disks cannot be raised, and end a workload.
fn can_be_raised(ceiling: &Ceiling) -> bool {
    let is_bought =
        matches!(ceiling.resource, Some(resource::MEMORY | resource::DISK | resource::INODES) | None);
    !is_bought || LimitSetting::named(&ceiling.limit.name).is_some()
}

fn of_demand(system: &System, demand: &MachineDemand, found: &mut Vec<Shortfall>) {
    // All of it once: a ceiling of 0 is one that does not suffice.
    for ceiling in Ceiling::all(&demand.needs(), &[], system) {
        if let Some(resource) = ceiling.resource.filter(|_| ceiling.n == 0) {
            add(found, resource, &ceiling.limit, ceiling.per_n, Shortfall::DEMAND);
        }
    }
    let backlog = demand.backlog();
    for limit in system.limits.get(resource::BACKLOG).into_iter().flatten() {
        if limit.usable < backlog {
            add(found, resource::BACKLOG, limit, backlog, Shortfall::DEMAND);
        }
    }
}

/// Adds one, or raises its needed value.
fn add(
    found: &mut Vec<Shortfall>,
    resource: &'static str,
    limit: &ResourceLimit,
    total: u64,
    wanted_by: &str,
) {
    let needed = needed(resource, limit, total);
    if let Some(known) = found.iter_mut().find(|known| known.limit == limit.name) {
        known.needed = known.needed.max(needed);
        if !known.wanted_by.iter().any(|name| name == wanted_by) {
            known.wanted_by.push(wanted_by.to_owned());
        }
        return;
    }
    let is_file = |word: &&str| word.starts_with("/sys/fs/cgroup");
    let file = limit.advice.split([' ', ',']).find(is_file).map(str::to_owned);
    found.push(Shortfall {
        limit: limit.name.clone(),
        resource,
        now: limit.value,
        needed,
        wanted_by: vec![wanted_by.to_owned()],
        manual: None,
        command: None,
        lasting: None,
        advice: limit.advice.clone(),
        setting: LimitSetting::named(&limit.name),
        file,
    });
}

/// Reserves are at most so large; where nothing is usable, their exact size is unknown.
const RESERVE_MOST: u64 = 512;

/// The value of a limit with which so much is usable.
fn needed(resource: &str, limit: &ResourceLimit, total: u64) -> u64 {
    let lacking = total.saturating_sub(limit.usable);
    // Only a part of some limits is usable: a tenth of memory and disk stays free, and a thread takes two
    // mappings.
    let lacking = match (resource, limit.name.as_str()) {
        (resource::THREADS, "vm.max_map_count") => lacking.saturating_mul(2),
        (resource::MEMORY | resource::DISK | resource::INODES, _) => lacking.saturating_mul(10).div_ceil(9),
        _ => lacking,
    };
    let unknown = if limit.usable == 0 { RESERVE_MOST } else { 0 };
    limit.value.saturating_add(lacking).saturating_add(unknown)
}
