//! The descriptions of throughput over workers: the law, its rival, and whether the trials contradict them.

use super::{Logs, ScalingBend, ScalingLaw};
use crate::centre::{Centre, FEWEST, Student, chance_of_all, exp};
use crate::curve::{CholeskyFactor, dot};

/// Fewer numbers of workers contradict no law.
const FEWEST_LEVELS: usize = 4;
/// A law is contradicted where chance makes deviations as large in fewer of the runs…
const LACKS_FIT: f64 = 0.01;
/// …and one of them is larger than this share.
const MATERIAL: f64 = 0.01;
/// The rival of a law is worse by so much on the scale of twice the log likelihood.
const WORSE: f64 = 10.0;
/// The law has no negative share; so much is noise.
const LEAST_SERIAL: f64 = -0.02;
/// Error rate of the claim that κ is not 0.
const TURNS: f64 = 0.005;
/// Steps of a fit.
const STEPS: usize = 60;

/// The descriptions that are named.
#[derive(Default)]
pub(super) struct Models {
    pub(super) law: Option<ScalingLaw>,
    pub(super) bend: Option<ScalingBend>,
}

/// The means of complete trials, and their deviations.
struct Data {
    /// Numbers of workers, from one on.
    workers: Vec<f64>,
    /// The logarithm of throughput over that of one worker, without the loss of the reference.
    means: Vec<f64>,
    /// The deviations of the trials from the means, a row per trial.
    rows: Vec<Vec<f64>>,
}

impl Data {
    fn new(trials: &[Logs], levels: &[u64]) -> Data {
        let row = |trial: &Logs| -> Vec<f64> {
            let speedup = |&level: &u64| trial.efficiency(level) + (level as f64).ln();
            std::iter::once(0.0).chain(levels.iter().map(speedup)).collect()
        };
        let rows: Vec<Vec<f64>> =
            trials.iter().map(row).filter(|row| row.iter().all(|log| log.is_finite())).collect();
        let mean = |level: usize| rows.iter().map(|row| row[level]).sum::<f64>() / rows.len() as f64;
        let means: Vec<f64> = (0..=levels.len()).map(mean).collect();
        let deviation = |row: &Vec<f64>| row.iter().zip(&means).map(|(log, mean)| log - mean).collect();
        Data {
            workers: std::iter::once(1.0).chain(levels.iter().map(|&level| level as f64)).collect(),
            rows: rows.iter().map(deviation).collect(),
            means,
        }
    }
}

/// A fitted description: log X = λ + f(N; p), with two parameters p.
struct Model {
    parameters: [f64; 2],
    /// How far a deviation at each number of workers moves each parameter.
    weights: [Vec<f64>; 2],
    /// Of each trial, the deviations that no parameter explains.
    residuals: Vec<Vec<f64>>,
    /// Of the means.
    rest: Vec<f64>,
}

/// The logarithm of relative throughput, and its derivative by each parameter.
type Shape<'a> = &'a dyn Fn(f64, [f64; 2]) -> Option<(f64, [f64; 2])>;

fn law_at(workers: f64, [serial, coherence]: [f64; 2]) -> Option<(f64, [f64; 2])> {
    let (others, pairs) = (workers - 1.0, workers * (workers - 1.0));
    let delay = 1.0 + serial * others + coherence * pairs;
    (delay > 0.0).then(|| (workers.ln() - delay.ln(), [-others / delay, -pairs / delay]))
}

/// The second parameter is not used.
fn bend_at(workers: f64, after: f64, ratio: f64) -> Option<(f64, [f64; 2])> {
    let more = (workers - after).max(0.0);
    let sum = workers.min(after) + ratio * more;
    (sum > 0.0).then(|| (sum.ln(), [more / sum, 0.0]))
}

impl Model {
    /// Gauss and Newton, with shorter steps where one leads nowhere.
    fn fit(data: &Data, count: usize, start: [f64; 2], shape: Shape<'_>) -> Option<Model> {
        let evaluate = |parameters: [f64; 2]| -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
            let at: Option<Vec<_>> = data.workers.iter().map(|&workers| shape(workers, parameters)).collect();
            let at = at?;
            let level =
                at.iter().zip(&data.means).map(|((log, _), mean)| mean - log).sum::<f64>() / at.len() as f64;
            let rest = at.iter().zip(&data.means).map(|((log, _), mean)| mean - log - level).collect();
            let column = |place: usize| at.iter().map(|(_, slopes)| slopes[place]).collect();
            Some((rest, (0..count).map(column).collect()))
        };
        let squares = |rest: &[f64]| dot(rest, rest);
        let mut parameters = start;
        let (mut rest, mut columns) = evaluate(parameters)?;
        for _ in 0..STEPS {
            let weights = pseudo_inverse(&columns)?;
            let step: Vec<f64> = weights.iter().map(|row| dot(row, &rest)).collect();
            let mut length = 1.0;
            let better = loop {
                let mut next = parameters;
                next.iter_mut().zip(&step).for_each(|(parameter, step)| *parameter += length * step);
                match evaluate(next) {
                    Some(found) if squares(&found.0) <= squares(&rest) => break Some((next, found)),
                    _ if length < 1e-6 => break None,
                    _ => length /= 2.0,
                }
            };
            let Some((next, found)) = better else { break };
            let is_settled = squares(&rest) - squares(&found.0) <= 1e-14 + 1e-10 * squares(&rest);
            (parameters, (rest, columns)) = (next, found);
            if is_settled {
                break;
            }
        }
        let mut weights = pseudo_inverse(&columns)?;
        weights.resize(2, vec![0.0; rest.len()]);
        let residual = |row: &Vec<f64>| -> Vec<f64> {
            let level = row.iter().sum::<f64>() / row.len() as f64;
            let moved: Vec<f64> = weights.iter().map(|weights| dot(weights, row)).collect();
            let explained = |place: usize| -> f64 {
                let parts = columns.iter().zip(&moved);
                // A column is centred, because the level is free.
                parts.map(|(column, moved)| moved * (column[place] - centre_of(column))).sum()
            };
            (0..row.len()).map(|place| row[place] - level - explained(place)).collect()
        };
        let residuals = data.rows.iter().map(residual).collect();
        let weights: [Vec<f64>; 2] = weights.try_into().ok()?;
        Some(Model { parameters, weights, residuals, rest })
    }

    /// The parameter of every trial, to first order.
    fn of_trials(&self, data: &Data, place: usize) -> Vec<f64> {
        data.rows.iter().map(|row| self.parameters[place] + dot(&self.weights[place], row)).collect()
    }

    /// Whether the trials contradict it.
    fn lacks_fit(&self, seed: u64) -> bool {
        let is_material = self.rest.iter().any(|rest| rest.abs() > MATERIAL);
        let rows: Vec<Vec<f64>> = self
            .residuals
            .iter()
            .map(|row| row.iter().zip(&self.rest).map(|(own, common)| own + common).collect())
            .collect();
        is_material && chance_of_all(&rows, seed) < LACKS_FIT
    }

    /// Twice the log likelihood that the means lose against a free curve.
    fn misfit(&self, variance: f64) -> f64 {
        self.residuals.len() as f64 * dot(&self.rest, &self.rest) / variance
    }
}

/// The variance of one value, without the part that shifts a whole trial.
fn variance(data: &Data) -> f64 {
    let levels = data.workers.len() as f64;
    let squares = |row: &Vec<f64>| {
        let level = row.iter().sum::<f64>() / levels;
        row.iter().map(|value| (value - level).powi(2)).sum::<f64>()
    };
    let freedom = (data.rows.len() as f64 - 1.0) * (levels - 1.0);
    (data.rows.iter().map(squares).sum::<f64>() / freedom).max(f64::MIN_POSITIVE)
}

fn centre_of(column: &[f64]) -> f64 {
    column.iter().sum::<f64>() / column.len() as f64
}

/// The rows that give the least squares coefficients of these columns beside a free level. Columns are
/// scaled, because pairs of workers are many more than workers.
fn pseudo_inverse(columns: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let centred: Vec<Vec<f64>> =
        columns.iter().map(|column| column.iter().map(|value| value - centre_of(column)).collect()).collect();
    let scales: Vec<f64> = centred.iter().map(|column: &Vec<f64>| dot(column, column).sqrt()).collect();
    if scales.iter().any(|scale| *scale <= f64::MIN_POSITIVE) {
        return None;
    }
    let product =
        |one: usize, other: usize| dot(&centred[one], &centred[other]) / (scales[one] * scales[other]);
    let factor = CholeskyFactor::new(
        (0..columns.len()).map(|row| (0..=row).map(|column| product(row, column)).collect()).collect(),
    )?;
    let levels = columns.first()?.len();
    let mut rows = vec![vec![0.0; levels]; columns.len()];
    for level in 0..levels {
        let at: Vec<f64> = centred.iter().zip(&scales).map(|(column, scale)| column[level] / scale).collect();
        for (row, value) in factor.solve(&at).into_iter().enumerate() {
            rows[row][level] = value / scales[row];
        }
    }
    Some(rows)
}

impl Models {
    pub(super) fn new(
        trials: &[Logs],
        levels: &[u64],
        borders: &[u64],
        (alpha, seed): (f64, u64),
    ) -> Option<Models> {
        let data = Data::new(trials, levels);
        if data.workers.len() < FEWEST_LEVELS || data.rows.len() < FEWEST as usize {
            return None;
        }
        let variance = variance(&data);
        let student = Student::new(alpha);
        let law = Model::fit(&data, 2, [0.01, 0.0], &law_at)?;
        let broken = |&after: &u64| {
            let after_workers = after as f64;
            let shape = move |workers, [ratio, _]: [f64; 2]| bend_at(workers, after_workers, ratio);
            Some((after, Model::fit(&data, 1, [0.5, 0.0], &shape)?))
        };
        // A break that a single number shows is the rival of a law, but is not named.
        let inner = levels.iter().take(levels.len().saturating_sub(1)).filter_map(broken);
        let best = inner.min_by(|one, other| one.1.misfit(variance).total_cmp(&other.1.misfit(variance)));
        let law_misfit = law.misfit(variance);
        let bend_misfit = best.as_ref().map_or(f64::INFINITY, |(_, model)| model.misfit(variance));
        let mut models = Models::default();
        if !law.lacks_fit(seed) && law_misfit + WORSE < bend_misfit {
            models.law = law_of(&law, &data, &student);
        }
        let is_shown = |after: u64| levels.iter().filter(|level| **level > after).count() > 1;
        if let Some((after, model)) = best.filter(|_| bend_misfit + WORSE < law_misfit)
            && is_shown(after)
            && !model.lacks_fit(seed)
        {
            let ratio = Centre::new(&model.of_trials(&data, 0))?.interval(&student);
            models.bend = Some(ScalingBend { after, ratio, is_border: borders.contains(&after) });
        }
        Some(models)
    }
}

/// The parameters with their intervals, and the claims that follow.
fn law_of(model: &Model, data: &Data, student: &Student) -> Option<ScalingLaw> {
    let (serials, coherences) = (model.of_trials(data, 0), model.of_trials(data, 1));
    let serial = Centre::new(&serials)?.interval(student);
    if serial.value < LEAST_SERIAL {
        return None;
    }
    let coherence = Centre::new(&coherences)?;
    // That throughput falls is the stronger claim, of which fewer may be wrong.
    let is_certain = coherence.value > 0.0 && coherence.is_beyond(TURNS);
    let coherence = coherence.interval(student);
    let has_ceiling = serial.low > 0.0 && !is_certain && coherence.high > 0.0;
    let ceiling = has_ceiling.then(|| serial.reciprocal());
    let [at_serial, at_coherence] = model.parameters;
    let peak = (is_certain && at_serial < 1.0).then(|| {
        let middle = ((1.0 - at_serial) / at_coherence).ln() / 2.0;
        let of_trial = |(serial, coherence): (&f64, &f64)| {
            let by_serial = -(serial - at_serial) / (1.0 - at_serial) / 2.0;
            middle + by_serial - (coherence - at_coherence) / at_coherence / 2.0
        };
        let logs: Vec<f64> = serials.iter().zip(&coherences).map(of_trial).collect();
        Centre::new(&logs).map(|centre| exp(centre.interval(student)))
    });
    Some(ScalingLaw { serial, coherence, ceiling, peak: peak.flatten() })
}
