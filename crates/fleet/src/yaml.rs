//! Inventories of Ansible in YAML form, and the JSON that `ansible-inventory --list` prints, which is YAML
//! too.

use std::path::Path;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::inventory::Inventory;
use crate::lines::{WrongLine, meant};

/// A value. Keys of a mapping are in their order.
enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

/// Nothing is nested as deep.
const DEPTH_MAX: usize = 64;

/// Whether a file is YAML and not INI: by its name, or else by its first line.
pub(crate) fn is_yaml(file: &Path, text: &str) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let begins = |line: &str| line.starts_with("---") || line.starts_with('{') || line.ends_with(':');
    matches!(extension, "yml" | "yaml" | "json") || meant(text).next().is_some_and(|(_, line)| begins(line))
}

/// Reads an inventory.
pub(crate) fn read(text: &str) -> Result<Inventory, WrongLine> {
    let mut inventory = Inventory::default();
    match document(text)? {
        Some(Node::Map(groups)) => {
            let facts = groups.iter().find(|(name, _)| name == "_meta").map(|(_, meta)| meta);
            for (name, group) in groups.iter().filter(|(name, _)| name != "_meta") {
                add_group(&mut inventory, name, group, 0).map_err(|reason| (1, reason))?;
            }
            facts
                .and_then(|meta| meta.get("hostvars"))
                .into_iter()
                .for_each(|hosts| set(&mut inventory, hosts));
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
            for host in crate::names::expand(&set)? {
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

/// The variables of hosts in `_meta`.
fn set(inventory: &mut Inventory, hosts: &Node) {
    for (host, variables) in hosts.entries() {
        for (key, value) in variables.entries() {
            inventory.set(host, key, value.text().unwrap_or(""));
        }
    }
}

/// A plain scalar that stands for nothing (YAML 1.2, 10.3.2).
fn is_null(text: &str) -> bool {
    matches!(text, "~" | "null" | "Null" | "NULL")
}

/// A collection that is not closed yet.
enum Open {
    List(Vec<Node>),
    /// With the key that waits for its value.
    Map(Vec<(String, Node)>, Option<String>),
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
