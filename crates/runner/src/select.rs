//! The groups of workloads that a run can measure, and the workloads that a user selects by name, glob or
//! group.

use wildmatch::WildMatch;
use workload::{Group, Variant, Workload};

use crate::Error;

/// Every group, in the order of lists and reports.
pub const GROUPS: &[Group] = &[kernel::GROUP, cores::GROUP, servers::GROUP, jobs::GROUP, mail::GROUP];

/// Every workload.
pub fn workloads() -> impl Iterator<Item = &'static Workload> + Clone {
    GROUPS.iter().flat_map(|group| group.workloads.iter().copied())
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Workload> {
    GROUPS.iter().find_map(|group| group.find(name))
}

/// Stands for every workload of every group.
const ALL: &str = "all";
/// Stands for [`DEFAULT_RUN`].
const DEFAULT: &str = "default";

/// The default run: the workloads and variants of a run without names. Each answers a question that no other
/// series here answers. `osdyno list --default` prints them.
const DEFAULT_RUN: &[&str] = &[
    "noop",
    "syscall",
    "socket/v4",
    "socket/v4-hole",
    "bind/v4",
    "connect/v4",
    "accept/epoll",
    "fork",
    "fork-memory",
    "process-set/children",
    "mount/bind",
    "thread",
    "mmap/read",
    "cores-map/threads",
    "cores-fault/threads",
    "cores-create/processes-shared",
    "files",
    "ready/poll",
    "ready/epoll",
    "ready/uring",
    "lock/posix",
    "watch/inotify",
    "missing-names/one",
];

/// A workload in one of its variants.
type Chosen = (&'static Workload, Variant);

/// One that a run can measure.
struct Candidate {
    group: &'static str,
    chosen: Chosen,
    /// `bind/v6`; `fork/` where there is only one variant, which has no name.
    full_name: String,
}

impl Candidate {
    fn new(group: &'static str, workload: &'static Workload, variant: Variant) -> Candidate {
        let full_name = format!("{}/{}", workload.name, variant.name);
        Candidate { group, chosen: (workload, variant), full_name }
    }
}

/// The workloads and variants that the patterns name, in the order of the list: `bind`, `bind/v6`, `mm*`,
/// `servers`, `all`, `default`. Where a workload has the name of a group, the workload is meant. No pattern
/// means `default`.
///
/// # Errors
/// [`Error::UnknownWorkload`] for a pattern that names nothing.
pub fn select(patterns: &[String]) -> Result<Vec<Chosen>, Error> {
    select_from(GROUPS, DEFAULT_RUN, patterns)
}

fn select_from(groups: &[Group], default_run: &[&str], patterns: &[String]) -> Result<Vec<Chosen>, Error> {
    let default = [DEFAULT.to_owned()];
    let patterns = if patterns.is_empty() { &default } else { patterns };
    let of_all = groups.iter().flat_map(|group| group.workloads.iter().map(move |&one| (group.name, one)));
    let all: Vec<Candidate> = of_all
        .clone()
        .flat_map(|(group, one)| one.variants.iter().map(move |&variant| Candidate::new(group, one, variant)))
        .collect();
    let default_run: Vec<Pattern> = default_run.iter().map(|&name| Pattern::new(name)).collect();
    let mut is_chosen = vec![false; all.len()];
    for pattern in patterns {
        let named = Pattern::new(pattern);
        let by_name: Vec<bool> = all.iter().map(|one| named.names(one)).collect();
        let meant = match by_name.contains(&true) {
            true => by_name,
            false => {
                let meant = |one: &Candidate| {
                    let is_default = || default_run.iter().any(|name| name.names(one));
                    let is_of_group = pattern == ALL || pattern == one.group;
                    is_of_group && !one.chosen.0.is_own || pattern == DEFAULT && is_default()
                };
                all.iter().map(meant).collect()
            }
        };
        if !meant.contains(&true) {
            let group_names = groups.iter().map(|group| group.name).chain([ALL, DEFAULT]);
            let workloads = of_all.clone().map(|(_, one)| one.name);
            let known = workloads.chain(group_names).chain(all.iter().map(|one| one.full_name.as_str()));
            let nearest = nearest(pattern, known);
            return Err(Error::UnknownWorkload { name: pattern.clone(), nearest, count: of_all.count() });
        }
        is_chosen.iter_mut().zip(meant).for_each(|(chosen, meant)| *chosen |= meant);
    }
    let chosen = all.iter().zip(is_chosen).filter_map(|(one, is_chosen)| is_chosen.then_some(one.chosen));
    Ok(chosen.collect())
}

/// The name or glob of workloads.
struct Pattern<'a> {
    text: &'a str,
    glob: WildMatch,
}

impl Pattern<'_> {
    fn new(text: &str) -> Pattern<'_> {
        Pattern { text, glob: WildMatch::new(text) }
    }

    fn names(&self, one: &Candidate) -> bool {
        let (workload, _) = one.chosen;
        if workload.is_own {
            return self.text == workload.name;
        }
        self.glob.matches(workload.name) || self.glob.matches(&one.full_name)
    }
}

/// The most similar candidate: within a third of its letters, like suggestions of compilers.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let best = candidates.min_by_key(|candidate| distance(candidate))?;
    (distance(best) <= best.len().max(3) / 3).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIND: Workload = Workload { name: "bind", ..Workload::CURVE };
    const SOCKET: Workload = Workload {
        name: "socket",
        variants: &[Variant { name: "v4", summary: "" }, Variant { name: "v6", summary: "" }],
        ..Workload::CURVE
    };
    const CLOCK: Workload = Workload { name: "clock", ..Workload::CURVE };
    const RACE: Workload = Workload {
        name: "race",
        variants: &[Variant { name: "poll", summary: "" }, Variant { name: "epoll", summary: "" }],
        ..Workload::LOAD
    };
    const KERNEL: Group = Group { name: "kernel", title: "", workloads: &[&BIND] };
    const SERVERS: Group = Group { name: "servers", title: "", workloads: &[&RACE] };

    fn selected(groups: &[Group], patterns: &[&str]) -> Result<Vec<String>, Error> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let chosen = select_from(groups, &["bind", "socket/v6"], &patterns)?;
        Ok(chosen.into_iter().map(|(one, variant)| Candidate::new("", one, variant).full_name).collect())
    }

    #[test]
    fn groups_are_named_like_workloads() {
        let named = |patterns: &[&str]| selected(&[KERNEL, SERVERS], patterns).expect("workloads");
        assert_eq!(named(&[]), ["bind/"]);
        assert_eq!(named(&["kernel"]), ["bind/"]);
        assert_eq!(named(&["servers"]), ["race/poll", "race/epoll"]);
        assert_eq!(named(&["all"]), ["bind/", "race/poll", "race/epoll"]);
        assert_eq!(named(&["*"]), named(&["all"]));
        assert_eq!(named(&["race/e*", "kernel"]), ["bind/", "race/epoll"]);
    }

    #[test]
    fn every_name_of_the_default_run_is_there() {
        for name in DEFAULT_RUN {
            let chosen = select(&[(*name).to_owned()]).expect("a workload");
            assert_eq!(chosen.len(), 1, "{name} is one variant");
        }
        assert_eq!(select(&[]).expect("a run").len(), DEFAULT_RUN.len());
    }

    #[test]
    fn without_a_name_only_what_stands_in_a_default_run_is_measured() {
        let kernel = Group { workloads: &[&BIND, &SOCKET, &CLOCK], ..KERNEL };
        let named = |patterns: &[&str]| selected(&[kernel, SERVERS], patterns).expect("workloads");
        assert_eq!(named(&[]), ["bind/", "socket/v6"]);
        assert_eq!(named(&["default", "race/poll"]), ["bind/", "socket/v6", "race/poll"]);
        assert_eq!(named(&["kernel"]), ["bind/", "socket/v4", "socket/v6", "clock/"]);
    }

    #[test]
    fn what_is_of_the_user_is_selected_by_its_name_alone() {
        const OWN: Workload = Workload { name: "own", is_own: true, ..Workload::JOB };
        let kernel = Group { workloads: &[&BIND, &OWN], ..KERNEL };
        for pattern in ["kernel", "all", "*"] {
            assert_eq!(selected(&[kernel], &[pattern]).expect("workloads"), ["bind/"], "{pattern}");
        }
        assert_eq!(selected(&[kernel], &["own"]).expect("a workload"), ["own/"]);
    }

    #[test]
    fn a_workload_wins_over_a_group_of_its_name() {
        const NAMESAKE: Workload = Workload { name: "servers", ..Workload::CURVE };
        let kernel = Group { workloads: &[&NAMESAKE], ..KERNEL };
        assert_eq!(selected(&[kernel, SERVERS], &["servers"]).expect("a workload"), ["servers/"]);
    }

    #[test]
    fn an_unknown_name_is_refused_and_the_nearest_is_suggested() {
        let refused = |pattern| selected(&[KERNEL, SERVERS], &["bind", pattern]).expect_err("no workload");
        assert!(refused("server").to_string().contains("did you mean \"servers\"?"));
        assert!(refused("rase").to_string().contains("did you mean \"race\"?"));
        assert!(refused("race/eppol").to_string().contains("did you mean \"race/epoll\"?"));
        assert!(!refused("unheard-of").to_string().contains("did you mean"));
        assert!(selected(&[KERNEL], &["servers"]).is_err(), "a group that is not there");
    }
}
