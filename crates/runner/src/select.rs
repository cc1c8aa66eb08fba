//! Which workloads a name means.

use curve::{Curve, Group, Variant};
use wildmatch::WildMatch;

use crate::Error;

/// Stands for every workload of every group.
const ALL: &str = "all";

/// A workload in one of its variants.
type Chosen = (&'static Curve, Variant);

/// The workloads and variants that the patterns name, in the order of the list: `bind`, `bind/v6`, `mm*`,
/// `servers`, `all`. Where a workload has the name of a group, the workload is meant. No pattern means the
/// group that measures the kernel.
///
/// # Errors
/// [`Error::UnknownWorkload`] for a pattern that names nothing.
pub fn select(patterns: &[String]) -> Result<Vec<Chosen>, Error> {
    select_from(curve::ALL, patterns)
}

fn select_from(curves: &[&'static Curve], patterns: &[String]) -> Result<Vec<Chosen>, Error> {
    let default = [Group::Kernel.name().to_owned()];
    let patterns = if patterns.is_empty() { &default } else { patterns };
    let all: Vec<Chosen> = curves
        .iter()
        .flat_map(|&curve| curve.variants.iter().map(move |&variant| (curve, variant)))
        .collect();
    let mut is_chosen = vec![false; all.len()];
    for pattern in patterns {
        let by_name: Vec<bool> = all.iter().map(|chosen| names(pattern, chosen)).collect();
        let meant = match by_name.contains(&true) {
            true => by_name,
            false => all.iter().map(|(curve, _)| pattern == ALL || pattern == curve.group.name()).collect(),
        };
        if !meant.contains(&true) {
            let (name, count) = (pattern.clone(), curves.len());
            let groups = Group::ALL.map(Group::name).into_iter().chain([ALL]);
            let nearest = nearest_of(pattern, curves.iter().map(|curve| curve.name).chain(groups));
            return Err(Error::UnknownWorkload { name, nearest, count });
        }
        is_chosen.iter_mut().zip(meant).for_each(|(chosen, meant)| *chosen |= meant);
    }
    Ok(all.into_iter().zip(is_chosen).filter(|&(_, is_chosen)| is_chosen).map(|(one, _)| one).collect())
}

fn names(pattern: &str, (curve, variant): &Chosen) -> bool {
    let pattern = WildMatch::new(pattern);
    pattern.matches(curve.name) || pattern.matches(&format!("{}/{}", curve.name, variant.name))
}

/// The workload that was probably meant.
pub fn nearest(name: &str) -> Option<String> {
    nearest_of(name, curve::ALL.iter().map(|curve| curve.name))
}

/// The candidate within a third of its letters, as compilers suggest.
fn nearest_of<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let best = candidates.min_by_key(|candidate| distance(candidate))?;
    (distance(best) <= best.len().max(3) / 3).then(|| best.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIND: Curve = Curve { name: "bind", ..Curve::KERNEL };
    const RACE: Curve = Curve {
        name: "race",
        variants: &[Variant { name: "poll", summary: "" }, Variant { name: "epoll", summary: "" }],
        ..Curve::SERVERS
    };
    const SERVERS: Curve = Curve { name: "servers", ..Curve::KERNEL };

    fn selected(curves: &[&'static Curve], patterns: &[&str]) -> Result<Vec<String>, Error> {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let chosen = select_from(curves, &patterns)?;
        Ok(chosen.iter().map(|(curve, variant)| format!("{}/{}", curve.name, variant.name)).collect())
    }

    #[test]
    fn groups_are_named_like_workloads_and_the_kernel_goes_without_saying() {
        let named = |patterns: &[&str]| selected(&[&RACE, &BIND], patterns).expect("workloads");
        assert_eq!(named(&[]), ["bind/"]);
        assert_eq!(named(&["kernel"]), ["bind/"]);
        assert_eq!(named(&["servers"]), ["race/poll", "race/epoll"]);
        assert_eq!(named(&["all"]), ["race/poll", "race/epoll", "bind/"]);
        assert_eq!(named(&["*"]), named(&["all"]));
        assert_eq!(named(&["kernel", "race/e*"]), ["race/epoll", "bind/"]);
    }

    #[test]
    fn a_workload_wins_over_a_group_of_its_name() {
        let named = selected(&[&RACE, &SERVERS], &["servers"]).expect("a workload");
        assert_eq!(named, ["servers/"]);
    }

    #[test]
    fn what_nothing_is_called_is_refused_and_the_nearest_is_named() {
        let refused = |pattern| selected(&[&RACE, &BIND], &["bind", pattern]).expect_err("no workload");
        assert!(refused("server").to_string().contains("did you mean \"servers\"?"));
        assert!(refused("rase").to_string().contains("did you mean \"race\"?"));
        assert!(!refused("unheard-of").to_string().contains("did you mean"));
        assert!(selected(&[&BIND], &["servers"]).is_err(), "a group without workloads");
    }
}
