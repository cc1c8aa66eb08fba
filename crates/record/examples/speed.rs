//! How fast a large run is written and read: `cargo run --release -p record --example speed -- TRIALS N`
//! makes TRIALS trials of two series of N values each in a temporary file.

use std::time::Instant;
use std::{env, error, fs};

use record::*;

fn main() -> std::result::Result<(), Box<dyn error::Error>> {
    let mut counts = env::args().skip(1).map(|count| count.parse());
    let trials: u32 = counts.next().transpose()?.map_or(20, |count: u64| count as u32);
    let n = counts.next().transpose()?.unwrap_or(50_000);

    let path = env::temp_dir().join(format!("speed-{}.osdyno", std::process::id()));
    let begin = Instant::now();
    let mut writer = Writer::create(&path, run(), &[])?;
    let mut seed = 1_u64;
    for trial in 1..=trials {
        let lines: Vec<Line> = [Direction::Up, Direction::Down]
            .into_iter()
            .map(|direction| Line::Series(series(trial, direction, n, &mut seed)))
            .collect();
        writer.append(&lines)?;
    }
    writer.finish(End { status: EndStatus::Complete, elapsed_seconds: 1.0 })?;
    println!("written in {:.2} s, {} bytes", begin.elapsed().as_secs_f64(), fs::metadata(&path)?.len());

    let begin = Instant::now();
    let (recording, losses) = read(&path)?;
    let seconds = begin.elapsed().as_secs_f64();
    // Without trial lines nothing may be judged, and everything is listed.
    let values: usize = recording.excluded.iter().map(|excluded| excluded.series.values.len()).sum();
    println!("{values} values read in {seconds:.2} s, {} losses", losses.len());
    fs::remove_file(&path)?;
    Ok(())
}

/// Times of about a microsecond with a long tail, in steps of 0.1 ns as a producer rounds them.
fn series(trial: u32, direction: Direction, n: u64, seed: &mut u64) -> Series {
    let mut value = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((*seed >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        let tenths_of_ns = (8_000.0 - 500.0 * uniform.ln()).round();
        tenths_of_ns / 1e10
    };
    let (n_first, n_step) = if direction == Direction::Up { (0, 1) } else { (n, -1) };
    Series {
        system: "local".into(),
        workload: "socket".into(),
        variant: "v6".into(),
        trial,
        name: "socket".into(),
        direction,
        n_first,
        n_step,
        sizes: Vec::new(),
        batch: 1,
        counts: Vec::new(),
        values: (0..n).map(|_| value()).collect(),
    }
}

fn run() -> Run {
    Run {
        schema: SCHEMA,
        tool: Tool { name: "osdyno".into(), version: "0".into(), build: "speed".into() },
        started_at: "2026-11-21T20:14:00Z".into(),
        preset: "full".into(),
        ..Run::default()
    }
}
