//! Comparisons of emulated systems: one run of three, and answers set by hand, so that the output changes
//! only when the writer changes.

use judge::compare::Comparison;
use record::{Line, NoiseFloor, Outcome, Recording};
use stats::{Answer, Crossing, Interval, Rank};

use super::{Emulated, lines, mixed, normal, system};

fn around(value: f64, share: f64) -> Interval {
    Interval { value, low: value * (1.0 - share), high: value * (1.0 + share) }
}

/// Three systems of one run, trial beside trial, on a machine whose level wanders by a fifth. The second
/// has a more expensive fork and stops early, the third has cheap sockets and no mappings; the floor is 2 %.
pub(crate) fn one_run_of_three(n: u64) -> Recording {
    let quiet = || {
        let mut all: Vec<Emulated> = mixed(n).into_iter().take(4).collect();
        all.iter_mut().flat_map(|w| &mut w.series).for_each(|(_, _, _, curve)| curve.between = 0.01);
        all
    };
    let (plain, mut sandbox, mut other) = (quiet(), quiet(), quiet());
    sandbox[2].series[0].3.cost = |n| 151e-6 + 9e-9 * n;
    sandbox[2].stopping = u32::MAX;
    sandbox[2].outcome = Outcome::Limit {
        n: 2_000,
        operation: "fork".into(),
        error: "EAGAIN".into(),
        advice: "The sandbox allows so many processes.".into(),
    };
    other[0].series[0].3.cost = |n| 0.9e-6 + 0.15e-9 * n;
    other[3].stopping = u32::MAX;
    other[3].outcome = Outcome::Unsupported { reason: "this system has no mmap".into() };

    let floor = NoiseFloor {
        share: 0.02,
        false_alarm_rate: 0.04,
        trials: 20,
        measured_at: "2026-11-21T19:00:00Z".into(),
        run: "aa.osdyno".into(),
        series: [].into(),
    };
    let mut rng = fastrand::Rng::with_seed(5);
    let levels: Vec<f64> = (0..20).map(|_| (0.2 * normal(&mut rng)).exp()).collect();
    let mut all: Vec<Line> = Vec::new();
    for (seed, (name, workloads)) in
        [("plain", plain), ("sandbox", sandbox), ("other", other)].iter().enumerate()
    {
        let mut system = system(name, &[("sandbox", name)]);
        system.noise_floor = Some(floor.clone());
        for mut line in lines(system, workloads, 20, 31 + seed as u64) {
            match &mut line {
                Line::Run(run) => run.paired = true,
                Line::Series(series) => {
                    let level = levels[series.trial as usize - 1];
                    series.values.iter_mut().for_each(|value| *value *= level);
                }
                _ => {}
            }
            // One head, one end, one definition of each workload: all three have the same.
            let once = matches!(line, Line::Run(_) | Line::Workload(_) | Line::End(_));
            if !once || seed == 0 {
                all.push(line);
            }
        }
    }
    Recording::new(all).expect("begins with its run line")
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
    for (i, row) in compared.rankings.iter_mut().enumerate() {
        let answers = row.standings.iter_mut().filter_map(|standing| standing.overall.as_mut());
        for (j, ratio) in answers.enumerate() {
            let answer = &mut ratio.comparison;
            let (kind, ratio, needed) = kinds[(i + 5 * j) % kinds.len()];
            (answer.answer, answer.ratio, answer.trials_needed) = (kind, ratio, needed);
            (answer.n_low, answer.n_high, answer.trials) = (10, 19_999, (20, 20));
            (answer.ends, answer.crossings) = ((19_999, 19_999), Vec::new());
            let at = |low, high, ratio: f64| (low, high, around(ratio, 0.05));
            answer.blocks = match (i, j) {
                // One of two depends on n altogether, the other in its last part.
                (4, 0) => {
                    vec![at(10, 99, 0.8), at(100, 3_999, 0.85), at(4_000, 4_599, 1.0), at(4_600, 19_999, 1.4)]
                }
                (2, 0) => vec![at(10, 99, 1.0), at(100, 14_179, 1.0), at(14_180, 19_999, 0.001)],
                _ => vec![at(10, 99, ratio.value), at(100, 19_999, ratio.value)],
            };
            if (i, j) == (4, 0) {
                answer.crossings =
                    vec![Crossing { n: 4_312.0, n_low: 2_050.0, n_high: 4_890.0, faster_below: true }];
            }
        }
    }
    for (j, mean) in compared.means.iter_mut().flatten().enumerate() {
        let value = [1.02, 0.81][j % 2];
        // Without pairs it has no interval.
        let ratio = around(value, 0.03);
        mean.ratio = if mean.ratio.high.is_finite() { ratio } else { Interval { value, ..mean.ratio } };
        mean.of = 6;
    }
    let place = |best, worst| Some(Rank { best, worst, of: 3 });
    for row in &mut compared.rankings {
        for (standing, pinned) in row.standings.iter_mut().zip([place(2, 3), place(2, 3), place(1, 1)]) {
            standing.rank = standing.rank.and(pinned);
        }
    }
}
