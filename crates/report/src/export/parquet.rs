//! Tables as Parquet, written row group by row group: memory does not grow with the run.
//!
//! It can be a tree of files, as Apache Hive lays out partitions and DuckDB and ClickHouse read them:
//! `host=n1/workload=bind/part.parquet`. The columns that the folders name are not in the files.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Error, Write};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use record::{FleetPlace, Recording, SeriesKey};

use super::tables::{Cell, ColumnKind, Table, values};

/// Rows of one row group; DuckDB reads groups of about this size in parallel.
const ROWS: usize = 120_000;
/// The value of a folder without a name, by the convention of Hive.
const NOTHING: &str = "__HIVE_DEFAULT_PARTITION__";

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

/// One file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    keys: Vec<PartitionKey>,
    values: Vec<String>,
    series: Vec<SeriesKey>,
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
    pub fn write(&self, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
        let left_out: Vec<&str> = self.keys.iter().map(|key| key.name()).collect();
        self::write(values(recording, self.series.iter()), &left_out, out)
    }
}

/// The columns that are written, each with its place in a row.
type Columns = [(usize, (&'static str, ColumnKind))];

/// Writes a table without some of its columns. A cell without a value is null.
pub(super) fn write(table: Table<'_>, left_out: &[&str], out: &mut dyn Write) -> io::Result<()> {
    let Table { columns, is_dense, mut rows } = table;
    let columns = columns.iter().copied().enumerate();
    let columns: Vec<_> = columns.filter(|(_, (name, _))| !left_out.contains(name)).collect();
    // The library requires a target that can be sent to another thread, and ours need not be one: each
    // row group is made in memory and handed on.
    let mut file = begin(&columns, is_dense).map_err(Error::other)?;
    loop {
        let group: Vec<Vec<Cell<'_>>> = rows.by_ref().take(ROWS).collect();
        if group.is_empty() {
            break;
        }
        write_group(&columns, is_dense, &group, &mut file).map_err(Error::other)?;
        out.write_all(&mem::take(file.inner_mut()))?;
    }
    out.write_all(&file.into_inner().map_err(Error::other)?)
}

fn begin(columns: &Columns, is_dense: bool) -> Result<SerializedFileWriter<Vec<u8>>> {
    let repetition = if is_dense { "required" } else { "optional" };
    let fields = columns.iter().map(|(_, (name, kind))| match kind {
        ColumnKind::Text => format!("{repetition} binary {name} (STRING);"),
        ColumnKind::Integer => format!("{repetition} int64 {name};"),
        ColumnKind::Number => format!("{repetition} double {name};"),
    });
    let schema = format!("message osdyno {{ {} }}", fields.collect::<String>());
    let mut properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default()));
    if is_dense {
        let n = ColumnPath::from("n");
        properties = properties
            .set_column_dictionary_enabled(n.clone(), false)
            .set_column_encoding(n, Encoding::DELTA_BINARY_PACKED);
    }
    let schema = Arc::new(parse_message_type(&schema)?);
    SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))
}

/// Integers are signed, because SQL takes differences of them, where unsigned ones would wrap.
fn write_group(
    columns: &Columns,
    is_dense: bool,
    rows: &[Vec<Cell<'_>>],
    file: &mut SerializedFileWriter<Vec<u8>>,
) -> Result<()> {
    let mut group = file.next_row_group()?;
    for (place, (_, kind)) in columns {
        let cells = rows.iter().filter_map(|row| row.get(*place));
        match kind {
            ColumnKind::Text => {
                // Rows that follow each other share most of their texts.
                let mut last = ByteArray::from("");
                write_cells::<ByteArrayType>(&mut group, is_dense, cells, |cell| {
                    let Cell::Text(text) = cell else { return None };
                    if last.data() != text.as_bytes() {
                        last = ByteArray::from(&**text);
                    }
                    Some(last.clone())
                })?;
            }
            ColumnKind::Integer => {
                write_cells::<Int64Type>(&mut group, is_dense, cells, |cell| match cell {
                    Cell::Integer(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
                    _ => None,
                })?
            }
            ColumnKind::Number => {
                write_cells::<DoubleType>(&mut group, is_dense, cells, |cell| match cell {
                    Cell::Number(number) => Some(*number),
                    _ => None,
                })?
            }
        }
    }
    group.close()?;
    Ok(())
}

fn write_cells<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    is_dense: bool,
    cells: impl Iterator<Item = &'a Cell<'a>>,
    value: impl FnMut(&Cell<'_>) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = cells.map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        // A column that may not be empty has no levels.
        let levels = (!is_dense).then_some(levels.as_slice());
        column.typed::<T>().write_batch(&values, levels, None)?;
        column.close()?;
    }
    Ok(())
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
