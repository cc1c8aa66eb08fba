//! Facts by key, as they are read one after the other.

use std::collections::BTreeMap;

/// Facts by dotted key, such as `kernel.release`. Sizes are bytes and end in `_bytes`; a setting of the
/// kernel keeps the kernel's own unit and spelling.
pub type Facts = BTreeMap<String, String>;

/// Facts as they are read, one after the other.
#[derive(Default)]
pub(super) struct Collector(pub(super) Facts);

impl Collector {
    /// Adds a fact if it is one. A later reader knows better than an earlier one.
    pub(super) fn add(&mut self, key: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            // Tables come with tabs between their columns; a fact is one line.
            let words = value.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            if !words.is_empty() {
                self.0.insert(key.to_owned(), words);
            }
        }
    }
}
