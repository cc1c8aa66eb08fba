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
            chosen.append(&mut self.matched(term)?);
        }
        if plain.is_empty() {
            chosen = self.known.clone();
        }
        for term in of_kind('&') {
            let kept = self.matched(term)?;
            chosen.retain(|host| kept.contains(host));
        }
        for term in of_kind('!') {
            let out = self.matched(term)?;
            chosen.retain(|host| !out.contains(host));
        }
        Ok(chosen)
    }

    /// The hosts of one term, which is misspelled if there are none: another fleet would be measured than the
    /// user means.
    fn matched(&self, term: &str) -> Result<BTreeSet<String>, String> {
        let hosts = self.named(term)?;
        match hosts.is_empty() && term != ALL && !self.groups.contains_key(term) {
            true => Err(format!("no host and no group matches {term}; there are {}", self.known())),
            false => Ok(hosts),
        }
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
            return Ok(self.members(term));
        }
        if term.contains('[') {
            let names: BTreeSet<String> = names::expand(term)?.into_iter().collect();
            return match names.difference(&self.known).next() {
                Some(unknown) => {
                    Err(format!("{term}: there is no host {unknown}; there are {}", self.known()))
                }
                None => Ok(names),
            };
        }
        let glob = WildMatch::new(term);
        let groups = self.groups.keys().filter(|group| glob.matches(group));
        let of_groups = groups.flat_map(|group| self.members(group));
        let hosts = self.known.iter().filter(|host| glob.matches(host)).cloned();
        Ok(hosts.chain(of_groups).collect())
    }

    /// The hosts of a group and of all groups in it. One that holds itself is entered once.
    fn members(&self, group: &str) -> BTreeSet<String> {
        let (mut hosts, mut entered, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![group]);
        while let Some(name) = open.pop() {
            let Some(own) = self.groups.get(name).filter(|_| entered.insert(name)) else { continue };
            hosts.extend(own.hosts.iter().cloned());
            open.extend(own.children.iter().map(String::as_str));
        }
        hosts
    }

    /// These hosts, each with the command that leads there, in the order of the inventory.
    pub(crate) fn hosts(&self, names: &BTreeSet<String>) -> Result<Vec<NamedHost>, String> {
        let nesting = Nesting::new(self);
        let host = |name: &String| {
            let variables = self.variables_of(name, &nesting);
            command(name, &variables).map(|command| NamedHost { name: name.clone(), command })
        };
        self.hosts.iter().filter(|name| names.contains(*name)).map(host).collect()
    }

    /// The variables of a host: its own win over those of its groups, and inner groups over outer ones.
    fn variables_of<'a>(&'a self, host: &str, nesting: &Nesting<'a>) -> BTreeMap<&'a str, &'a str> {
        let mut groups: Vec<&str> = nesting.around(host).into_iter().collect();
        groups.sort_by_key(|group| (nesting.depths.get(group), *group));
        let of_groups =
            groups.iter().filter_map(|group| self.groups.get(*group)).map(|group| &group.variables);
        let all = of_groups.chain(self.variables.get(host));
        all.flatten().map(|(key, value)| (key.as_str(), value.as_str())).collect()
    }
}

/// How groups lie within each other.
struct Nesting<'a> {
    /// By host, the groups that name it.
    of_hosts: BTreeMap<&'a str, Vec<&'a str>>,
    /// By group, those that it is in.
    of_groups: BTreeMap<&'a str, Vec<&'a str>>,
    /// How deep each group lies within others.
    depths: BTreeMap<&'a str, usize>,
}

/// Groups that are nested deeper count as equally deep: a circle of groups would deepen without an end.
const DEPTH_MAX: usize = 64;

impl<'a> Nesting<'a> {
    fn new(inventory: &'a Inventory) -> Nesting<'a> {
        let (mut of_hosts, mut of_groups) = (BTreeMap::new(), BTreeMap::new());
        for (name, group) in &inventory.groups {
            let add = |map: &mut BTreeMap<&'a str, Vec<&'a str>>, names: &'a [String]| {
                names.iter().for_each(|inner| map.entry(inner).or_default().push(name.as_str()));
            };
            add(&mut of_hosts, &group.hosts);
            add(&mut of_groups, &group.children);
        }
        let first = inventory.groups.keys().map(|name| (name.as_str(), usize::from(name != ALL)));
        let mut depths: BTreeMap<&str, usize> = first.collect();
        for _ in 0..DEPTH_MAX {
            for (name, group) in &inventory.groups {
                let inner = depths.get(name.as_str()).map_or(0, |depth| depth + 1).min(DEPTH_MAX);
                for child in &group.children {
                    if let Some(depth) = depths.get_mut(child.as_str()) {
                        *depth = inner.max(*depth);
                    }
                }
            }
        }
        Nesting { of_hosts, of_groups, depths }
    }

    /// All groups that a host is in, and that of all hosts.
    fn around(&self, host: &str) -> BTreeSet<&'a str> {
        let (mut groups, mut open) = (BTreeSet::new(), vec![ALL]);
        open.extend(self.of_hosts.get(host).into_iter().flatten());
        while let Some(group) = open.pop() {
            if groups.insert(group) {
                open.extend(self.of_groups.get(group).into_iter().flatten());
            }
        }
        groups
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
    // A collection may stand before it, as in `ansible.builtin.ssh`.
    let connection = get(&["ansible_connection"])?.map(|name| name.rsplit('.').next().unwrap_or(name));
    let address = get(&["ansible_host", "ansible_ssh_host"])?.unwrap_or(name);
    if address.starts_with('-') {
        return Err(format!("ansible_host of {name} is no address: {address}"));
    }
    let mut words: Vec<String> = match connection {
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
            words.push(address.to_owned());
            words
        }
        Some(engine @ ("docker" | "podman")) => [engine, "exec", "-i", address].map(str::to_owned).to_vec(),
        Some(other) => {
            return Err(format!("ansible_connection={other} of {name} is not known; set osdyno_command"));
        }
    };
    let becomes = get(&["ansible_become"])?
        .is_some_and(|value| ["true", "yes", "1", "on"].contains(&value.to_ascii_lowercase().as_str()));
    if becomes {
        if let Some(method) = get(&["ansible_become_method"])?.filter(|method| *method != "sudo") {
            return Err(format!("ansible_become_method={method} of {name} is not known; set osdyno_command"));
        }
        words.extend(["sudo", "-n"].map(str::to_owned));
        let user = get(&["ansible_become_user"])?;
        words.extend(user.into_iter().flat_map(|user| ["-u".to_owned(), user.to_owned()]));
    }
    Ok(words)
}
