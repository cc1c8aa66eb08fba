//! Slices as an interval log of HdrHistogram, which HistogramLogAnalyzer and hdr-plot read.

use std::io::{self, Write};

use super::level::Level;

/// Writes all slices of all levels: start and length in seconds, the largest in milliseconds, and the
/// histogram of nanoseconds. Levels are told apart by their tags.
///
/// # Errors
/// Those of writing.
pub fn write(levels: &[Level], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[Latencies in nanoseconds; the column of the largest is in milliseconds]")?;
    writeln!(out, "#[StartTime: 0 (seconds since the level began)]")?;
    writeln!(
        out,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )?;
    let mut begin_seconds = 0.0;
    for level in levels {
        let tag = match level.load.rate {
            Some(rate) => format!("rate-{rate}"),
            None => format!("connections-{}", level.load.connections),
        };
        for slice in &level.slices {
            let start = begin_seconds + slice.begin_seconds;
            let max_ms = slice.latency.max_ns() as f64 / 1e6;
            let histogram = slice.latency.encoded();
            writeln!(out, "Tag={tag},{start:.3},{:.3},{max_ms:.3},{histogram}", slice.seconds)?;
        }
        begin_seconds += level.elapsed_seconds;
    }
    Ok(())
}
