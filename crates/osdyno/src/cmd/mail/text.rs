//! What `osdyno mail` prints at its end.

use std::fmt::Write as _;

use ::report::quantity::{duration, time};
use ::report::words::count;
use mail::{MailMeasured, MailStep};
use serde_json::{Value, json};

/// The percentiles that are printed.
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// What became of the recipients, the rate, and the time that each step took.
pub(super) fn summary(measured: &MailMeasured, elapsed_seconds: f64) -> String {
    let counts = &measured.counts;
    let rate = counts.delivered as f64 / elapsed_seconds.max(f64::MIN_POSITIVE);
    let mut lines = format!(
        "{} deliveries per second: {} in {}\n\n",
        count(rate as u64),
        count(counts.delivered),
        duration(elapsed_seconds)
    );
    let rows = [
        ("delivered", counts.delivered),
        ("failed", counts.failed),
        ("still queued", counts.queued),
        ("deferred", counts.deferred),
        ("connections", counts.connections),
        ("encrypted", counts.encrypted),
        ("TLS failed", counts.not_encrypted),
        ("not connected", counts.not_connected),
        ("lost", counts.lost),
        ("broken protocol", counts.faults),
        ("timed out", counts.timeouts),
        ("no descriptor or port", counts.exhausted),
    ];
    for (index, (name, number)) in rows.into_iter().enumerate() {
        // Every recipient is in one of the first three; the others are printed where there were any.
        if index < 3 || number > 0 {
            // Writing to a text cannot fail.
            let _ = writeln!(lines, "  {name:<22}{:>12}", count(number));
        }
    }
    let _ = write!(lines, "\n  {:<10}{:>12}", "step", "times");
    for (name, _) in SHARES {
        let _ = write!(lines, "{name:>12}");
    }
    for step in MailStep::ALL {
        let times = measured.times(step);
        if times.count() > 0 {
            let _ = write!(lines, "\n  {:<10}{:>12}", step.name(), count(times.count()));
            for (_, share) in SHARES {
                let _ = write!(lines, "{:>12}", time(times.quantile_ns(share) as f64 * 1e-9));
            }
        }
    }
    lines
}

/// The same for programs.
pub(super) fn json(measured: &MailMeasured, elapsed_seconds: f64) -> Value {
    let steps: serde_json::Map<String, Value> = MailStep::ALL
        .iter()
        .map(|&step| (step, measured.times(step)))
        .filter(|(_, times)| times.count() > 0)
        .map(|(step, times)| {
            let seconds = |share| times.quantile_ns(share) as f64 * 1e-9;
            let row = json!({
                "count": times.count(),
                "p50_seconds": seconds(0.5),
                "p99_seconds": seconds(0.99),
                "p999_seconds": seconds(0.999),
            });
            (step.name().to_owned(), row)
        })
        .collect();
    json!({
        "elapsed_seconds": elapsed_seconds,
        "delivered_per_second": measured.counts.delivered as f64 / elapsed_seconds,
        "counts": measured.counts,
        "steps": steps,
    })
}
