//! `cargo xtask pictures`: the pictures of docs/verdicts.md and docs/cores.md, drawn by osdyno from sweeps
//! with known truth.
//!
//! Every number in them is simulated from a fixed seed, so they repeat byte by byte until a verdict or a plot
//! changes. The verdict on each is printed, for the author of the caption.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::AnyError;
use crate::workspace::{self, cargo, exists, program, show};

/// A picture: its file, the simulated sweep as `osdyno selftest --dump` names it, and the plots that show it.
const PICTURES: [(&str, &str, [&str; 2]); 11] = [
    ("flat", "constant/real-socket/dense/10:0", ["linear", "change"]),
    ("small-growth", "line-margin/low/dense/10:0", ["linear", "change"]),
    ("linear", "line-2.00/real-fork/dense/10:0", ["linear", "change"]),
    ("knee", "hinge-0.5-5/low/dense/10:0", ["linear", "logarithmic"]),
    ("limit", "limit-1.02/low/dense/10:0", ["linear", "logarithmic"]),
    ("stepped", "step+60-0.6/low/dense/10:1", ["linear", "change"]),
    ("dent", "dent-40/low/dense/10:4", ["logarithmic", "change"]),
    ("two-lines", "lines-0.3/low/dense/10:0", ["linear", "percentiles"]),
    ("limit-then-step", "limit-then-step/low/dense/10:0", ["linear", "logarithmic"]),
    ("inconclusive", "constant/noisy/dense/10:0", ["linear", "change"]),
    ("spikes", "spikes-fixed/low/dense/10:0", ["logarithmic", "change"]),
];

/// Writes all pictures into `docs/pictures`.
///
/// # Errors
/// When something cannot be built, simulated, judged or written.
pub fn run() -> Result<(), AnyError> {
    let folder = workspace::root().join("docs/pictures");
    std::fs::create_dir_all(&folder)?;
    for (name, sweep, panels) in PICTURES {
        println!("{name}.svg");
        let simulate = ["--package", "osdyno", "--", "selftest", "--dump", sweep];
        let mut sweeps = quiet(&simulate).stdout(Stdio::piped()).spawn()?;
        let numbers = sweeps.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let drawn = draw(&[&[sweep], &panels[..]].concat(), numbers);
        let status = sweeps.wait()?;
        if !status.success() {
            return Err(format!("{sweep} was not simulated: {status}").into());
        }
        write(&folder, name, &drawn?)?;
    }
    for name in ["comparison", "scaling"] {
        println!("{name}.svg");
        write(&folder, name, &draw(&[name], Stdio::null())?)?;
    }
    Ok(())
}

/// Browsers that can take a picture without a screen.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// Width and height of the picture of a page.
const PAGE_SIZE: &str = "1180,1500";

/// Writes `docs/report.png`: how the page of a run opens, as a browser shows it.
///
/// # Errors
/// When there is no browser, the run cannot be read, or the picture cannot be written.
pub(crate) fn of_page(run: &Path) -> Result<(), AnyError> {
    let browser = BROWSERS.into_iter().find(|name| exists(name));
    let browser = browser.ok_or_else(|| format!("no browser takes the picture: none of {BROWSERS:?}"))?;
    let page = workspace::target().join("report.html");
    let mut report = cargo();
    report.args(["run", "--quiet", "--package", "osdyno", "--", "report", "--force", "--out"]);
    show(report.arg(&page).arg(run).stdout(Stdio::null()))?;
    let picture = workspace::root().join("docs/report.png");
    let mut taken = program(browser);
    // As root a browser does not start within its sandbox; the page is ours and loads nothing.
    taken.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    taken.arg(format!("--window-size={PAGE_SIZE}")).arg(format!("--screenshot={}", picture.display()));
    show(taken.arg(&page).stderr(Stdio::null()))
}

/// One picture of the numbers at the standard input; the verdict goes to standard error.
fn draw(arguments: &[&str], input: Stdio) -> Result<Vec<u8>, AnyError> {
    let mut command = quiet(&["--package", "report", "--example", "picture", "--"]);
    let output = command.args(arguments).stdin(input).stderr(Stdio::inherit()).output()?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!("the picture of {} failed: {}", arguments.join(" "), output.status).into()),
    }
}

fn write(folder: &Path, name: &str, picture: &[u8]) -> Result<(), AnyError> {
    Ok(std::fs::write(folder.join(format!("{name}.svg")), picture)?)
}

/// A program of the workspace, built if it must be.
fn quiet(arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release"]).args(arguments);
    command
}
