//! Emulated operations of several workers at once.

use record::{Direction, Expect, Line, Processors, Recording, Series, SeriesKind, Shape, System, Unit};

/// Throughput of so many workers relative to that of one.
pub(crate) type Speedup = fn(f64) -> f64;

/// The Universal Scalability Law with these σ and κ.
pub(crate) fn law(workers: f64, serial: f64, coherence: f64) -> f64 {
    workers / (1.0 + serial * (workers - 1.0) + coherence * workers * (workers - 1.0))
}

/// Variants of an operation by their throughput relative to one worker, on a machine with so many processors.
pub(crate) fn run(variants: &[(&'static str, Speedup)], workers: u64, seed: u64) -> Recording {
    let emulated: Vec<super::Emulated> = variants
        .iter()
        .map(|(variant, speedup)| {
            let curve =
                super::Curve { cost: *speedup, between: 0.01, within: 0.0, n: workers + 1, twin: None };
            let series = vec![("rate", Direction::Up, Expect::Any, curve)];
            super::Emulated { variant, ..super::one("cores-map", "workers", series) }
        })
        .collect();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut lines = Vec::new();
    for line in super::lines(machine(workers), &emulated, 10, seed) {
        match line {
            Line::Workload(mut workload) => {
                workload.shape = Shape::Scaling;
                workload.series[0].unit = Unit::PerSecond;
                for (name, unit) in
                    [("slowdown", Unit::None), ("slowest", Unit::PerSecond), ("fastest", Unit::PerSecond)]
                {
                    let rate = workload.series[0].clone();
                    workload.series.push(SeriesKind { name: name.into(), detail: true, unit, ..rate });
                }
                lines.push(Line::Workload(workload));
            }
            Line::Series(rates) => lines.extend(derived(rates, &mut rng).map(Line::Series)),
            other => lines.push(other),
        }
    }
    Recording::new(lines).expect("begins with its run line")
}

fn machine(workers: u64) -> System {
    let count = workers.to_string();
    let mut system = super::system("local", &[("cpu.count", &count)]);
    let online = u32::try_from(workers).expect("few processors");
    let usable = (0..online).collect();
    system.processors = Some(Processors { online, usable, trial: None, server: None, borders: Vec::new() });
    system
}

/// The throughput with noise of its own at each number of workers, and the series that are derived from it.
fn derived(mut rates: Series, rng: &mut fastrand::Rng) -> impl Iterator<Item = Series> + use<> {
    // There is no level without workers.
    rates.values.remove(0);
    rates.n_first = 1;
    for rate in &mut rates.values {
        *rate *= 1e6 * (0.01 * super::normal(rng)).exp();
    }
    let of_each = |rate: f64, place: usize| rate / (place + 1) as f64;
    let series = |name: &str, value: &dyn Fn(f64, usize) -> f64| {
        let values = rates.values.iter().enumerate().map(|(place, rate)| value(*rate, place)).collect();
        Series { name: name.into(), values, ..rates.clone() }
    };
    let one = rates.values[0];
    [
        series("slowdown", &|rate, place| one / of_each(rate, place)),
        series("slowest", &|rate, place| of_each(rate, place) * (1.0 - 0.01 * place as f64)),
        series("fastest", &|rate, place| of_each(rate, place) * (1.0 + 0.01 * place as f64)),
        rates,
    ]
    .into_iter()
}
