//! A format of another benchmark: how it is known, and read.

use serde_json::Value;

use super::entries::{Taken, Trials};

/// A format.
pub(crate) struct Format {
    /// What a user calls it.
    pub(crate) name: &'static str,
    /// What a trial is in it.
    pub(crate) trials: Trials,
    pub(crate) form: FormatForm,
}

/// How a format is known, and read.
pub(crate) enum FormatForm {
    /// A JSON document.
    Document {
        is_this: fn(&Value) -> bool,
        /// `Err` says what is there instead of times.
        read: fn(&Value, &Place<'_>, &mut Taken) -> Result<(), String>,
    },
    /// Lines of text, of which one is enough.
    Lines { is_this: fn(&str) -> bool, read: fn(&str, &Place<'_>, &mut Taken) },
}

/// Where a file lies.
pub(crate) struct Place<'a> {
    /// The path, as it was given.
    pub(crate) path: &'a str,
    /// The content of another file of that name in its folder.
    pub(crate) beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl Place<'_> {
    /// The name without folders and extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}
