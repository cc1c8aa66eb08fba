//! The hosts of a fleet, as a user names them: an inventory of Ansible, lines `NAME=COMMAND`, or a set of
//! names with one command for all.
//!
//! | form | module |
//! |---|---|
//! | `n[01-40,50]`, `n[1-40]=srun -u -w {}`, and the lines of a file | `names` |
//! | INI, YAML, and the JSON of `ansible-inventory --list` | `ansible` |
//! | groups, variables and patterns of an inventory | `inventory` |
//!
//! osdyno has no transport and no scheduler of its own: a host is a command that leads there, such as
//! `ssh n1`. Where ansible-inventory(1) is installed, it reads inventories in place of this crate, so plugins
//! and scripts work.
//!
//! Must never: connect to a host, or execute anything but ansible-inventory(1).

#![forbid(unsafe_code)]

mod ansible;
mod inventory;
mod names;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use inventory::Inventory;

/// A host of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedHost {
    /// Its name, which no other host of the fleet has.
    pub name: String,
    /// The words of the command that leads there; none for this machine.
    pub command: Vec<String>,
}

impl NamedHost {
    /// The command with further words, to be executed there. ssh(1) joins its words for a shell there, which
    /// splits them again, so they are quoted for it, also behind a command such as `timeout 9 ssh n1`; other
    /// commands pass words on as they are.
    pub fn command_of(&self, words: &[String]) -> Vec<String> {
        let is_read_by_shell = self.is_behind_ssh();
        let word = |word: &String| match is_read_by_shell {
            true => shlex::try_quote(word).map_or_else(|_| word.clone(), |quoted| quoted.into_owned()),
            false => word.clone(),
        };
        self.command.iter().cloned().chain(words.iter().map(word)).collect()
    }

    /// Whether ssh(1) leads there, so that it is another machine.
    pub fn is_behind_ssh(&self) -> bool {
        let is_ssh = |word: &String| Path::new(word).file_name().is_some_and(|program| program == "ssh");
        self.command.iter().any(is_ssh)
    }
}

/// Why there is no fleet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is in none of the forms.
    #[error(
        "{text} is no file, and no set of hosts with a command, such as 'n[1-40]=ssh {{}}'; write FILE, \
         FILE:PATTERN or NAMES=COMMAND"
    )]
    NoFleet {
        /// The text.
        text: String,
    },
    /// The file cannot be read.
    #[error("cannot read the inventory {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of the file is wrong.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, the first is 1.
        line: usize,
        /// The fault, and its remedy.
        reason: String,
    },
    /// The inventory as a whole is wrong.
    #[error("{text}: {reason}")]
    Content {
        /// The inventory.
        text: String,
        /// The fault, and its remedy.
        reason: String,
    },
    /// A name stands for two hosts.
    #[error("{text}: two hosts are called {name}; give each a name of its own, by which results are known")]
    Twice {
        /// The inventory.
        text: String,
        /// The name.
        name: String,
    },
    /// The pattern selects no host.
    #[error("{text}: {pattern} selects no host; there are {known}")]
    NoMatch {
        /// The inventory.
        text: String,
        /// The pattern.
        pattern: String,
        /// The first hosts and groups.
        known: String,
    },
}

/// No inventory is as long.
const BYTES_MAX: u64 = 64 << 20;

/// The hosts that `FILE`, `FILE:PATTERN` or `NAMES=COMMAND` stands for, in the order given.
///
/// # Errors
/// [`Error`].
pub fn hosts(text: &str) -> Result<Vec<NamedHost>, Error> {
    let hosts = match split(text) {
        Some((file, pattern)) => of_file(file, pattern)?,
        None => match text.split_once('=') {
            Some((names, command)) => names::of_set(names, command).map_err(content(text))?,
            None => return Err(Error::NoFleet { text: text.to_owned() }),
        },
    };
    unique(hosts, text)
}

/// The hosts of lists such as `n1,n[2-4],here=`: a name alone is one that ssh(1) knows.
///
/// # Errors
/// [`Error`].
pub fn listed(lists: &[impl AsRef<str>]) -> Result<Vec<NamedHost>, Error> {
    let mut hosts = Vec::new();
    for item in lists.iter().flat_map(|list| names::split(list.as_ref())) {
        let own = match item.split_once('=') {
            None => names::expand(item).map(|names| names.into_iter().map(inventory::by_ssh).collect()),
            Some((names, command)) => names::of_set(names, command),
        };
        hosts.extend(own.map_err(content(item))?);
    }
    let lists: Vec<&str> = lists.iter().map(AsRef::as_ref).collect();
    unique(hosts, &lists.join(","))
}

/// Those of the hosts that a pattern selects: names, globs and sets such as `n[1-4]`, with commas between
/// them.
///
/// # Errors
/// [`Error::NoMatch`], and sets that cannot be read.
pub fn select<'h>(hosts: &'h [NamedHost], pattern: &str) -> Result<Vec<&'h NamedHost>, Error> {
    let mut inventory = Inventory::default();
    hosts.iter().for_each(|host| inventory.add_host(&host.name));
    let names = inventory.select(pattern).map_err(content(pattern))?;
    let chosen: Vec<&NamedHost> = hosts.iter().filter(|host| names.contains(&host.name)).collect();
    match chosen.is_empty() {
        true => Err(no_match("the fleet", pattern, &inventory)),
        false => Ok(chosen),
    }
}

/// The hosts that a pattern selects in an inventory of this content, as [`hosts`] reads a file without
/// ansible-inventory(1).
///
/// # Errors
/// [`Error`].
pub fn read(content: &str, is_yaml: bool, pattern: &str) -> Result<Vec<NamedHost>, Error> {
    let on_line = |(line, reason)| Error::Line { path: PathBuf::from("inventory"), line, reason };
    let inventory = if is_yaml { ansible::read_yaml(content) } else { ansible::read_ini(content) };
    chosen(&inventory.map_err(on_line)?, pattern, "inventory")
}

/// The file and the pattern of a text, if there is such a file.
fn split(text: &str) -> Option<(&Path, &str)> {
    if Path::new(text).exists() {
        return Some((Path::new(text), "all"));
    }
    let cut = |(place, _): (usize, _)| (Path::new(&text[..place]), &text[place + 1..]);
    text.match_indices(':').map(cut).find(|(file, _)| !file.as_os_str().is_empty() && file.exists())
}

fn of_file(file: &Path, pattern: &str) -> Result<Vec<NamedHost>, Error> {
    let text = file.display().to_string();
    let content_of = content(&text);
    // A folder and a script are inventories that only Ansible reads.
    if file.is_dir() || is_executable(file) {
        let inventory = ansible::list(file).unwrap_or_else(|| {
            Err("it is a folder or a script, which only ansible-inventory(1) reads; install ansible-core"
                .into())
        });
        return chosen(&inventory.map_err(content_of)?, pattern, &text);
    }
    let read = |source| Error::Read { path: file.to_owned(), source };
    if fs::metadata(file).map_err(read)?.len() > BYTES_MAX {
        return Err(content_of("it has more than 64 MiB".to_owned()));
    }
    let bytes = fs::read(file).map_err(read)?;
    let inventory = String::from_utf8(bytes).map_err(|_| content_of("it is not UTF-8".to_owned()))?;
    let on_line = |(line, reason)| Error::Line { path: file.to_owned(), line, reason };
    if names::are_commands(&inventory) {
        let hosts = unique(names::read_commands(&inventory).map_err(on_line)?, &text)?;
        return Ok(select(&hosts, pattern)?.into_iter().cloned().collect());
    }
    let inventory = match ansible::list(file) {
        Some(inventory) => inventory.map_err(content_of)?,
        None if ansible::is_yaml(file, &inventory) => ansible::read_yaml(&inventory).map_err(on_line)?,
        None => ansible::read_ini(&inventory).map_err(on_line)?,
    };
    chosen(&inventory, pattern, &text)
}

/// The hosts of an inventory that the pattern selects.
fn chosen(inventory: &Inventory, pattern: &str, text: &str) -> Result<Vec<NamedHost>, Error> {
    let names = inventory.select(pattern).map_err(content(text))?;
    if names.is_empty() {
        return Err(no_match(text, pattern, inventory));
    }
    inventory.hosts(&names).map_err(content(text))
}

fn no_match(text: &str, pattern: &str, inventory: &Inventory) -> Error {
    Error::NoMatch { text: text.to_owned(), pattern: pattern.to_owned(), known: inventory.known() }
}

fn content(text: &str) -> impl Fn(String) -> Error + '_ {
    move |reason| Error::Content { text: text.to_owned(), reason }
}

/// These hosts, if no name is there twice.
fn unique(hosts: Vec<NamedHost>, text: &str) -> Result<Vec<NamedHost>, Error> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    hosts.iter().for_each(|host| *counts.entry(&host.name).or_default() += 1);
    let twice = counts.iter().find(|(_, count)| **count > 1).map(|(name, _)| name.to_string());
    match twice {
        Some(name) => Err(Error::Twice { text: text.to_owned(), name }),
        None => Ok(hosts),
    }
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}
