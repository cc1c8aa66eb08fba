//! How fast a file of numbers becomes a recording: `import FILE.csv`.

#![allow(clippy::print_stdout, reason = "an example speaks")]

use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use import::{Import, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: import FILE.csv")?;
    let begun = Instant::now();
    let mut import = Import::new(Options::default());
    import.read(&path, BufReader::with_capacity(1 << 16, File::open(&path)?))?;
    let recording = import.finish()?.recording;
    let seconds = begun.elapsed().as_secs_f64();
    let rows: usize = recording.series().flat_map(|(_, trials)| trials).map(|s| s.values.len()).sum();
    println!("{rows} rows in {seconds:.2} s: {:.2} million a second", rows as f64 / seconds / 1e6);
    Ok(())
}
