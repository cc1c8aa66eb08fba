//! What `osdyno mail` prints at its end.

use std::fmt::Write as _;

use ::report::quantity::{duration, time};
use ::report::words::count;
use mail::{Delivered, MailStep};
use serde_json::{Value, json};

/// The percentiles that are printed.
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

/// Of those that a server accepted, per second of the work on them: the time in which the engine only waited
/// for the time of another attempt is no part of it.
fn rate(delivered: &Delivered) -> f64 {
    let accepted = delivered.measured.counts.accepted() as f64;
    accepted / seconds(delivered.delivering_ns).max(f64::MIN_POSITIVE)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// What became of the recipients, the rate, and the time that each step took.
pub(super) fn summary(delivered: &Delivered, is_test: bool) -> String {
    let (measured, counts) = (&delivered.measured, &delivered.measured.counts);
    let mut lines = format!(
        "{} {} per second: {} in {}",
        count(rate(delivered) as u64),
        if is_test { "test deliveries" } else { "deliveries" },
        count(counts.accepted()),
        duration(seconds(delivered.delivering_ns))
    );
    let waiting_ns = delivered.elapsed_ns - delivered.delivering_ns;
    if waiting_ns > 0 {
        // Writing to a text cannot fail.
        let _ = write!(lines, ", and {} of waiting for the next attempts", duration(seconds(waiting_ns)));
    }
    lines.push_str("\n\n");
    let rows = [
        (if is_test { "tested" } else { "delivered" }, counts.accepted()),
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
pub(super) fn json(delivered: &Delivered) -> Value {
    let measured = &delivered.measured;
    let steps: serde_json::Map<String, Value> = MailStep::ALL
        .iter()
        .map(|&step| (step, measured.times(step)))
        .filter(|(_, times)| times.count() > 0)
        .map(|(step, times)| {
            let quantile = |share| seconds(times.quantile_ns(share));
            let row = json!({
                "count": times.count(),
                "p50_seconds": quantile(0.5),
                "p99_seconds": quantile(0.99),
                "p999_seconds": quantile(0.999),
            });
            (step.name().to_owned(), row)
        })
        .collect();
    json!({
        "elapsed_seconds": seconds(delivered.elapsed_ns),
        "delivering_seconds": seconds(delivered.delivering_ns),
        "waiting_seconds": seconds(delivered.elapsed_ns - delivered.delivering_ns),
        "deliveries_per_second": rate(delivered),
        "counts": measured.counts,
        "steps": steps,
    })
}
