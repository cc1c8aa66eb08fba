//! Inventories of Ansible in INI form: hosts with `key=value`, `[group]`, `[group:vars]`, `[group:children]`.

use crate::inventory::Inventory;
use crate::lines::{WrongLine, meant};
use crate::names;

/// The kind of a section.
#[derive(Clone, Copy)]
enum Section {
    Hosts,
    Variables,
    Children,
}

/// Hosts before the first section belong to this group.
const UNGROUPED: &str = "ungrouped";

/// Reads an inventory.
pub(crate) fn read(text: &str) -> Result<Inventory, WrongLine> {
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
            Section::Hosts => host(&mut inventory, &group, line).map_err(wrong)?,
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
fn host(inventory: &mut Inventory, group: &str, line: &str) -> Result<(), String> {
    let line = line.split_once(" #").map_or(line, |(line, _)| line);
    let words = shlex::split(line).ok_or("a quotation mark is not closed")?;
    let (set, variables) = words.split_first().ok_or("the name is missing")?;
    for name in names::expand(set)? {
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
