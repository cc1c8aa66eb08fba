//! Raises the settings of a system that are too low for a demand, and puts them back.
//!
//! Only settings that [`doctor`](crate::doctor) named are changed. The old values are written and synced
//! before the first change, so they can be put back however the program ends. A value that is neither the old
//! nor the new one was set by another program or user, and stays.

mod undo;

use std::io;
use std::path::{Path, PathBuf};

use report::document::{Document, Section, Table, Text, Tone};
use serde::{Deserialize, Serialize};

use crate::doctor::{MachineDemand, SettingKind, Shortfall, value, wanted_by};

pub use undo::{UndoRecord, Undone, UndoneChange, undo};

/// Why nothing was changed, or why changes were taken back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The setting cannot be read.
    #[error("cannot read {name}: {source}; nothing was changed")]
    Read {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Not everything that is to be changed may be changed.
    #[error(
        "this process may not change {name}; run it as root, on the host where this is a container; nothing \
         was changed"
    )]
    NotPermitted {
        /// Its name.
        name: String,
    },
    /// The record of old values could not be written.
    #[error("cannot write the old values to {}: {source}; nothing was changed", path.display())]
    Unwritten {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A change failed, and those before it were taken back.
    #[error("cannot set {name} to {value}: {reason}; {taken_back}")]
    Change {
        /// Its name.
        name: String,
        /// The value that was to be set.
        value: String,
        /// Why.
        reason: String,
        /// The results of the changes before it.
        taken_back: String,
    },
    /// The record cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unread {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no record of old values.
    #[error("{} is no record of `osdyno tune --apply`: {reason}; nothing was changed", path.display())]
    NoRecord {
        /// Its path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The settings of the network in the record are those of another network namespace.
    #[error(
        "{} holds settings of another network namespace ({there}, here {here}), or of a boot before; run \
         it where --apply ran; nothing was changed", path.display()
    )]
    OtherNamespace {
        /// Its path.
        path: PathBuf,
        /// The namespace of the record.
        there: String,
        /// The namespace of this process.
        here: String,
    },
}

/// One setting that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingChange {
    /// Its name.
    pub name: String,
    /// Value now, and afterwards.
    pub before: String,
    /// See `before`.
    pub after: String,
}

/// A change and the reason for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedChange {
    /// The change.
    #[serde(flatten)]
    pub change: SettingChange,
    /// Limit that is too low.
    pub why: Shortfall,
}

/// The plan: changes, and limits that cannot be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct TunePlan {
    /// The changes.
    pub changes: Vec<PlannedChange>,
    /// Shortfalls that are none of the system's settings: a process inherits its limits, and memory is
    /// bought.
    pub left: Vec<Shortfall>,
}

impl TunePlan {
    /// The plan for the shortfalls of a diagnosis.
    ///
    /// # Errors
    /// [`TuneError::Read`].
    pub fn of(shortfalls: Vec<Shortfall>) -> Result<TunePlan, TuneError> {
        let mut plan = TunePlan { changes: Vec::new(), left: Vec::new() };
        for shortfall in shortfalls {
            let setting = shortfall.setting.filter(|setting| setting.is_of_system());
            let Some(setting) = setting.filter(|_| !shortfall.is_out_of_reach()) else {
                plan.left.push(shortfall);
                continue;
            };
            let name = setting.name.to_owned();
            let before =
                sys::tunable::read(&name).map_err(|source| TuneError::Read { name: name.clone(), source })?;
            let after = setting.value_for(shortfall.needed);
            // A range may begin where it has to and still be too small, by ports that are reserved.
            let is_range = setting.kind == SettingKind::PortRange;
            if before == after && is_range {
                plan.left.push(shortfall);
                continue;
            }
            let change = SettingChange { name, before, after };
            plan.changes.push(PlannedChange { change, why: shortfall });
        }
        Ok(plan)
    }

    /// The changes alone.
    pub fn bare(&self) -> Vec<SettingChange> {
        self.changes.iter().map(|planned| planned.change.clone()).collect()
    }
}

/// Makes the changes, with the old values in a new file at `path`. If one fails, those before it are taken
/// back, and the file is removed once they are.
///
/// # Errors
/// [`TuneError`]; it names the changes that remain, which are none if they could be taken back.
pub fn apply(changes: &[SettingChange], path: &Path) -> Result<(), TuneError> {
    if let Some(change) = changes.iter().find(|change| !sys::tunable::is_writable(&change.name)) {
        return Err(TuneError::NotPermitted { name: change.name.clone() });
    }
    let unwritten = |source| TuneError::Unwritten { path: path.to_owned(), source };
    UndoRecord::of(changes).write(path).map_err(unwritten)?;
    for (place, change) in changes.iter().enumerate() {
        if let Err((reason, was_written)) = make(change) {
            let made = &changes[..place + usize::from(was_written)];
            return Err(TuneError::Change {
                name: change.name.clone(),
                value: change.after.clone(),
                reason,
                taken_back: take_back(made, path),
            });
        }
    }
    Ok(())
}

/// Makes one change and verifies it. The error says whether the value may have changed.
fn make(change: &SettingChange) -> Result<(), (String, bool)> {
    let SettingChange { name, before, after } = change;
    let now = sys::tunable::read(name).map_err(|error| (error.to_string(), false))?;
    if now != *before {
        return Err((format!("somebody else set it from {before} to {now} meanwhile"), false));
    }
    // A device that is full may have cut the value that was there.
    sys::tunable::write(name, after).map_err(|error| (error.to_string(), true))?;
    match sys::tunable::read(name) {
        Ok(now) if now == *after => Ok(()),
        Ok(now) => Err((format!("the system made {now} of it"), true)),
        Err(error) => Err((error.to_string(), true)),
    }
}

/// Takes back changes that were made a moment ago, and returns the results.
fn take_back(made: &[SettingChange], path: &Path) -> String {
    let is_back = |change: &SettingChange| {
        let _ = sys::tunable::write(&change.name, &change.before);
        sys::tunable::read(&change.name).is_ok_and(|now| now == change.before)
    };
    let stuck: Vec<&str> =
        made.iter().rev().filter(|change| !is_back(change)).map(|change| change.name.as_str()).collect();
    if stuck.is_empty() {
        let _ = std::fs::remove_file(path);
        return "all settings have their old values".to_owned();
    }
    let still = stuck.join(", ");
    format!("{still} could not be put back; `osdyno tune --undo {}` tries again", path.display())
}

/// The answer of `osdyno tune`: the changes, made or not.
#[derive(Clone, Debug, Serialize)]
pub struct TuneAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// Whether the changes were made.
    pub is_applied: bool,
    /// Record of the old values.
    ///
    /// `null` where nothing was changed.
    pub undo: Option<String>,
    /// The changes.
    pub changes: Vec<PlannedChange>,
    /// Limits that no setting raises.
    pub left: Vec<Shortfall>,
    /// The demand on the machine, in place of a run without names.
    #[serde(skip)]
    pub demand: Option<MachineDemand>,
    /// Whether the changes were asked for.
    #[serde(skip)]
    pub is_asked: bool,
}

/// The answer of `osdyno tune --undo`.
#[derive(Clone, Debug, Serialize)]
pub struct UndoAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// Last change first.
    pub undone: Vec<UndoneChange>,
}

impl TuneAnswer {
    /// The answer as a document.
    pub fn document(&self) -> Document {
        let mut document = Document::default();
        if self.changes.is_empty() && self.left.is_empty() {
            document.say(match &self.demand {
                Some(demand) => format!("Nothing to change: {demand} fit."),
                None => "Nothing to change: a run without names is limited by no setting.".to_owned(),
            });
            return document;
        }
        if !self.changes.is_empty() {
            document.push(self.changed());
        } else if self.is_asked {
            document.say("Nothing was changed: no setting of the system raises these limits.");
        }
        if !self.left.is_empty() {
            let mut left = Section::new("Left to you");
            self.left.iter().for_each(|shortfall| left.say(remedy(shortfall)));
            document.push(left);
        }
        match &self.undo {
            Some(record) => document.say(format!("osdyno tune --undo {record} puts it back")),
            None if !self.is_asked && !self.changes.is_empty() => {
                document.say("--apply changes it, until the next boot");
            }
            None => {}
        }
        document
    }

    fn changed(&self) -> Section {
        let verb = if self.is_applied { "Changed" } else { "Would change" };
        let wanted = self.demand.as_ref().map_or("a run without names".to_owned(), MachineDemand::to_string);
        let mut section = Section::new(format!("{verb}, for {wanted}"));
        let mut table = Table::new(["setting", "before", "after", "why", "manual"]);
        for PlannedChange { change: SettingChange { name, before, after }, why } in &self.changes {
            let manual = why.manual.unwrap_or_default();
            let why = format!("it limits {}", why.resource.replace('_', " "));
            table.push([name.as_str(), before, after, &why, manual]);
        }
        section.push(table);
        section
    }
}

fn remedy(shortfall: &Shortfall) -> Text {
    let (now, needed) = (value(shortfall, shortfall.now), value(shortfall, shortfall.needed));
    let how = match (&shortfall.command, &shortfall.lasting) {
        (Some(command), Some(lasting)) => {
            let lasting: Vec<String> =
                lasting.iter().map(|way| format!("{}: {}", way.place, way.text)).collect();
            format!("{command} · {}", lasting.join(" · "))
        }
        _ if shortfall.is_out_of_reach() => "that is more than the system takes".to_owned(),
        _ => shortfall.advice.clone(),
    };
    format!("{} is {now}, needed is {needed} ({}): {how}", shortfall.limit, wanted_by(shortfall)).into()
}

impl UndoAnswer {
    /// Whether every setting has its old value.
    pub fn is_back(&self) -> bool {
        let is_back = |one: &UndoneChange| matches!(one.undone, Undone::Restored | Undone::AlreadyBack);
        self.undone.iter().all(is_back)
    }

    /// The answer as a document.
    pub fn document(&self) -> Document {
        let mut document = Document::default();
        for UndoneChange { change: SettingChange { name, before, after }, undone } in &self.undone {
            let (text, tone) = match undone {
                Undone::Restored => (format!("{name}: {after} → {before}"), Tone::Plain),
                Undone::AlreadyBack => (format!("{name}: has its old value, {before}"), Tone::Plain),
                Undone::LeftAlone(now) => {
                    let text = format!(
                        "{name}: left alone, because somebody else has set it to {now}; --apply had set \
                         {after}, and before it was {before}"
                    );
                    (text, Tone::Open)
                }
                Undone::Failed(error) => {
                    (format!("{name}: could not be set back to {before}: {error}"), Tone::Open)
                }
            };
            document.say(Text::toned(text, tone));
        }
        document
    }
}
