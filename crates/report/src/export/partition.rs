//! The long table as a tree of Parquet files, as Apache Hive lays out partitions and DuckDB and ClickHouse
//! read them: `host=n1/workload=bind/part.parquet`. The columns that the folders name are not in the files.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{Result, Write};
use std::path::PathBuf;

use record::{FleetPlace, Recording, SeriesKey};

use super::parquet;

/// A column that makes folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartitionKey {
    /// The host of a fleet; of another run the system.
    Host,
    /// The configuration of the host; empty where there is one.
    Configuration,
    /// The system.
    System,
    /// The workload.
    Workload,
    /// The variant; may be empty.
    Variant,
}

/// One file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    keys: Vec<PartitionKey>,
    values: Vec<String>,
    series: Vec<SeriesKey>,
}

/// The value of a folder without a name, by the convention of Hive.
const NOTHING: &str = "__HIVE_DEFAULT_PARTITION__";

impl PartitionKey {
    /// The name of its column.
    pub fn name(self) -> &'static str {
        match self {
            PartitionKey::Host => "host",
            PartitionKey::Configuration => "configuration",
            PartitionKey::System => "system",
            PartitionKey::Workload => "workload",
            PartitionKey::Variant => "variant",
        }
    }

    fn value(self, places: &HashMap<&str, &FleetPlace>, key: &SeriesKey) -> String {
        let place = places.get(key.system.as_str());
        match self {
            PartitionKey::Host => place.map_or(&key.system, |place| &place.host).clone(),
            PartitionKey::Configuration => {
                place.map_or_else(String::new, |place| place.configuration.clone())
            }
            PartitionKey::System => key.system.clone(),
            PartitionKey::Workload => key.workload.clone(),
            PartitionKey::Variant => key.variant.clone(),
        }
    }
}

impl Partition {
    /// The files of a run, divided by these columns.
    pub fn all(recording: &Recording, keys: &[PartitionKey]) -> Vec<Partition> {
        let places =
            recording.systems.iter().filter_map(|one| Some((one.name.as_str(), one.fleet.as_ref()?)));
        let places: HashMap<&str, &FleetPlace> = places.collect();
        let mut all: BTreeMap<Vec<String>, Vec<SeriesKey>> = BTreeMap::new();
        for (key, _) in recording.series() {
            let values = keys.iter().map(|one| one.value(&places, key)).collect();
            all.entry(values).or_default().push(key.clone());
        }
        let part = |(values, series)| Partition { keys: keys.to_vec(), values, series };
        all.into_iter().map(part).collect()
    }

    /// Its place in the tree.
    pub fn path(&self) -> PathBuf {
        let folder = |(key, value): (&PartitionKey, &String)| format!("{}={}", key.name(), escaped(value));
        let folders: PathBuf = self.keys.iter().zip(&self.values).map(folder).collect();
        folders.join("part.parquet")
    }

    /// Writes its values. `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, recording: &Recording, out: &mut dyn Write) -> Result<()> {
        let left_out: Vec<&str> = self.keys.iter().map(|key| key.name()).collect();
        parquet::write_part(recording, &mut self.series.iter(), &left_out, out)
    }
}

/// A value as the name of a folder: each byte other than a letter, a digit, `.`, `_` or `-` has its code, as
/// in Hive and in URLs, and DuckDB reads it back.
fn escaped(value: &str) -> String {
    if value.is_empty() {
        return NOTHING.to_owned();
    }
    let mut out = String::new();
    for byte in value.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let _ = if is_plain { write!(out, "{}", char::from(byte)) } else { write!(out, "%{byte:02X}") };
    }
    // The folder itself and the one above it are no values.
    if out.bytes().all(|byte| byte == b'.') { out.replace('.', "%2E") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_only_harmless_characters() {
        assert_eq!(escaped("n1"), "n1");
        assert_eq!(escaped("../a b=1/ü"), "..%2Fa%20b%3D1%2F%C3%BC");
        assert_eq!(escaped(".."), "%2E%2E");
        assert_eq!(escaped(""), NOTHING);
    }
}
