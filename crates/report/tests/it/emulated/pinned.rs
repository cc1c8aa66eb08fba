//! Verdicts set by hand, so that the output changes only when the writer changes.

use judge::Findings;
use stats::{
    Asymptote, Bend, Class, FittedLine, Interval, Lines, Modes, Period, Repeated, Segment, Spikes, Step,
    Verdict, Warning,
};

fn around(value: f64, share: f64) -> Interval {
    Interval { value, low: value * (1.0 - share), high: value * (1.0 + share) }
}

/// Gives every verdict of an emulated run the costs of its truth.
pub(crate) fn pin(findings: &mut Findings) {
    for finding in &mut findings.series {
        let Some(verdict) = &mut finding.verdict else { continue };
        clear(verdict);
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
        (verdict.class, verdict.classes) = (class, vec![class]);
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

/// Removes findings, so that only values set by hand are shown.
fn clear(verdict: &mut Verdict) {
    (verdict.share, verdict.limit, verdict.bend, verdict.lines) = (1.0, None, None, None);
    (verdict.exponent, verdict.local_exponents, verdict.turn) = (None, None, None);
    (verdict.steps, verdict.segments, verdict.fit, verdict.modes) = (vec![], vec![], vec![], vec![]);
    verdict.spikes = Spikes::default();
}

/// Gives the verdicts of [`super::shapes`] their true values.
pub(crate) fn pin_shapes(findings: &mut Findings) {
    for finding in &mut findings.series {
        let Some(verdict) = &mut finding.verdict else { continue };
        clear(verdict);
        (verdict.n_low, verdict.trials, verdict.warnings, verdict.share) = (10, 40, vec![], 0.97);
        (verdict.trials_needed, verdict.doubling_size, verdict.top_decade_slope) =
            (None, None, around(0.4, 0.2));
        finding.remarks = vec![];
        let class = pin_shape(&finding.label, verdict);
        verdict.class = class;
        verdict.classes = match finding.label.as_str() {
            "walk" => vec![Class::Sublinear, Class::LinearLike],
            _ => vec![class],
        };
    }
}

/// Sets the shape of the series with that label, and returns its class.
fn pin_shape(label: &str, verdict: &mut Verdict) -> Class {
    let n_high = verdict.n_high;
    match label {
        "touch" => {
            verdict.steps = vec![step(4_096, 180, 6.13)];
            verdict.segments =
                vec![stretch(10, 4_095, Class::Flat, 1.0), stretch(4_096, n_high, Class::Flat, 1.01)];
            set_truth(verdict, |n| if n >= 4096.0 { 1.9e-6 } else { 310e-9 });
            Class::Stepped
        }
        "bind" => {
            verdict.steps = vec![step(14_116, 24, 486.0)];
            verdict.segments = vec![
                stretch(10, 14_115, Class::ApproachingLimit, 4.5),
                stretch(14_116, n_high, Class::Flat, 1.0),
            ];
            verdict.limit =
                Some(Asymptote { n: Interval { value: 18_020.0, low: 17_890.0, high: 18_140.0 } });
            set_truth(verdict, super::ports);
            Class::Composite
        }
        "lookup" => {
            verdict.steps = vec![step(3_000, 40, 0.7), step(5_000, 90, 1.43)];
            set_truth(verdict, |n| if (3_000.0..5_000.0).contains(&n) { 0.70e-6 } else { 1.0e-6 });
            Class::Stepped
        }
        "fork" => {
            verdict.lines = Some(lines(
                line(0.62, Class::Flat, 61e-6, 61.4e-6, n_high),
                line(0.38, Class::LinearLike, 120e-6, 298e-6, n_high),
                0.5,
            ));
            set_truth(verdict, |_| 61e-6);
            Class::TwoLines
        }
        "wake" => {
            verdict.lines = Some(lines(
                line(0.7, Class::Flat, 2.2e-6, 2.2e-6, n_high),
                line(0.3, Class::Flat, 5.1e-6, 5.1e-6, n_high),
                1.0,
            ));
            let (n_low, lower, upper) = (15_000, 2.2e-6, 5.1e-6);
            let (upper_share, separation, persistence) = (0.3, 14.0, 1.0);
            verdict.modes = vec![Modes { n_low, n_high, lower, upper, upper_share, separation, persistence }];
            set_truth(verdict, |_| 2.2e-6);
            Class::TwoLines
        }
        "open" => {
            verdict.spikes = spikes();
            set_truth(verdict, |_| 0.83e-6);
            Class::Flat
        }
        "open (down)" => {
            set_truth(verdict, |n| if n > 4_000.0 && n < 6_000.0 { 0.93e-6 } else { 0.83e-6 });
            Class::SmallGrowth
        }
        "mmap" => {
            let n = Interval { value: 4_020.0, low: 3_870.0, high: 4_160.0 };
            verdict.bend = Some(Bend { n, before: 0.0, after: 1e-9 });
            set_truth(verdict, |n| 2.4e-6 + 0.6e-9 * (n - 4_000.0).max(0.0));
            Class::LinearLike
        }
        _ => {
            set_truth(verdict, |n| 1e-6 * (1.0 + (n / 3_000.0).sqrt()));
            verdict.share = 0.61;
            Class::Ambiguous
        }
    }
}

fn spikes() -> Spikes {
    Spikes {
        count: 3_214,
        of: 800_000,
        worst: 41.0,
        time_share: 0.031,
        repeated: [8_192, 16_384, 4_096, 2_048, 1_024]
            .map(|n| Repeated { n, trials: 38, ratio: 0.002 * n as f64 })
            .to_vec(),
        period: Some(Period::Seconds(4e-3)),
    }
}

fn step(n: u64, reach: u64, ratio: f64) -> Step {
    Step { n, n_low: n - reach, n_high: n + reach, ratio: around(ratio, 0.03), agreement: 0.98 }
}

fn stretch(n_low: u64, n_high: u64, class: Class, growth: f64) -> Segment {
    Segment { n_low, n_high, class, growth: around(growth, 0.03) }
}

fn line(share: f64, class: Class, first: f64, last: f64, n_high: u64) -> FittedLine {
    FittedLine {
        share,
        class,
        bound: 0.024,
        growth: around(last / first, 0.02),
        marginal_cost: around((last - first) / n_high as f64, 0.05),
        cost_low: around(first, 0.02),
        cost_high: around(last, 0.02),
    }
}

fn lines(lower: FittedLine, upper: FittedLine, persistence: f64) -> Lines {
    let distance = upper.cost_high.value / lower.cost_high.value;
    Lines { lower, upper, persistence, distance }
}

/// Ranges of n with the true costs, eight in each decade, and the values that follow.
fn set_truth(verdict: &mut Verdict, cost: fn(f64) -> f64) {
    let (low, high) = (verdict.n_low as f64, verdict.n_high as f64);
    let count = (8.0 * (high / low).log10()).round() as i32;
    let edge = |i: i32| (low * (high / low).powf(f64::from(i) / f64::from(count))).round() as u64;
    let block = |i: i32| {
        let (n_low, n_high) = (edge(i), if i + 1 == count { edge(count) } else { edge(i + 1) - 1 });
        let cost_here = cost((n_low as f64 + n_high as f64) / 2.0);
        stats::Block {
            n_low,
            n_high,
            cost: around(cost_here, 0.04),
            relative: around(cost_here / cost(low), 0.02),
        }
    };
    verdict.blocks = (0..count).map(block).collect();
    let (first, last) = (cost(low), cost(high));
    (verdict.cost_low, verdict.cost_high) = (around(first, 0.02), around(last, 0.02));
    verdict.growth = around(last / first, 0.03);
    verdict.marginal_cost = around((last - first) / (high - low), 0.05);
    verdict.peak = last / first - 1.0;
    (verdict.bound, verdict.certain) = (verdict.peak.abs() * 1.1 + 0.02, verdict.peak - 0.02);
}
