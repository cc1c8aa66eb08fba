//! A demand on a machine: `connections=100000`.

use std::fmt;
use std::str::FromStr;

use record::units::{self, Unreadable};
use serde::{Serialize, Serializer};
use workload::Need;
use workload::resource::{
    DESCRIPTORS, EPOLL_WATCHES, INOTIFY_INSTANCES, INOTIFY_WATCHES, MAPPINGS, MEMORY, PORTS, PROCESSES,
    THREADS, TRACKED,
};

/// Something of which a machine can be asked to hold many.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// The resources of one of them.
    needs: &'static [Need],
    /// A listening socket accepts them.
    is_accepted: bool,
}

/// The memory of a connection: both ends with their entries in every table of the kernel, 9.0 KiB on Linux
/// 6.18 (`servers/crowd`); the server program takes more for itself.
const CONNECTION_BYTES: u64 = 9 << 10;

const KINDS: &[Kind] = &[
    Kind {
        name: "connections",
        needs: &[
            Need::new(DESCRIPTORS, 1),
            Need::new(MEMORY, CONNECTION_BYTES),
            Need::new(EPOLL_WATCHES, 1),
            Need::new(TRACKED, 1),
        ],
        is_accepted: true,
    },
    Kind {
        name: "clients",
        needs: &[
            Need::new(DESCRIPTORS, 1),
            Need::new(PORTS, 1),
            Need::new(MEMORY, CONNECTION_BYTES),
            Need::new(EPOLL_WATCHES, 1),
            Need::new(TRACKED, 1),
        ],
        is_accepted: false,
    },
    Kind {
        name: "files",
        needs: &[Need::new(DESCRIPTORS, 1), Need::new(MEMORY, 1 << 10)],
        is_accepted: false,
    },
    Kind {
        name: "processes",
        needs: &[Need::new(PROCESSES, 1), Need::new(MEMORY, 160 << 10)],
        is_accepted: false,
    },
    Kind {
        name: "threads",
        needs: &[
            Need::new(PROCESSES, 1),
            Need::new(THREADS, 1),
            Need::new(MAPPINGS, 2),
            Need::new(MEMORY, 40 << 10),
        ],
        is_accepted: false,
    },
    Kind {
        name: "mappings",
        needs: &[Need::new(MAPPINGS, 1), Need::new(MEMORY, 1 << 10)],
        is_accepted: false,
    },
    Kind {
        name: "watches",
        needs: &[Need::new(MEMORY, 1 << 10), Need::new(INOTIFY_WATCHES, 1)],
        is_accepted: false,
    },
    Kind {
        name: "inotify",
        needs: &[Need::new(DESCRIPTORS, 1), Need::new(INOTIFY_INSTANCES, 1)],
        is_accepted: false,
    },
];

/// More of anything is a mistake.
const COUNT_MOST: u64 = 10_000_000;
/// Connections that arrive before a server accepts the next: the largest backlog that our servers, or nginx,
/// request from listen(2).
const BACKLOG_MOST: u64 = 4096;

/// How many of what, of one kind or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDemand {
    /// Places in [`KINDS`], with how many.
    items: Vec<(usize, u64)>,
}

impl FromStr for MachineDemand {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<MachineDemand, Unreadable> {
        let mut demand = MachineDemand { items: Vec::new() };
        for part in text.split(',') {
            let (place, count) = item(part)?;
            if demand.items.iter().any(|(known, _)| *known == place) {
                return Err(Unreadable::new(part, format!("{} are asked for twice", KINDS[place].name)));
            }
            demand.items.push((place, count));
        }
        Ok(demand)
    }
}

fn item(text: &str) -> Result<(usize, u64), Unreadable> {
    let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let (name, count) = text.split_once('=').ok_or_else(|| {
        Unreadable::new(text, format!("write KIND=COUNT, such as connections=100000; kinds are {}", known()))
    })?;
    let place = KINDS.iter().position(|kind| kind.name == name.trim());
    let place =
        place.ok_or_else(|| Unreadable::new(name, format!("it is no kind; kinds are {}", known())))?;
    Ok((place, units::counts(1..=COUNT_MOST)(count.trim())?))
}

impl MachineDemand {
    /// The resources of all together.
    pub fn needs(&self) -> Vec<Need> {
        let mut all: Vec<Need> = Vec::new();
        for &(place, count) in &self.items {
            for one in KINDS[place].needs {
                let amount = count * one.amount;
                match all.iter_mut().find(|need| need.resource == one.resource) {
                    Some(need) => need.amount += amount,
                    None => all.push(Need { amount, ..*one }),
                }
            }
        }
        all
    }

    /// Connections that have to wait to be accepted, at most.
    pub fn backlog(&self) -> u64 {
        let accepted = self.items.iter().filter(|(place, _)| KINDS[*place].is_accepted);
        accepted.map(|(_, count)| *count).sum::<u64>().min(BACKLOG_MOST)
    }

    /// The kinds with their counts.
    pub fn items(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.items.iter().map(|&(place, count)| (KINDS[place].name, count))
    }
}

impl Serialize for MachineDemand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Item {
            kind: &'static str,
            count: u64,
        }
        serializer.collect_seq(self.items().map(|(kind, count)| Item { kind, count }))
    }
}

impl fmt::Display for MachineDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, count)) in self.items().enumerate() {
            let separator = if place == 0 { "" } else { " and " };
            write!(f, "{separator}{count} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_add_up() {
        let demand: MachineDemand = "connections=100k, threads=200".parse().unwrap();
        assert_eq!(demand.to_string(), "100000 connections and 200 threads");
        let needs = demand.needs();
        let amount = |resource| needs.iter().find(|need| need.resource == resource).unwrap().amount;
        assert_eq!([DESCRIPTORS, THREADS, MAPPINGS].map(amount), [100_000, 200, 400]);
        assert_eq!(amount(MEMORY), 100_000 * (9 << 10) + 200 * (40 << 10));
        assert_eq!(demand.backlog(), 4096);
        assert_eq!("connections=50".parse::<MachineDemand>().unwrap().backlog(), 50);
    }

    #[test]
    fn what_is_no_demand_is_refused_with_what_to_write() {
        for (text, says) in [
            ("", "write KIND=COUNT"),
            ("100000", "write KIND=COUNT"),
            ("conections=1", "kinds are connections, clients"),
            ("connections=", "write a number, such as 500 or 20k"),
            ("connections=-5", "write a number, such as 500 or 20k"),
            ("connections=+5", "write a number, such as 500 or 20k"),
            ("connections=1.5", "no whole number"),
            ("connections=k", "write a number, such as 500 or 20k"),
            ("connections=0", "from 1 to 10000000"),
            ("connections=11M", "from 1 to 10000000"),
            ("connections=99999999999999999999999", "from 1 to"),
            ("connections=1,connections=2", "asked for twice"),
            ("connections=1,", "write KIND=COUNT"),
        ] {
            let error = text.parse::<MachineDemand>().unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_what_it_prints_is_short(
            text in "\\PC{0,60}|[a-z]{0,12}=[0-9kM]{0,30}(,[a-z]+=[0-9]+)?",
        ) {
            match text.parse::<MachineDemand>() {
                Ok(demand) => prop_assert!(demand.items().all(|(_, count)| count <= COUNT_MOST)),
                Err(error) => prop_assert!(error.to_string().chars().count() < 250),
            }
        }
    }
}
