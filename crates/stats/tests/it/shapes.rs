//! What is said of a shape beside its name: where a limit, a bend and a step are, and how steep a power is.

use crate::simulation::QUIET;
use crate::verdict::{along, share, verdicts};
use stats::Class;

/// A cost at one n.
type Truth = fn(f64) -> f64;

/// Half a decade.
const NEAR: f64 = 3.17;

#[test]
fn a_limit_lies_beyond_what_was_measured_and_near() {
    // Truths, and how many of twelve verdicts name their limit at least; those without one have none.
    let truths: [(&str, Truth, usize); 7] = [
        ("just beyond", |n| 1.0 + 3.0 / (1.0 - along(n) / 1.001), 10),
        ("near", |n| 1.0 + 0.1 / (1.0 - along(n) / 1.05), 11),
        ("far", |n| 100.0 / (1.0 - along(n) / 3.0) - 99.9, 0),
        ("too far", |n| 100.0 / (1.0 - along(n) / 10.0) - 99.9, 0),
        ("too far, and little", |n| 1.0 / (1.0 - along(n) / 10.0), 0),
        ("passed", |n| 1.0 + 3.0 / (1.0 - along(n) / 0.997).max(0.003), 0),
        ("just passed", |n| 1.0 + 3.0 / (1.0 - along(n) / 0.999).max(0.001), 0),
    ];
    for (name, truth, at_least) in truths {
        let verdicts = verdicts(12, 10, QUIET, truth);
        let limits: Vec<_> =
            verdicts.iter().filter_map(|verdict| Some((verdict, verdict.limit?.n))).collect();
        assert!(limits.len() >= at_least, "{name}: {} of 12", limits.len());
        for (verdict, n) in &limits {
            let n_high = verdict.n_high as f64;
            assert!(n.low > n_high && n.value <= NEAR * n_high, "{name}: {n:?}");
        }
        let none = name.starts_with("too far") || name.ends_with("passed");
        assert!(!none || share(&verdicts, Class::ApproachingLimit) == 0.0, "{name}");
    }
}
