//! The long table as Parquet, row group by row group: memory does not grow with the run.

use std::io::{self, Error, Write};
use std::mem;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use record::Recording;

/// `n` and `trial` are signed, for differences of them are taken in SQL, where unsigned ones would wrap.
const SCHEMA: &str = "
    message osdyno {
        required binary system (STRING);
        required binary workload (STRING);
        required binary variant (STRING);
        required binary series (STRING);
        required binary direction (STRING);
        required int64 trial;
        required int64 n;
        required double value;
        required binary unit (STRING);
    }";

/// Rows of one row group; DuckDB reads groups of about this size in parallel.
const ROWS: usize = 120_000;

pub(super) fn write(recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    // The library requires a target that can be sent to another thread, and ours need not be one: each
    // row group is made in memory and handed on.
    let mut file = begin().map_err(Error::other)?;
    let mut columns = Columns::default();
    for (key, trials) in recording.series() {
        let texts = [&key.system, &key.workload, &key.variant, &key.name, &key.direction.to_string()];
        let texts = texts.map(|text| ByteArray::from(text.as_str()));
        let unit = ByteArray::from(recording.kind(key).map_or("", |kind| kind.unit.name()));
        for series in trials {
            for (n, value) in series.points() {
                columns.push(&texts, series.trial, (n, value), &unit);
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

fn begin() -> Result<SerializedFileWriter<Vec<u8>>> {
    let n = ColumnPath::from("n");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        // It rises or falls by the same step from row to row.
        .set_column_dictionary_enabled(n.clone(), false)
        .set_column_encoding(n, Encoding::DELTA_BINARY_PACKED)
        .build();
    SerializedFileWriter::new(Vec::new(), Arc::new(parse_message_type(SCHEMA)?), Arc::new(properties))
}

/// The row group at hand, column by column in the order of [`SCHEMA`].
#[derive(Default)]
struct Columns {
    texts: [Vec<ByteArray>; 5],
    trial: Vec<i64>,
    n: Vec<i64>,
    values: Vec<f64>,
    units: Vec<ByteArray>,
}

impl Columns {
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
        for column in &mut self.texts {
            write_column::<ByteArrayType>(&mut group, column)?;
        }
        write_column::<Int64Type>(&mut group, &mut self.trial)?;
        write_column::<Int64Type>(&mut group, &mut self.n)?;
        write_column::<DoubleType>(&mut group, &mut self.values)?;
        write_column::<ByteArrayType>(&mut group, &mut self.units)?;
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
