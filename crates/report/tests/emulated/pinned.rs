//! Verdicts and answers set by hand, so that what is shown here changes only when the showing changes.

use report::Findings;
use report::compare::Comparison;
use stats::{Answer, Class, Interval, Verdict, Warning};

fn around(value: f64, share: f64) -> Interval {
    Interval { value, low: value * (1.0 - share), high: value * (1.0 + share) }
}

/// Gives every verdict of an emulated run the costs of its truth.
pub(crate) fn pin(findings: &mut Findings) {
    for finding in &mut findings.series {
        let Some(verdict) = &mut finding.verdict else { continue };
        let (class, bound, peak, first, last) = match finding.label.as_str() {
            "socket" => (Class::Flat, 0.028, 0.011, 1.214e-6, 1.226e-6),
            "socket close" => (Class::Flat, 0.0502, -0.02, 0.83e-6, 0.82e-6),
            "bind" => (Class::LinearLike, 2212.0, 2180.0, 0.506e-6, 1.104e-3),
            "fork" => (Class::LinearLike, 1.53, 1.48, 120.4e-6, 298.6e-6),
            "fork reap" => (Class::SmallGrowth, 0.078, 0.062, 41.2e-6, 43.7e-6),
            "mmap" => (Class::Inconclusive, 0.33, 0.06, 2.4e-6, 2.5e-6),
            "ready/select select" => (Class::LinearLike, 13.9, 13.2, 0.86e-6, 11.7e-6),
            _ => (Class::Decreasing, 0.24, -0.13, 9.1e-6, 7.9e-6),
        };
        verdict.class = class;
        verdict.n_low = 10;
        verdict.n_high = finding.measurements as u64 / finding.trials as u64 - 1;
        verdict.trials = 10;
        (verdict.bound, verdict.peak, verdict.certain) = (bound, peak, peak - 0.01);
        verdict.trials_needed = (class == Class::Inconclusive).then_some(40);
        verdict.growth = around(last / first, 0.02);
        verdict.marginal_cost = around((last - first) / (verdict.n_high - 10) as f64, 0.05);
        verdict.doubling_size =
            (class == Class::LinearLike).then(|| around(first / verdict.marginal_cost.value, 0.1));
        verdict.top_decade_slope = around(0.42, 0.1);
        (verdict.cost_low, verdict.cost_high) = (around(first, 0.03), around(last, 0.04));
        verdict.warnings = vec![];
        finding.remarks = vec![];
        set_blocks(verdict, first, last, finding.label == "bind");
        if finding.label == "thread create" {
            verdict.warnings = vec![Warning::UnequalRange { trials_left_out: 2 }];
        }
    }
}

/// Twelve ranges of n, from the first cost to the last along a line, or with a cliff before the last two.
fn set_blocks(verdict: &mut Verdict, first: f64, last: f64, cliff: bool) {
    let (low, high) = (verdict.n_low, verdict.n_high);
    let edge = |i: u32| low + ((high - low) as f64 * f64::from(i * i) / 144.0) as u64;
    let block = |i: u32| {
        let share = f64::from(i * i) / 121.0;
        let cost = match cliff {
            true if i >= 10 => last,
            true => first * (1.0 + 0.08 * f64::from(i)),
            false => first + (last - first) * share,
        };
        let n_high = if i == 11 { high } else { edge(i + 1) - 1 };
        stats::Block {
            n_low: edge(i),
            n_high,
            cost: around(cost, 0.04),
            relative: around(cost / first, 0.02),
        }
    };
    verdict.blocks = (0..12).map(block).collect();
}

/// Gives the first answers of a comparison the five kinds there are.
pub(crate) fn pin_answers(compared: &mut Comparison) {
    let kinds = [
        (Answer::DifferentButSmall, around(1.015, 0.01), None),
        (Answer::Equivalent, around(1.0, 0.024), None),
        (Answer::Faster, around(0.39, 0.02), None),
        (Answer::Slower, around(1.18, 0.025), None),
        (Answer::Unresolved, around(0.98, 0.05), None),
        (Answer::Unresolved, around(1.02, 0.06), Some(34)),
    ];
    for (i, row) in compared.rows.iter_mut().enumerate() {
        for (j, answer) in row.answers.iter_mut().flatten().enumerate() {
            let (kind, ratio, needed) = kinds[(i + 5 * j) % kinds.len()];
            (answer.answer, answer.ratio, answer.trials_needed) = (kind, ratio, needed);
            (answer.n_low, answer.n_high, answer.trials) = (10, 19_999, (20, 20));
            let at = |low, high, ratio: f64| (low, high, around(ratio, 0.05));
            answer.blocks = match (i, j) {
                // One of two depends on n altogether, the other in its last part.
                (4, 0) => {
                    vec![at(10, 99, 0.8), at(100, 3_999, 0.85), at(4_000, 4_599, 1.0), at(4_600, 19_999, 1.4)]
                }
                (2, 0) => vec![at(10, 99, 1.0), at(100, 14_179, 1.0), at(14_180, 19_999, 0.001)],
                _ => vec![at(10, 99, ratio.value), at(100, 19_999, ratio.value)],
            };
        }
    }
}
