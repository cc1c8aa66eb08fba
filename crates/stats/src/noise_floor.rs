//! The noise floor: the ratio that a system shows when it is measured against itself.

use fastrand::Rng;

use crate::centre::{Centre, Interval};

/// Pairs of trials from which a floor is computed, and to which it applies: those of the first look. More
/// trials make the intervals of a comparison narrower, but one afternoon does not show differences from day
/// to day; so the floor does not fall with more trials.
pub const FLOOR_PAIRS: u32 = 10;

/// The share of the ratios of equal things that lie within the floor.
const LEVEL: f64 = 0.95;

/// Ratios drawn for each series: the 95 % quantile of so many errs by about 3 % of itself.
const DRAWS: usize = 2000;

/// One series of a system measured against itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfRatio {
    /// The ratio of a comparison at 5 %, as if there were no other series.
    pub ratio: Interval,
    /// The logarithm of the ratio of each pair of trials.
    pub pairs: Vec<f64>,
}

/// The apparent difference of a system from itself.
#[derive(Clone, Debug, PartialEq)]
pub struct FloorEstimate {
    /// The floor over all series, as a share: 0.02 is 2 %.
    pub share: f64,
    /// Share of the series whose interval excludes a ratio of one, though nothing differs.
    pub false_alarm_rate: f64,
    /// The floor of each series, as a share above 0; `None` where its pairs are fewer than [`FLOOR_PAIRS`],
    /// or where all of them are equal, which shows the clock and not the noise.
    pub series: Vec<Option<f64>>,
}

/// The noise floor of a system, from one comparison of it with itself; `None` when no series has enough pairs
/// that differ.
///
/// The floor is the 95 % quantile of |log ratio|, the ratio being that of ten pairs of trials. A run has few
/// blocks of ten pairs, so ratios are drawn from its pairs: ten of them with replacement, each turned round
/// or not at random, because the two sides are exchangeable (a randomisation distribution; Fisher, The
/// Design of Experiments, 1935, §21). The floor of a series is the quantile of its own ratios, or the ratio
/// that was seen, where that is larger; the floor over all is the quantile of all drawn ratios, or of all
/// that were seen.
pub fn noise_floor(series: &[SelfRatio], seed: u64) -> Option<FloorEstimate> {
    let mut random = Rng::with_seed(seed);
    let (mut all_drawn, mut all_seen) = (Vec::new(), Vec::new());
    let mut floors = Vec::with_capacity(series.len());
    for SelfRatio { ratio, pairs } in series {
        let pairs: Vec<f64> = pairs.iter().copied().filter(|pair| pair.is_finite()).collect();
        let seen = ratio.value.ln().abs();
        if pairs.len() < FLOOR_PAIRS as usize || !seen.is_finite() {
            floors.push(None);
            continue;
        }
        let mut drawn: Vec<f64> = (0..DRAWS).filter_map(|_| draw(&pairs, &mut random)).collect();
        let floor = quantile(&mut drawn)?.max(seen).exp_m1();
        if floor <= 0.0 {
            floors.push(None);
            continue;
        }
        floors.push(Some(floor));
        all_drawn.append(&mut drawn);
        all_seen.push(seen);
    }
    let share = quantile(&mut all_drawn)?.max(quantile(&mut all_seen)?).exp_m1();
    if share <= 0.0 {
        return None;
    }
    let judged = series.iter().zip(&floors).filter(|(_, floor)| floor.is_some());
    let is_alarm = |ratio: &Interval| ratio.low > 1.0 || ratio.high < 1.0;
    let alarms = judged.clone().filter(|(series, _)| is_alarm(&series.ratio)).count();
    Some(FloorEstimate { share, false_alarm_rate: alarms as f64 / judged.count() as f64, series: floors })
}

/// The size of the logarithm of one ratio that is pure noise.
fn draw(pairs: &[f64], random: &mut Rng) -> Option<f64> {
    let turned = |pair: f64, turn: bool| if turn { -pair } else { pair };
    let mut sample = [0.0; FLOOR_PAIRS as usize];
    sample.fill_with(|| turned(pairs[random.usize(..pairs.len())], random.bool()));
    Some(Centre::new(&sample)?.value.abs())
}

/// The least value that `LEVEL` of all do not exceed (type 1 of Hyndman & Fan, American Statistician 50,
/// 1996).
fn quantile(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let place = (values.len() as f64 * LEVEL).ceil() as usize;
    values.get(place.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::centre::{Student, exp};
    use crate::simulate::normal;

    /// A comparison of a system with itself, whose pairs differ by `spread` on the logarithmic scale.
    fn itself(count: usize, spread: f64, random: &mut Rng) -> SelfRatio {
        let pairs: Vec<f64> = (0..count).map(|_| spread * normal(random)).collect();
        let centre = Centre::new(&pairs).expect("a centre");
        SelfRatio { ratio: exp(centre.interval(&Student::new(0.05))), pairs }
    }

    #[test]
    fn few_ratios_of_the_same_machine_lie_beyond_its_floor() {
        let mut random = Rng::with_seed(1);
        let mut beyond = 0;
        let mut alarms = 0.0;
        let mut shares = 0.0;
        let (machines, later) = (20, 100);
        for seed in 0..machines {
            let series: Vec<SelfRatio> = (0..30).map(|_| itself(20, 0.1, &mut random)).collect();
            let floor = noise_floor(&series, seed).expect("a floor");
            alarms += floor.false_alarm_rate / machines as f64;
            shares += floor.share / machines as f64;
            let ratios = (0..later).map(|_| itself(10, 0.1, &mut random).ratio.value.ln().abs());
            beyond += ratios.filter(|ratio| *ratio > floor.share.ln_1p()).count();
        }
        let beyond = beyond as f64 / (machines * later) as f64;
        assert!((0.03..0.07).contains(&beyond), "{beyond} beyond the floor");
        assert!((0.03..0.07).contains(&alarms), "{alarms} false alarms");
        // 1.96 × 10 % / √10 = 6.2 %; a trimmed mean is a little wider.
        assert!((0.060..0.072).contains(&shares), "{shares}");
    }

    #[test]
    fn a_noisy_series_has_a_floor_of_its_own() {
        let mut random = Rng::with_seed(2);
        let mut series: Vec<SelfRatio> = (0..19).map(|_| itself(10, 0.01, &mut random)).collect();
        series.push(itself(10, 0.5, &mut random));
        let floor = noise_floor(&series, 3).expect("a floor");
        let own: Vec<f64> = floor.series.into_iter().flatten().collect();
        assert!(own[..19].iter().all(|share| *share < 0.02) && own[19] > 0.15, "{own:?}");
        assert!(floor.share < own[19]);
    }

    #[test]
    fn what_was_seen_is_never_above_the_floor() {
        let pairs = [0.3; 10].to_vec();
        let steady = SelfRatio { ratio: Interval { value: 1.35, low: 1.3, high: 1.4 }, pairs };
        let floor = noise_floor(&[steady], 4).expect("a floor");
        assert!(floor.share >= 0.3499 && floor.series[0] >= Some(0.3499), "{floor:?}");
        assert_eq!(floor.false_alarm_rate, 1.0);
    }

    #[test]
    fn too_few_pairs_and_odd_numbers_make_no_floor() {
        let mut random = Rng::with_seed(5);
        assert_eq!(noise_floor(&[], 1), None);
        assert_eq!(noise_floor(&[itself(9, 0.1, &mut random)], 1), None);
        let odd = SelfRatio { pairs: vec![f64::NAN; 20], ..itself(10, 0.1, &mut random) };
        assert_eq!(noise_floor(std::slice::from_ref(&odd), 1), None);
        let floor = noise_floor(&[odd, itself(10, 0.1, &mut random)], 1).expect("a floor");
        assert!(floor.series[0].is_none() && floor.series[1].is_some());
        let equal = SelfRatio { ratio: Interval { value: 1.0, low: 1.0, high: 1.0 }, pairs: vec![0.0; 10] };
        assert_eq!(noise_floor(std::slice::from_ref(&equal), 1), None, "equal pairs show no noise");
        let floor = noise_floor(&[equal, itself(10, 0.1, &mut random)], 1).expect("a floor");
        assert!(floor.series[0].is_none() && floor.share > 0.01, "{floor:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_floor() {
        let series = vec![itself(12, 0.2, &mut Rng::with_seed(6))];
        assert_eq!(noise_floor(&series, 7), noise_floor(&series, 7));
    }
}
