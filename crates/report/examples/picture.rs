//! Draws pictures for documents on standard output: `picture NAME PANEL… < FILE.csv` one series of a file of
//! numbers in seconds, with its verdict on standard error; `picture comparison` emulated systems; `picture
//! scaling` emulated operations of several workers.
#![allow(clippy::expect_used, reason = "the emulated runs are those of the tests")]

#[path = "../tests/it/emulated/mod.rs"]
mod emulated;

use std::error::Error;
use std::io::{self, BufReader, Write};

use emulated::scaled::law;
use import::{Import, Options};
use judge::Findings;
use judge::compare::Comparison;
use record::Unit;
use report::document::terminal::Length;
use report::html::{Panel, picture, picture_of_scaling};
use report::{Style, table};

const STYLE: Style = Style { width: 132, colour: false, unicode: true, grouped: true };

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, panels) = arguments.split_first().ok_or("usage: picture NAME PANEL… < FILE.csv")?;
    let drawn = match name.as_str() {
        "comparison" => comparison()?,
        "scaling" => scaling()?,
        name => series(name, panels)?,
    };
    Ok(io::stdout().lock().write_all(drawn.as_bytes())?)
}

fn series(name: &str, panels: &[String]) -> Result<String, Box<dyn Error>> {
    let mut import = Import::new(Options { unit: Some(Unit::Seconds), ..Options::default() });
    import.read(name, BufReader::new(io::stdin().lock()))?;
    let recording = import.finish()?.recording;
    let mut findings = Findings::from_recording(&recording);
    findings.series.first_mut().ok_or("the file has no series")?.label = name.to_owned();
    table::document(&findings).write(Length::All, &STYLE, &mut io::stderr())?;
    let panels = panels.iter().map(|word| panel(word)).collect::<Result<Vec<Panel>, _>>()?;
    Ok(picture(&recording, &findings, 0, &panels).ok_or("the series has no verdict")?)
}

fn panel(word: &str) -> Result<Panel, String> {
    match word {
        "linear" => Ok(Panel::Linear),
        "logarithmic" => Ok(Panel::Logarithmic),
        "change" => Ok(Panel::Change),
        "percentiles" => Ok(Panel::Percentiles),
        _ => Err(format!("no such panel: {word}; there are linear, logarithmic, change and percentiles")),
    }
}

/// Operations that differ in the reason why they scale less.
fn scaling() -> Result<String, Box<dyn Error>> {
    let run = emulated::scaled::run(
        &[
            ("scales", |n| n),
            ("serial", |n| law(n, 0.1, 0.0)),
            ("turns-back", |n| law(n, 0.05, 0.01)),
            ("siblings", |n| n.min(8.0) + 0.3 * (n - 8.0).max(0.0)),
        ],
        16,
        1,
    );
    let drawn = picture_of_scaling(&run, &Findings::from_recording(&run), "cores-map");
    Ok(drawn.ok_or("the operations have no speed-up")?)
}

fn comparison() -> Result<String, Box<dyn Error>> {
    let run = emulated::compared::one_run_of_three(20_000);
    let compared =
        Comparison::new(&[("emulated", &run)]).map_err(|refusal| report::compare::refusal(&refusal))?;
    report::compare::document(&compared).write(Length::All, &STYLE, &mut io::stderr())?;
    Ok(report::compare::picture(&compared))
}
