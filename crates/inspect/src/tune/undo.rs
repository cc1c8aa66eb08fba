//! Puts the old values back, unless another program or user has changed them.

use std::path::Path;

use serde::Serialize;

use super::{SettingChange, TuneError, UndoRecord};

/// The result for one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "became", content = "detail")]
pub enum Undone {
    /// It has its old value again.
    Restored,
    /// It had its old value: it was never changed, or was put back before.
    AlreadyBack,
    /// Another program or user has set it to this value, which stays.
    LeftAlone(String),
    /// It could not be put back.
    Failed(String),
}

/// A change that was put back, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoneChange {
    /// The change.
    #[serde(flatten)]
    pub change: SettingChange,
    /// The result.
    #[serde(flatten)]
    pub undone: Undone,
}

/// Puts back the values of the record, the last change first.
///
/// # Errors
/// [`TuneError`] where nothing was tried.
pub fn undo(path: &Path) -> Result<Vec<UndoneChange>, TuneError> {
    let record = UndoRecord::read(path)?;
    let here = sys::tunable::network_namespace();
    if let (Some(there), Some(here)) = (record.namespace_of_network(), here)
        && there != here
    {
        return Err(TuneError::OtherNamespace { path: path.to_owned(), there: there.to_owned(), here });
    }
    let changes = record.changes().into_iter().rev();
    Ok(changes.map(|change| UndoneChange { undone: put_back(&change), change }).collect())
}

fn put_back(change: &SettingChange) -> Undone {
    let SettingChange { name, before, after } = change;
    let now = match sys::tunable::read(name) {
        Ok(now) => now,
        Err(error) => return Undone::Failed(error.to_string()),
    };
    if now == *before {
        return Undone::AlreadyBack;
    }
    if now != *after {
        return Undone::LeftAlone(now);
    }
    if let Err(error) = sys::tunable::write(name, before) {
        return Undone::Failed(error.to_string());
    }
    match sys::tunable::read(name) {
        Ok(now) if now == *before => Undone::Restored,
        Ok(now) => Undone::Failed(format!("the system made {now} of {before}")),
        Err(error) => Undone::Failed(error.to_string()),
    }
}
