//! Makes the changes: the record first, then one after the other; all of them or none.

use std::path::Path;

use super::{SettingChange, TuneError, UndoRecord};

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
