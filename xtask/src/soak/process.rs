//! Processes and their children, from /proc.

use std::collections::BTreeMap;
use std::fs;

/// A process, which a later one with the same number is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    started: u64,
}

impl Process {
    /// Whether it has not ended.
    pub(super) fn is_alive(&self) -> bool {
        stat(self.id).is_some_and(|stat| stat.started == self.started && !stat.is_zombie)
    }
}

struct Stat {
    parent: u32,
    is_zombie: bool,
    started: u64,
}

fn stat(process: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// proc_pid_stat(5): state and parent come right behind the name, and the time of the start is field 22.
fn parse_stat(line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        is_zombie: *fields.first()? == "Z",
        started: fields.get(19)?.parse().ok()?,
    })
}

/// A process and all below it, without those that have ended.
pub(super) fn descendants(root: u32) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: BTreeMap<u32, Stat> = numbers.filter_map(|number| Some((number, stat(number)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|(_, stat)| stat.parent == parent).map(|(number, _)| *number));
        next += 1;
    }
    let alive = found.into_iter().filter_map(|id| Some((id, all.get(&id)?)));
    alive
        .filter(|(_, stat)| !stat.is_zombie)
        .map(|(id, stat)| Process { id, started: stat.started })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = "7 (a) b) Z 3 7 7 0 -1 4 0 0 0 0 1 2 0 0 20 0 1 0 4711 0 0";
        let stat = parse_stat(line).expect("a line");
        assert_eq!((stat.parent, stat.is_zombie, stat.started), (3, true, 4711));
    }
}
