//! The changes, and the limits that are left to the user.

use serde::Serialize;

use super::TuneError;
use crate::doctor::{SettingKind, Shortfall};

/// One setting that is to be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
