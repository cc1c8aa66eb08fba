//! Inventories of Ansible: in INI form, in YAML form, and as ansible-inventory(1) reads them, which knows
//! every kind and prints JSON, which is YAML too.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::BYTES_MAX;
use crate::inventory::Inventory;
use crate::names::{WrongLine, expand, meant};

/// A dynamic inventory asks a cloud, which may take a while.
const TIME_MAX: Duration = Duration::from_secs(120);
/// So many letters of its errors are shown.
const SHOWN: usize = 400;

/// Hosts before the first section belong to this group.
const UNGROUPED: &str = "ungrouped";

/// Nothing is nested as deep.
const DEPTH_MAX: usize = 64;

/// The inventory as Ansible reads it; `None` where it is not installed.
pub(crate) fn list(file: &Path) -> Option<Result<Inventory, String>> {
    let mut command = Command::new("ansible-inventory");
    command.arg("-i").arg(file).arg("--list").stdin(Stdio::null());
    // A part that cannot be read is a warning there, and a fleet that is smaller than the user believes here.
    command.env("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "true");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("cannot execute ansible-inventory: {error}"))),
    };
    let (sender, outputs) = channel();
    let pipes = [
        child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    for (place, pipe) in pipes.into_iter().enumerate() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // An output that ends early is no inventory, which the parser says.
            let _ = pipe.map(|pipe| pipe.take(BYTES_MAX).read_to_end(&mut bytes));
            let _ = sender.send((place, bytes));
        });
    }
    let mut texts = [String::new(), String::new()];
    for _ in 0..texts.len() {
        let Ok((place, bytes)) = outputs.recv_timeout(TIME_MAX) else {
            let _ = child.kill();
            let _ = child.wait();
            return Some(Err(format!("ansible-inventory did not end within {} s", TIME_MAX.as_secs())));
        };
        texts[place] = String::from_utf8_lossy(&bytes).into_owned();
    }
    let [list, errors] = texts;
    let is_done = child.wait().is_ok_and(|status| status.success());
    Some(match is_done {
        true => read_yaml(&list).map_err(|(line, reason)| {
            format!("ansible-inventory printed a list that cannot be read, line {line}: {reason}")
        }),
        false => Err(format!("ansible-inventory refuses it: {}", shortened(errors.trim()))),
    })
}

fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(SHOWN).collect()
}

/// The kind of a section.
#[derive(Clone, Copy)]
enum Section {
    Hosts,
    Variables,
    Children,
}

/// Reads an inventory in INI form: hosts with `key=value`, `[group]`, `[group:vars]`, `[group:children]`.
pub(crate) fn read_ini(text: &str) -> Result<Inventory, WrongLine> {
    let mut inventory = Inventory::default();
    let (mut group, mut section) = (UNGROUPED.to_owned(), Section::Hosts);
    for (number, line) in meant(text) {
        let wrong = |reason: String| (number, reason);
        if let Some(header) = line.strip_prefix('[') {
            let (name, kind) = header_of(header).map_err(wrong)?;
            (group, section) = (name.to_owned(), kind);
            inventory.group(&group);
            continue;
        }
        match section {
            Section::Hosts => add_hosts(&mut inventory, &group, line).map_err(wrong)?,
            Section::Variables => {
                let (key, value) = line.split_once('=').ok_or_else(|| wrong("there is no = in it".into()))?;
                let value = unquoted(value.trim());
                inventory.group(&group).variables.insert(key.trim().to_owned(), value);
            }
            Section::Children => {
                let child = line.split_whitespace().next().unwrap_or(line).to_owned();
                inventory.group(&child);
                inventory.group(&group).children.push(child);
            }
        }
    }
    Ok(inventory)
}

fn header_of(header: &str) -> Result<(&str, Section), String> {
    let name = header.split_once(']').map(|(name, _)| name.trim());
    let name = name.filter(|name| !name.is_empty()).ok_or("a section is written [NAME]")?;
    match name.split_once(':') {
        None => Ok((name, Section::Hosts)),
        Some((name, "vars")) => Ok((name, Section::Variables)),
        Some((name, "children")) => Ok((name, Section::Children)),
        Some((_, other)) => Err(format!("there is no section :{other}; there are :vars and :children")),
    }
}

/// `n[1:40] ansible_user=bench`: values are quoted as in a shell.
fn add_hosts(inventory: &mut Inventory, group: &str, line: &str) -> Result<(), String> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line);
    let words = shlex::split(line).ok_or("a quotation mark is not closed")?;
    let (set, variables) = words.split_first().ok_or("the name is missing")?;
    for name in expand(set)? {
        inventory.add_host(&name);
        inventory.group(group).hosts.push(name.clone());
        for variable in variables {
            let (key, value) =
                variable.split_once('=').ok_or_else(|| format!("{variable} is no KEY=VALUE of {name}"))?;
            inventory.set(&name, key, value);
        }
    }
    Ok(())
}

fn unquoted(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(value).to_owned()
}

/// A value. Keys of a mapping are in their order.
enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// A collection that is not closed yet.
enum Open {
    List(Vec<Node>),
    /// With the key that waits for its value.
    Map(Vec<(String, Node)>, Option<String>),
}

/// Whether a file is YAML and not INI: by its name, or else by its first line.
pub(crate) fn is_yaml(file: &Path, text: &str) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let begins = |line: &str| line.starts_with("---") || line.starts_with('{') || line.ends_with(':');
    matches!(extension, "yml" | "yaml" | "json") || meant(text).next().is_some_and(|(_, line)| begins(line))
}

/// Reads an inventory in YAML form.
pub(crate) fn read_yaml(text: &str) -> Result<Inventory, WrongLine> {
    let mut inventory = Inventory::default();
    match document(text)? {
        Some(Node::Map(groups)) => {
            let facts = groups.iter().find(|(name, _)| name == "_meta").map(|(_, meta)| meta);
            for (name, group) in groups.iter().filter(|(name, _)| name != "_meta") {
                add_group(&mut inventory, name, group, 0).map_err(|reason| (1, reason))?;
            }
            // The variables of hosts.
            for (host, variables) in
                facts.and_then(|meta| meta.get("hostvars")).map_or(&[][..], Node::entries)
            {
                for (key, value) in variables.entries() {
                    inventory.set(host, key, value.text().unwrap_or(""));
                }
            }
            Ok(inventory)
        }
        _ => Err((1, "it is no mapping of groups, such as `all: {hosts: {n1: }}`".to_owned())),
    }
}

impl Node {
    fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The keys of a mapping, or the texts of a list.
    fn names(&self) -> Vec<String> {
        match self {
            Node::Map(entries) => entries.iter().map(|(name, _)| name.clone()).collect(),
            Node::List(items) => items.iter().filter_map(Node::text).map(str::to_owned).collect(),
            Node::Text(_) => Vec::new(),
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }
}

fn add_group(inventory: &mut Inventory, name: &str, node: &Node, depth: usize) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("groups are nested more than {DEPTH_MAX} deep"));
    }
    inventory.group(name);
    if let Some(hosts) = node.get("hosts") {
        for set in hosts.names() {
            for host in expand(&set)? {
                inventory.add_host(&host);
                inventory.group(name).hosts.push(host.clone());
                let own = hosts.get(&set).map_or(&[][..], Node::entries);
                own.iter().for_each(|(key, value)| inventory.set(&host, key, value.text().unwrap_or("")));
            }
        }
    }
    for (key, value) in node.get("vars").map_or(&[][..], Node::entries) {
        let value = value.text().unwrap_or("").to_owned();
        inventory.group(name).variables.insert(key.clone(), value);
    }
    if let Some(children) = node.get("children") {
        for child in children.names() {
            inventory.group(name).children.push(child.clone());
            match children.get(&child) {
                Some(node) => add_group(inventory, &child, node, depth + 1)?,
                None => drop(inventory.group(&child)),
            }
        }
    }
    Ok(())
}

/// A plain scalar that stands for nothing (YAML 1.2, 10.3.2).
fn is_null(text: &str) -> bool {
    matches!(text, "~" | "null" | "Null" | "NULL")
}

/// The first document of a text.
fn document(text: &str) -> Result<Option<Node>, WrongLine> {
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
        let line = span.start.line();
        let node = match event {
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                None
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                None
            }
            Event::Scalar(text, ScalarStyle::Plain, ..) if is_null(&text) => Some(Node::Text(String::new())),
            Event::Scalar(text, ..) => Some(Node::Text(text.into_owned())),
            Event::Alias(_) => {
                return Err((line, "aliases (*name) are read by ansible-inventory(1) only".to_owned()));
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(Open::List(items)) => Some(Node::List(items)),
                Some(Open::Map(entries, _)) => Some(Node::Map(entries)),
                None => None,
            },
            Event::DocumentEnd => break,
            _ => None,
        };
        if open.len() > DEPTH_MAX {
            return Err((line, format!("it is nested more than {DEPTH_MAX} deep")));
        }
        if let Some(node) = node {
            match open.last_mut() {
                None => root = Some(node),
                Some(Open::List(items)) => items.push(node),
                Some(Open::Map(entries, key)) => match (key.take(), node) {
                    (Some(key), value) => entries.push((key, value)),
                    (None, Node::Text(name)) => *key = Some(name),
                    (None, _) => return Err((line, "a key is no text".to_owned())),
                },
            }
        }
    }
    Ok(root)
}
