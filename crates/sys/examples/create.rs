//! One more empty file in a folder that has n: `create SERIES FOLDER TRIAL N`.
//!
//! A known truth for `cargo xtask truths`: a folder that is a list is searched for every new name, a folder
//! with an index is not. Each file is opened with `O_CREAT | O_EXCL`, timed, and closed, untimed; the folder
//! is made new, and removed at the end. Prints `series,trial,n,value`, the value in nanoseconds.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &arguments[..] {
        [series, folder, trial, n] => measure(series, Path::new(folder), trial, n),
        _ => Err("usage: create SERIES FOLDER TRIAL N".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A folder of one block has nothing to index: that many names of this length do not fit into 4 KiB.
const ONE_BLOCK: usize = 100;

fn measure(series: &str, parent: &Path, trial: &str, n: &str) -> Result<(), Box<dyn Error>> {
    let (trial, n): (u32, u32) = (trial.parse()?, n.parse()?);
    if let Some(cpu) = sys::cpu::preferred()?.first() {
        sys::cpu::pin(*cpu)?;
    }
    let folder = parent.join(format!("trial-{trial}"));
    fs::create_dir(&folder)?;
    let values = fill(&folder, n);
    fs::remove_dir_all(&folder)?;
    let mut table = "series,trial,n,value\n".to_owned();
    for (index, nanoseconds) in values?.iter().enumerate().skip(ONE_BLOCK) {
        writeln!(table, "{series},{trial},{},{nanoseconds}", index + 1)?;
    }
    print!("{table}");
    Ok(())
}

fn fill(folder: &Path, n: u32) -> std::io::Result<Vec<u128>> {
    // Long names: a block of the folder holds few of them, and a list of blocks is soon long.
    let paths: Vec<PathBuf> = (0..n).map(|number| folder.join(format!("{number:064}"))).collect();
    let mut values = Vec::with_capacity(paths.len());
    for path in &paths {
        let begun = Instant::now();
        let file = File::create_new(path)?;
        values.push(begun.elapsed().as_nanos());
        drop(file);
    }
    Ok(values)
}
