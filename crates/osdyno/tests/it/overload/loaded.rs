//! The output of the load generator about its only level.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use crate::common;
use crate::common::text;

/// The output of a generator about its only level.
pub(crate) struct Loaded {
    pub(crate) code: Option<i32>,
    pub(crate) errors: String,
    pub(crate) level: serde_json::Value,
}

impl Loaded {
    pub(crate) fn of(output: &Output) -> Loaded {
        let errors = text(&output.stderr);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        Loaded { code: output.status.code(), errors, level: document["levels"][0].clone() }
    }

    pub(crate) fn number(&self, name: &str) -> f64 {
        self.level[name].as_f64().unwrap_or_else(|| panic!("no {name}: {} {}", self.errors, self.level))
    }

    /// Failures by stage and cause.
    pub(crate) fn failures(&self) -> BTreeMap<(String, String), u64> {
        let list = self.level["failures"].as_array().expect("failures").iter();
        let word = |value: &serde_json::Value| value.as_str().expect("a word").to_owned();
        list.map(|one| ((word(&one["stage"]), word(&one["cause"])), one["count"].as_u64().unwrap())).collect()
    }
}

pub(crate) fn load(folder: &Path, words: &[&str]) -> Loaded {
    Loaded::of(&common::run(folder, &[&["load", "--format", "json"], words].concat()))
}
