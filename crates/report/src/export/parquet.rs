//! Tables as Parquet. The long table is written row group by row group: memory does not grow with the run.
//!
//! It can be a tree of files, as Apache Hive lays out partitions and DuckDB and ClickHouse read them:
//! `host=n1/workload=bind/part.parquet`. The columns that the folders name are not in the files.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Error, Write};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use judge::bounds::Bounds;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use record::{FleetPlace, LimitedBy, Recording, SeriesKey};

use super::tables::{Cell, ColumnKind, Rows, SideTable};

/// The columns of the long table. `n` and `trial` are signed, because SQL takes differences of them, where
/// unsigned ones would wrap.
const COLUMNS: [(&str, &str); 10] = [
    ("system", "binary system (STRING)"),
    ("workload", "binary workload (STRING)"),
    ("variant", "binary variant (STRING)"),
    ("series", "binary series (STRING)"),
    ("direction", "binary direction (STRING)"),
    ("trial", "int64 trial"),
    ("n", "int64 n"),
    ("value", "double value"),
    ("unit", "binary unit (STRING)"),
    ("limited_by", "binary limited_by (STRING)"),
];

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
        write_part(recording, &mut self.series.iter(), &left_out, out)
    }
}

/// One of the other tables, which are small, as one row group. A cell without a value is null.
pub(super) fn write_table(table: SideTable, rows: Rows<'_>, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Vec<Cell<'_>>> = rows.collect();
    out.write_all(&table_bytes(table.columns(), &rows).map_err(Error::other)?)
}

/// These series of the long table, without some of the columns of names.
pub(super) fn write_part(
    recording: &Recording,
    series: &mut dyn Iterator<Item = &SeriesKey>,
    left_out: &[&str],
    out: &mut dyn Write,
) -> io::Result<()> {
    // The library requires a target that can be sent to another thread, and ours need not be one: each
    // row group is made in memory and handed on.
    let mut file = begin(left_out).map_err(Error::other)?;
    let mut columns = Columns::new(left_out);
    let bounds = Bounds::new(recording);
    for key in series {
        let texts = [&key.system, &key.workload, &key.variant, &key.name, &key.direction.to_string()];
        let texts = texts.map(|text| ByteArray::from(text.as_str()));
        let kind = recording.kind(key);
        let unit = ByteArray::from(kind.map_or("", |kind| kind.unit.name()));
        for series in recording.trials_of(key) {
            for (n, value) in series.points() {
                columns.push(&texts, series.trial, (n, value), &unit);
                let by = bounds.of_value(key, kind, series.trial, n).map_or("", LimitedBy::name);
                columns.limited_by.push(ByteArray::from(by));
                if columns.values.len() == ROWS {
                    columns.flush(&mut file).map_err(Error::other)?;
                    out.write_all(&mem::take(file.inner_mut()))?;
                }
            }
        }
    }
    if !columns.values.is_empty() {
        columns.flush(&mut file).map_err(Error::other)?;
    }
    out.write_all(&file.into_inner().map_err(Error::other)?)
}

fn begin(left_out: &[&str]) -> Result<SerializedFileWriter<Vec<u8>>> {
    let columns = COLUMNS.iter().filter(|(name, _)| !left_out.contains(name));
    let columns: String = columns.map(|(_, column)| format!("required {column};")).collect();
    let schema = format!("message osdyno {{ {columns} }}");
    let n = ColumnPath::from("n");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // It rises or falls by the same step from row to row.
        .set_column_dictionary_enabled(n.clone(), false)
        .set_column_encoding(n, Encoding::DELTA_BINARY_PACKED)
        .build();
    SerializedFileWriter::new(Vec::new(), Arc::new(parse_message_type(&schema)?), Arc::new(properties))
}

/// The row group at hand, column by column in the order of [`COLUMNS`].
#[derive(Default)]
struct Columns {
    texts: [Vec<ByteArray>; 5],
    /// Which of these are written.
    has_text: [bool; 5],
    trial: Vec<i64>,
    n: Vec<i64>,
    values: Vec<f64>,
    units: Vec<ByteArray>,
    limited_by: Vec<ByteArray>,
}

impl Columns {
    fn new(left_out: &[&str]) -> Columns {
        let has_text = std::array::from_fn(|place| !left_out.contains(&COLUMNS[place].0));
        Columns { has_text, ..Columns::default() }
    }

    fn push(&mut self, texts: &[ByteArray; 5], trial: u32, (n, value): (u64, f64), unit: &ByteArray) {
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(text.clone());
        }
        self.trial.push(trial.into());
        self.n.push(i64::try_from(n).unwrap_or(i64::MAX));
        self.values.push(value);
        self.units.push(unit.clone());
    }

    /// Writes the rows as one group and forgets them.
    fn flush(&mut self, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<()> {
        let mut group = file.next_row_group()?;
        for (column, is_written) in self.texts.iter_mut().zip(self.has_text) {
            match is_written {
                true => write_column::<ByteArrayType>(&mut group, column)?,
                false => column.clear(),
            }
        }
        write_column::<Int64Type>(&mut group, &mut self.trial)?;
        write_column::<Int64Type>(&mut group, &mut self.n)?;
        write_column::<DoubleType>(&mut group, &mut self.values)?;
        write_column::<ByteArrayType>(&mut group, &mut self.units)?;
        write_column::<ByteArrayType>(&mut group, &mut self.limited_by)?;
        group.close()?;
        Ok(())
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    values.clear();
    Ok(())
}

fn table_bytes(columns: &[(&str, ColumnKind)], rows: &[Vec<Cell<'_>>]) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|(name, kind)| match kind {
        ColumnKind::Text => format!("optional binary {name} (STRING);"),
        ColumnKind::Integer => format!("optional int64 {name};"),
        ColumnKind::Number => format!("optional double {name};"),
    });
    let schema = format!("message osdyno {{ {} }}", fields.collect::<String>());
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    if !rows.is_empty() {
        let mut group = file.next_row_group()?;
        for (place, (_, kind)) in columns.iter().enumerate() {
            let cells = rows.iter().filter_map(|row| row.get(place));
            match kind {
                ColumnKind::Text => write_cells::<ByteArrayType>(&mut group, cells, |cell| match cell {
                    Cell::Text(text) => Some(ByteArray::from(&**text)),
                    _ => None,
                })?,
                ColumnKind::Integer => write_cells::<Int64Type>(&mut group, cells, |cell| match cell {
                    Cell::Integer(number) => Some(i64::try_from(*number).unwrap_or(i64::MAX)),
                    _ => None,
                })?,
                ColumnKind::Number => write_cells::<DoubleType>(&mut group, cells, |cell| match cell {
                    Cell::Number(number) => Some(*number),
                    _ => None,
                })?,
            }
        }
        group.close()?;
    }
    file.into_inner()
}

fn write_cells<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = &'a Cell<'a>>,
    value: impl Fn(&Cell<'_>) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = cells.map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&values, Some(&levels), None)?;
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
