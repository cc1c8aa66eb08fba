//! The hosts of a run: the systems of each, and those that are measured at the same time.
//!
//! A host is a machine of its own. Its systems alternate, and hosts do not disturb each other, so all are
//! measured at once, unless they share a machine below them: these form a group and take turns, trial by
//! trial, so that a minute in which that machine is slow is a minute of all of them. Each has a thread: a
//! common order would make all wait for the slowest, and for one that hangs.

use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;

use fleet::NamedHost;

use crate::{Error, RunPlan, Target};

/// The fleet that a user wants to measure.
#[derive(Clone, Debug, Default)]
pub struct FleetOptions {
    /// The hosts; none is a run without a fleet.
    pub hosts: Vec<NamedHost>,
    /// So many at the same time; `None` is all.
    pub at_once: Option<usize>,
    /// Hosts that share a machine, by patterns: those of one group take turns.
    pub groups: Vec<String>,
}

/// The hosts that are measured at the same time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// Places of hosts; those of one lane take turns. None without a fleet.
    lanes: Vec<Vec<usize>>,
}

/// The turn of a host among the others of its group; alone it is always its turn.
#[derive(Default)]
pub(crate) struct Turn(Option<(Arc<TurnGroup>, usize)>);

/// Hosts of which one works at a time.
struct TurnGroup {
    state: Mutex<TurnGroupState>,
    changed: Condvar,
}

/// Whose turn it is, by the place of the host in its group.
struct TurnGroupState {
    place: usize,
    has_ended: Vec<bool>,
}

/// A host of a run. A run without a fleet is one.
pub(crate) struct HostPart {
    /// Empty without a fleet.
    pub(crate) name: String,
    /// How many systems it has. They stand together in the plan.
    pub(crate) systems: usize,
}

impl FleetOptions {
    /// These systems on each host.
    pub(crate) fn targets(&self, targets: Vec<Target>) -> Result<Vec<Target>, Error> {
        if self.hosts.is_empty() {
            return Ok(targets);
        }
        let on = |host: &NamedHost| targets.iter().map(|target| target.on_host(host)).collect::<Vec<_>>();
        self.hosts.iter().flat_map(on).collect()
    }

    /// The order of its hosts.
    pub(crate) fn turns(&self) -> Result<Turns, Error> {
        let mut lanes: Vec<Vec<usize>> = Vec::new();
        let mut grouped = vec![false; self.hosts.len()];
        for pattern in &self.groups {
            let members = fleet::select(&self.hosts, pattern).map_err(Error::Fleet)?;
            let is_member = |(place, host): (usize, &NamedHost)| {
                members.iter().any(|member| member.name == host.name).then_some(place)
            };
            let lane: Vec<usize> = self.hosts.iter().enumerate().filter_map(is_member).collect();
            if let Some(&twice) = lane.iter().find(|&&place| grouped[place]) {
                return Err(Error::TwoGroups { host: self.hosts[twice].name.clone() });
            }
            lane.iter().for_each(|&place| grouped[place] = true);
            lanes.push(lane);
        }
        lanes.extend((0..self.hosts.len()).filter(|&place| !grouped[place]).map(|place| vec![place]));
        Ok(Turns { lanes: joined(lanes, self.at_once.unwrap_or(usize::MAX).max(1)) })
    }
}

impl RunPlan {
    /// The hosts, in the order of their systems.
    pub(crate) fn hosts(&self) -> Vec<HostPart> {
        let mut hosts: Vec<HostPart> = Vec::new();
        for target in &self.targets {
            let name = target.fleet.as_ref().map_or("", |place| &place.host);
            match hosts.last_mut().filter(|host| host.name == name) {
                Some(host) => host.systems += 1,
                None => hosts.push(HostPart { name: name.to_owned(), systems: 1 }),
            }
        }
        hosts
    }

    /// Whether it measures a fleet.
    pub fn is_of_fleet(&self) -> bool {
        self.targets.iter().any(|target| target.fleet.is_some())
    }

    /// The part of one host, whose systems begin at `first`. The order of its trials is its own: in the same
    /// order on all hosts, an effect of the order would look like one of the fleet.
    pub(crate) fn of_host(&self, place: usize, first: usize, systems: usize) -> RunPlan {
        RunPlan {
            targets: self.targets[first..first + systems].to_vec(),
            seed: self.seed.wrapping_add(place as u64),
            ..self.clone()
        }
    }
}

/// The lanes joined to so many, with about as many hosts in each.
fn joined(lanes: Vec<Vec<usize>>, most: usize) -> Vec<Vec<usize>> {
    if lanes.len() <= most {
        return lanes;
    }
    let mut joined: Vec<Vec<usize>> = vec![Vec::new(); most];
    for lane in lanes {
        if let Some(least) = joined.iter_mut().min_by_key(|joined| joined.len()) {
            least.extend(lane);
        }
    }
    joined
}

impl Turns {
    /// Does the work for each host, in the order of the hosts; without a fleet in this thread.
    pub(crate) fn on_each<T: Send, R: Send>(
        &self,
        hosts: Vec<T>,
        work: &(dyn Fn(T, Turn) -> R + Sync),
    ) -> Vec<R> {
        if self.lanes.is_empty() {
            return hosts.into_iter().map(|host| work(host, Turn::default())).collect();
        }
        let mut turns: Vec<Turn> = hosts.iter().map(|_| Turn::default()).collect();
        for hosts in &self.lanes {
            let lane = Arc::new(TurnGroup::new(hosts.len()));
            let places = hosts.iter().enumerate();
            places.for_each(|(place, &host)| turns[host] = Turn(Some((Arc::clone(&lane), place))));
        }
        std::thread::scope(|scope| {
            let begin = |(host, turn): (T, Turn)| {
                scope.spawn(move || {
                    turn.wait();
                    work(host, turn)
                })
            };
            let working: Vec<_> = hosts.into_iter().zip(turns).map(begin).collect();
            let end =
                |worker: ScopedJoinHandle<'_, R>| worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            working.into_iter().map(end).collect()
        })
    }
}

impl TurnGroup {
    fn new(hosts: usize) -> TurnGroup {
        TurnGroup {
            state: Mutex::new(TurnGroupState { place: 0, has_ended: vec![false; hosts] }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnGroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnGroupState {
    /// The next host that has not ended.
    fn pass(&mut self) {
        let count = self.has_ended.len();
        let later = (1..=count).map(|step| (self.place + step) % count);
        self.place = later.into_iter().find(|&place| !self.has_ended[place]).unwrap_or(self.place);
    }
}

impl Turn {
    /// Waits until it is this host's turn.
    fn wait(&self) {
        let Some((lane, place)) = &self.0 else { return };
        let wait = lane.changed.wait_while(lane.lock(), |state| state.place != *place);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }

    /// Lets the other hosts of its group do one trial each.
    pub(crate) fn pass(&self) {
        let Some((lane, _)) = &self.0 else { return };
        lane.lock().pass();
        lane.changed.notify_all();
        self.wait();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some((lane, place)) = &self.0 else { return };
        let mut state = lane.lock();
        state.has_ended[*place] = true;
        if state.place == *place {
            state.pass();
        }
        lane.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn fleet(hosts: &str, groups: &[&str], at_once: Option<usize>) -> FleetOptions {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        FleetOptions { hosts: fleet::listed(&[hosts]).expect("hosts"), at_once, groups }
    }

    #[test]
    fn hosts_of_a_group_take_turns_and_others_do_not_wait() {
        let turns = fleet("n[1-6]", &["n[1-3]"], None).turns().expect("turns");
        let (now, most) = (Mutex::new([0_i32; 2]), Mutex::new([0_i32; 2]));
        let kind = |place: usize| usize::from(place >= 3);
        let count = |place: usize, by: i32| {
            let mut now = now.lock().expect("no panic");
            now[kind(place)] += by;
            let mut most = most.lock().expect("no panic");
            most[kind(place)] = most[kind(place)].max(now[kind(place)]);
        };
        let work = |place: usize, _turn: Turn| {
            count(place, 1);
            std::thread::sleep(Duration::from_millis(100));
            count(place, -1);
            place * 10
        };
        assert_eq!(turns.on_each((0..6).collect(), &work), [0, 10, 20, 30, 40, 50]);
        let most = most.into_inner().expect("no panic");
        assert_eq!(most[0], 1, "they share a machine");
        assert!(most[1] > 1, "they have machines of their own");
    }

    #[test]
    fn no_more_than_the_user_wants_at_once() {
        let turns = fleet("n[1-9]", &[], Some(2)).turns().expect("turns");
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: usize, _turn: Turn| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        assert_eq!(turns.on_each((0..9).collect(), &work).len(), 9);
        assert!(most.into_inner() <= 2);
    }

    #[test]
    fn hosts_of_a_lane_alternate_trial_by_trial_and_one_that_ends_holds_nobody_up() {
        let turns = fleet("n[1-3]", &[], Some(1)).turns().expect("turns");
        let trials = Mutex::new(Vec::new());
        let work = |host: usize, turn: Turn| {
            for trial in 0..=host {
                trials.lock().expect("no panic").push((trial, host));
                turn.pass();
            }
        };
        turns.on_each((0..3).collect(), &work);
        let order = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
        assert_eq!(trials.into_inner().expect("no panic"), order);
    }

    #[test]
    fn a_host_is_in_one_group() {
        let refused = fleet("n[1-3]", &["n1,n2", "n[2-3]"], None).turns().expect_err("two groups");
        assert!(refused.to_string().contains("n2"), "{refused}");
        assert!(fleet("n[1-3]", &["m*"], None).turns().is_err(), "nobody");
    }
}
