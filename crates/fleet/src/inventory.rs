//! Groups of hosts with variables, the patterns that select among them, and the command that leads to a host.

use std::collections::{BTreeMap, BTreeSet};

use wildmatch::WildMatch;

use crate::{NamedHost, names};

/// The group of all hosts.
const ALL: &str = "all";

/// An inventory.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    /// In their order.
    hosts: Vec<String>,
    known: BTreeSet<String>,
    variables: BTreeMap<String, BTreeMap<String, String>>,
    groups: BTreeMap<String, Group>,
}

/// A group.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) hosts: Vec<String>,
    pub(crate) children: Vec<String>,
    pub(crate) variables: BTreeMap<String, String>,
}

impl Inventory {
    /// Adds a host; one that is in several groups is one host.
    pub(crate) fn add_host(&mut self, name: &str) {
        if self.known.insert(name.to_owned()) {
            self.hosts.push(name.to_owned());
        }
    }

    /// The group of that name, which is made if need be.
    pub(crate) fn group(&mut self, name: &str) -> &mut Group {
        self.groups.entry(name.to_owned()).or_default()
    }

    /// Sets a variable of a host.
    pub(crate) fn set(&mut self, host: &str, key: &str, value: &str) {
        let own = self.variables.entry(host.to_owned()).or_default();
        own.insert(key.to_owned(), value.to_owned());
    }

    /// Its groups and its first hosts, for an error.
    pub(crate) fn known(&self) -> String {
        const SHOWN: usize = 8;
        let groups = self.groups.keys().map(String::as_str);
        let names: Vec<&str> = groups.chain(self.hosts.iter().map(String::as_str)).take(SHOWN).collect();
        let more = (self.groups.len() + self.hosts.len()).saturating_sub(names.len());
        match (names.is_empty(), more) {
            (true, _) => "no hosts".to_owned(),
            (false, 0) => names.join(", "),
            (false, more) => format!("{} and {more} more", names.join(", ")),
        }
    }

    /// The names of the hosts that a pattern selects. Terms stand between commas or colons: names, groups,
    /// globs and sets; `&TERM` keeps only those, and `!TERM` takes them out, as in Ansible.
    pub(crate) fn select(&self, pattern: &str) -> Result<BTreeSet<String>, String> {
        let terms: Vec<&str> = terms(pattern);
        let of_kind = |sign: char| terms.iter().filter_map(move |term| term.strip_prefix(sign));
        let plain: Vec<&&str> = terms.iter().filter(|term| !term.starts_with(['&', '!'])).collect();
        let mut chosen = BTreeSet::new();
        for term in &plain {
            chosen.append(&mut self.named(term)?);
        }
        if plain.is_empty() {
            chosen = self.known.clone();
        }
        for term in of_kind('&') {
            let kept = self.named(term)?;
            chosen.retain(|host| kept.contains(host));
        }
        for term in of_kind('!') {
            let out = self.named(term)?;
            chosen.retain(|host| !out.contains(host));
        }
        Ok(chosen)
    }

    /// The hosts of one term.
    fn named(&self, term: &str) -> Result<BTreeSet<String>, String> {
        if term == ALL {
            return Ok(self.known.clone());
        }
        if term.starts_with('~') {
            return Err(format!("{term}: regular expressions are not understood; use * and ?"));
        }
        if self.groups.contains_key(term) {
            return Ok(self.members(term, &mut BTreeSet::new()));
        }
        if term.contains('[') {
            let names: BTreeSet<String> = names::expand(term)?.into_iter().collect();
            return Ok(self.known.intersection(&names).cloned().collect());
        }
        let glob = WildMatch::new(term);
        let groups = self.groups.keys().filter(|group| glob.matches(group));
        let of_groups = groups.flat_map(|group| self.members(group, &mut BTreeSet::new()));
        let hosts = self.known.iter().filter(|host| glob.matches(host)).cloned();
        Ok(hosts.chain(of_groups).collect())
    }

    /// The hosts of a group and of all groups in it. One that holds itself is entered once.
    fn members<'a>(&'a self, group: &'a str, entered: &mut BTreeSet<&'a str>) -> BTreeSet<String> {
        if !entered.insert(group) {
            return BTreeSet::new();
        }
        let Some(own) = self.groups.get(group) else { return BTreeSet::new() };
        let mut hosts: BTreeSet<String> = own.hosts.iter().cloned().collect();
        for child in &own.children {
            hosts.append(&mut self.members(child, entered));
        }
        hosts
    }

    /// These hosts, each with the command that leads there, in the order of the inventory.
    pub(crate) fn hosts(&self, names: &BTreeSet<String>) -> Result<Vec<NamedHost>, String> {
        let depths = self.depths();
        let host = |name: &String| {
            let variables = self.variables_of(name, &depths);
            command(name, &variables).map(|command| NamedHost { name: name.clone(), command })
        };
        self.hosts.iter().filter(|name| names.contains(*name)).map(host).collect()
    }

    /// How deep each group lies within others: variables of inner groups win.
    fn depths(&self) -> BTreeMap<&str, usize> {
        let mut depths: BTreeMap<&str, usize> =
            self.groups.keys().map(|name| (name.as_str(), usize::from(name != ALL))).collect();
        // A circle of groups would deepen without an end.
        for _ in 0..self.groups.len() {
            let mut is_changed = false;
            for (name, group) in &self.groups {
                let inner = depths.get(name.as_str()).copied().unwrap_or(0) + 1;
                for child in &group.children {
                    if let Some(depth) = depths.get_mut(child.as_str()).filter(|depth| **depth < inner) {
                        (*depth, is_changed) = (inner, true);
                    }
                }
            }
            if !is_changed {
                break;
            }
        }
        depths
    }

    fn variables_of(&self, host: &str, depths: &BTreeMap<&str, usize>) -> BTreeMap<&str, &str> {
        let is_of = |group: &&str| *group == ALL || self.members(group, &mut BTreeSet::new()).contains(host);
        let mut groups: Vec<&str> = depths.keys().copied().filter(is_of).collect();
        groups.sort_by_key(|group| (depths.get(group), *group));
        let of_groups =
            groups.iter().filter_map(|group| self.groups.get(*group)).map(|group| &group.variables);
        let all = of_groups.chain(self.variables.get(host));
        all.flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }
}

/// The terms of a pattern; a colon within brackets belongs to a range.
fn terms(pattern: &str) -> Vec<&str> {
    let of_part = |part: &'_ str| -> Vec<(usize, usize)> {
        let (mut cuts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
        for (place, letter) in part.char_indices() {
            match letter {
                '[' => depth += 1,
                ']' => depth -= 1,
                ':' if depth <= 0 => {
                    cuts.push((start, place));
                    start = place + 1;
                }
                _ => {}
            }
        }
        cuts.push((start, part.len()));
        cuts
    };
    let parts = names::split(pattern).into_iter();
    let terms = parts.flat_map(|part| of_part(part).into_iter().map(move |(from, to)| &part[from..to]));
    terms.map(str::trim).filter(|term| !term.is_empty()).collect()
}

/// Waits for nothing that only a person could enter, and notices a host that is gone.
const SSH: [&str; 9] = [
    "ssh",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
];

/// A host that ssh(1) knows by its name.
pub(crate) fn by_ssh(name: String) -> NamedHost {
    let command = SSH.iter().copied().chain([name.as_str()]).map(str::to_owned).collect();
    NamedHost { command, name }
}

/// The command that leads to a host with these variables (Ansible, "Connecting to hosts: behavioral inventory
/// parameters"), or that in `osdyno_command`.
fn command(name: &str, variables: &BTreeMap<&str, &str>) -> Result<Vec<String>, String> {
    let get = |keys: &[&str]| -> Result<Option<&str>, String> {
        let Some((key, value)) = keys.iter().find_map(|key| variables.get_key_value(key)) else {
            return Ok(None);
        };
        match value.contains("{{") {
            true => Err(format!("{key} of {name} is a template, {value}; write its value")),
            false => Ok(Some(*value).filter(|value| !value.is_empty())),
        }
    };
    let words_of = |key: &str| -> Result<Vec<String>, String> {
        let words = get(&[key])?.map_or(Some(Vec::new()), shlex::split);
        words.ok_or_else(|| format!("{key} of {name}: a quotation mark is not closed"))
    };
    let own = words_of("osdyno_command")?;
    if !own.is_empty() {
        return Ok(own.iter().map(|word| word.replace("{}", name)).collect());
    }
    let mut words: Vec<String> = match get(&["ansible_connection"])? {
        Some("local") => Vec::new(),
        None | Some("ssh" | "smart" | "paramiko") => {
            let mut words: Vec<String> = SSH.map(str::to_owned).to_vec();
            words.extend(words_of("ansible_ssh_common_args")?);
            words.extend(words_of("ansible_ssh_extra_args")?);
            let options = [
                ("-p", get(&["ansible_port", "ansible_ssh_port"])?),
                ("-l", get(&["ansible_user", "ansible_ssh_user"])?),
                ("-i", get(&["ansible_ssh_private_key_file", "ansible_private_key_file"])?),
            ];
            for (option, value) in options {
                words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value.to_owned()]));
            }
            words.push(get(&["ansible_host", "ansible_ssh_host"])?.unwrap_or(name).to_owned());
            words
        }
        Some(engine @ ("docker" | "podman")) => {
            let container = get(&["ansible_host"])?.unwrap_or(name);
            [engine, "exec", "-i", container].map(str::to_owned).to_vec()
        }
        Some(other) => {
            return Err(format!("ansible_connection={other} of {name} is not known; set osdyno_command"));
        }
    };
    let becomes = get(&["ansible_become"])?
        .is_some_and(|value| ["true", "yes", "1", "on"].contains(&value.to_ascii_lowercase().as_str()));
    if becomes {
        words.extend(["sudo", "-n"].map(str::to_owned));
    }
    Ok(words)
}
