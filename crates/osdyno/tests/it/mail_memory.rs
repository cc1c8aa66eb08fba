//! Long lists from end to end: all recipients in one domain, and one in each of as many domains.
//! `OSDYNO_TEST_RECIPIENTS=1000000` makes them as long as what is promised.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Stdio;

use crate::common::served::Served;
use crate::common::{osdyno, text};

/// A million takes an unoptimized program half a minute.
const RECIPIENTS: u64 = 200_000;

const VARIABLE: &str = "OSDYNO_TEST_RECIPIENTS";

/// What is promised for each that waits.
const BYTES_MAX: f64 = 200.0;

/// The most memory that the engine had in use, in bytes, and what it delivered.
fn deliver(folder: &Path, relay: &str, recipients: u64, domains: u64) -> (u64, u64) {
    let (recipients, domains) = (recipients.to_string(), domains.to_string());
    let mut command = osdyno(folder, &["mail", "--pipeline", "-c", "4", "--per-connection", "100000"]);
    command.args(["--relay", relay, "--recipients", &recipients, "--domains", &domains, "--format", "json"]);
    let mut engine = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut peak = 0;
    while engine.try_wait().expect("a child").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", engine.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let output = engine.wait_with_output().expect("its output");
    assert!(output.status.success(), "{output:?}");
    let counts: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)));
    (peak, counts["counts"]["tested"].as_u64().expect("a number"))
}

#[test]
fn a_recipient_that_waits_takes_200_bytes_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let recipients = std::env::var(VARIABLE).map_or(RECIPIENTS, |number| number.parse().expect("a number"));
    let sink = Served::start(folder, &["--service", "smtp"]);
    let relay = sink.address.to_string();
    let (alone, delivered) = deliver(folder, &relay, 2_000, 1);
    assert_eq!(delivered, 2_000);
    for domains in [1, recipients] {
        let (peak, delivered) = deliver(folder, &relay, recipients, domains);
        assert_eq!(delivered, recipients, "{domains} domains");
        let each = peak.saturating_sub(alone) as f64 / recipients as f64;
        println!("{recipients} recipients in {domains} domains: {each:.0} bytes each, {peak} in all");
        assert!(each <= BYTES_MAX, "{each} bytes each with {domains} domains");
    }
    assert_eq!(sink.stop().count("recipients"), 2_000 + 2 * recipients);
}
