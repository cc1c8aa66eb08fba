//! What is changed, for programs.

use std::path::Path;

use inspect::tune::{SettingChange, TunePlan, Undone};
use serde_json::{Value, json};

use crate::cmd::doctor::shortfall;

pub(super) fn of_plan(plan: &TunePlan, record: Option<&Path>) -> Value {
    let changes = plan.changes.iter().map(|(change, why)| {
        json!({
            "name": change.name,
            "before": change.before,
            "after": change.after,
            "why": shortfall(why),
        })
    });
    json!({
        "schema": 1,
        "is_applied": record.is_some(),
        "undo": record.map(|record| record.to_string_lossy()),
        "changes": changes.collect::<Value>(),
        "left": plan.left.iter().map(shortfall).collect::<Value>(),
    })
}

pub(super) fn of_undone(undone: &[(SettingChange, Undone)]) -> Value {
    let one = |(change, undone): &(SettingChange, Undone)| {
        let (became, detail) = match undone {
            Undone::Restored => ("restored", None),
            Undone::AlreadyBack => ("already-back", None),
            Undone::LeftAlone(now) => ("left-alone", Some(now)),
            Undone::Failed(error) => ("failed", Some(error)),
        };
        json!({
            "name": change.name,
            "before": change.before,
            "after": change.after,
            "became": became,
            "detail": detail,
        })
    };
    json!({ "schema": 1, "undone": undone.iter().map(one).collect::<Value>() })
}
