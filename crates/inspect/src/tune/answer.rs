//! The answers of `osdyno tune`, and how they read.

use report::document::{Document, Section, Table, Text, Tone};
use serde::Serialize;

use super::{PlannedChange, SettingChange, Undone, UndoneChange};
use crate::doctor::{MachineDemand, Shortfall, value, wanted_by};

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
