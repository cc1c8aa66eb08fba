//! Hosts of a fleet: a published example, and error rates of simulated fleets.

use fastrand::Rng;
use stats::{
    Deviations, HostEffect, HostSweeps, NoCost, Outlier, Sweep, host_costs, moderated, outlying, pooled,
};

use crate::simulation::normal;

/// Log risk ratios of thirteen trials of the BCG vaccine, and their variances (Colditz et al., JAMA 271,
/// 1994; `dat.bcg` of metafor).
const BCG: [(f64, f64); 13] = [
    (-0.889_311_33, 0.325_584_77),
    (-1.585_388_66, 0.194_581_12),
    (-1.348_073_15, 0.415_367_97),
    (-1.441_551_19, 0.020_010_03),
    (-0.217_547_32, 0.051_210_17),
    (-0.786_115_59, 0.006_905_62),
    (-1.620_898_22, 0.223_017_25),
    (0.011_952_33, 0.003_961_58),
    (-0.469_417_65, 0.056_434_21),
    (-1.371_344_80, 0.073_024_79),
    (-0.339_358_83, 0.012_412_21),
    (0.445_913_40, 0.532_505_85),
    (-0.017_313_95, 0.071_404_66),
];

fn is_near(found: f64, known: f64) {
    assert!((found - known).abs() < 5e-4, "{found}, known is {known}");
}

/// metafor: `rma(yi, vi, method = "DL", test = "knha")` gives the estimate −0.7141, tau² 0.3088, I² 92.12 %
/// and the interval −1.1078 to −0.3204. The prediction interval by its formula: −0.7141 ± 2.2010·√(0.5057 +
/// 0.1807²), with t of 11 degrees and the tau² at which Q is 8.4384, the lower quartile of χ² of 12 degrees;
/// with tau² as estimated it would be −2.0002 to 0.5719.
#[test]
fn the_mean_of_the_bcg_trials_is_the_published_one() {
    let effects =
        BCG.map(|(value, variance)| HostEffect { value, error: variance.sqrt(), freedom: f64::INFINITY });
    let all = pooled(&effects).expect("a mean");
    let (mean, further) = (all.mean(0.05), all.prediction(0.05).expect("enough trials"));
    [(mean.value, -0.7141), (mean.low, -1.1078), (mean.high, -0.3204)]
        .into_iter()
        .chain([(further.value, -0.7141), (further.low, -2.3290), (further.high, 0.9007)])
        .for_each(|(found, known)| is_near(found.ln(), known));
    is_near(all.variance_between(), 0.3088);
    is_near(all.between_share, 0.9212);
    is_near(all.spread(), 0.308_76_f64.sqrt().exp_m1());
    // Variances that are known need nothing of each other.
    assert_eq!(moderated(&effects), effects);
}

#[test]
fn few_hosts_have_no_prediction_and_one_has_no_mean() {
    let effect = |value| HostEffect { value, error: 0.01, freedom: 4.0 };
    assert_eq!(pooled(&[effect(0.0)]), None);
    let two = pooled(&[effect(0.0), effect(0.02)]).expect("a mean");
    assert_eq!(two.prediction(0.05), None);
    assert!(two.mean(0.05).low < 1.0 && two.mean(0.05).high > 1.02);
    // Exact values that agree have an exact mean.
    let exact = HostEffect { error: 0.0, ..effect(1.0) };
    let mean = pooled(&[exact; 4]).expect("a mean").mean(0.05);
    assert!((mean.low / mean.high - 1.0).abs() < 1e-6, "{mean:?}");
}

/// A simulated fleet: standard deviations of logarithms.
#[derive(Clone, Copy)]
struct Fleet {
    hosts: usize,
    trials: usize,
    /// Of the trials of one host.
    within: f64,
    /// Of the hosts.
    between: f64,
    /// How much noisier the second host is.
    noisy: f64,
}

const USUAL: Fleet = Fleet { hosts: 8, trials: 5, within: 0.02, between: 0.01, noisy: 1.0 };

impl Fleet {
    fn host(&self, place: usize, slow: f64, random: &mut Rng) -> HostEffect {
        let level = slow.ln() + self.between * normal(random);
        let within = self.within * if place == 1 { self.noisy } else { 1.0 };
        let trials: Vec<f64> = (0..self.trials).map(|_| level + within * normal(random)).collect();
        let count = self.trials as f64;
        let value = trials.iter().sum::<f64>() / count;
        let squares: f64 = trials.iter().map(|trial| (trial - value).powi(2)).sum();
        HostEffect { value, error: (squares / (count * (count - 1.0))).sqrt(), freedom: count - 1.0 }
    }

    /// Series of one fleet; hosts that are slower are so in each of them.
    fn series(&self, series: usize, slow: &[(usize, f64)], random: &mut Rng) -> Vec<Vec<HostEffect>> {
        let factor = |host: usize| slow.iter().find(|one| one.0 == host).map_or(1.0, |one| one.1);
        let one = |random: &mut Rng| -> Vec<HostEffect> {
            let hosts: Vec<HostEffect> =
                (0..self.hosts).map(|host| self.host(host, factor(host), random)).collect();
            moderated(&hosts)
        };
        (0..series).map(|_| one(random)).collect()
    }
}

fn named(series: &[Vec<HostEffect>], margin: f64) -> Vec<Vec<Outlier>> {
    let hosts = series.first().map_or(0, Vec::len);
    let deviations =
        series.iter().map(|one| Deviations::new(&one.iter().copied().map(Some).collect::<Vec<_>>()));
    let freedom = hosts.saturating_sub(2) * series.len();
    outlying(&mut [(deviations.collect(), freedom as f64)], 0.05, margin).remove(0)
}

/// The hosts that are named in any series.
fn hosts(outliers: &[Vec<Outlier>]) -> Vec<usize> {
    let mut hosts: Vec<usize> = outliers.iter().flatten().map(|one| one.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// Share of the simulated fleets in which exactly these hosts are named.
fn rate(fleet: Fleet, series: usize, slow: &[(usize, f64)], margin: f64, wanted: &[usize]) -> f64 {
    const RUNS: usize = 400;
    let mut random = Rng::with_seed(2026);
    let is_right = |_: &usize| hosts(&named(&fleet.series(series, slow, &mut random), margin)) == wanted;
    (0..RUNS).filter(is_right).count() as f64 / RUNS as f64
}

/// Without any margin the chance alone decides, and it holds its rate of 5 %: of 400 fleets at most 30 of
/// equal hosts have an outlier, which three standard deviations above 5 % allow.
#[test]
fn equal_hosts_are_not_named() {
    let fleets = [
        USUAL,
        Fleet { hosts: 3, ..USUAL },
        Fleet { hosts: 4, ..USUAL },
        Fleet { hosts: 5, ..USUAL },
        Fleet { hosts: 30, ..USUAL },
        Fleet { hosts: 100, ..USUAL },
        Fleet { trials: 2, ..USUAL },
        Fleet { between: 0.0, ..USUAL },
        Fleet { between: 0.05, ..USUAL },
        Fleet { noisy: 5.0, ..USUAL },
        Fleet { hosts: 30, noisy: 5.0, ..USUAL },
    ];
    for fleet in fleets {
        for series in [1, 6] {
            let quiet = rate(fleet, series, &[], 0.0, &[]);
            let Fleet { hosts, trials, between, noisy, .. } = fleet;
            println!("{hosts} hosts, {trials} trials, {between}, noisy {noisy}, {series} series: {quiet}");
            assert!(quiet >= 0.92, "{hosts} hosts, {series} series: {quiet}");
        }
    }
}

/// With the margin of 3 % at least 9 of 10 fleets of equal hosts have no outlier, and a host that is 10 %
/// slower is named, alone, in at least 9 of 10.
#[test]
fn a_slow_host_is_named_and_no_other() {
    assert!(rate(USUAL, 1, &[], 0.03, &[]) >= 0.97);
    let slow = [(3, 1.10)];
    for (fleet, series) in [
        (USUAL, 1),
        (USUAL, 6),
        (Fleet { hosts: 5, ..USUAL }, 6),
        (Fleet { hosts: 4, ..USUAL }, 12),
        (Fleet { hosts: 30, ..USUAL }, 1),
        (Fleet { hosts: 100, ..USUAL }, 6),
    ] {
        let found = rate(fleet, series, &slow, 0.03, &[3]);
        println!("{} hosts, {series} series: {found}", fleet.hosts);
        assert!(found >= 0.9, "{} hosts, {series} series: {found}", fleet.hosts);
    }
}

/// Several outliers do not hide each other.
#[test]
fn several_slow_hosts_are_named() {
    let fleet = Fleet { hosts: 12, ..USUAL };
    assert!(rate(fleet, 2, &[(2, 1.15), (5, 1.15), (9, 1.15)], 0.03, &[2, 5, 9]) >= 0.9);
    let many = Fleet { hosts: 100, ..USUAL };
    let slow: Vec<(usize, f64)> = (0..10).map(|host| (7 * host, 1.15)).collect();
    let wanted: Vec<usize> = slow.iter().map(|one| one.0).collect();
    assert!(rate(many, 1, &slow, 0.03, &wanted) >= 0.85);
}

/// The reported distance from the others is near the truth.
#[test]
fn the_ratio_of_an_outlier_covers_the_truth() {
    let mut random = Rng::with_seed(7);
    let (mut covered, mut all) = (0.0, 0.0);
    for _ in 0..300 {
        // The distance is that of this host from these others: nothing lies between hosts but the factor.
        let fleet = Fleet { between: 0.0, ..USUAL };
        for one in named(&fleet.series(1, &[(3, 1.10)], &mut random), 0.03).iter().flatten() {
            all += 1.0;
            covered += f64::from(u8::from(one.ratio.low <= 1.10 && one.ratio.high >= 1.10));
        }
    }
    assert!(all > 270.0 && (0.92..=1.0).contains(&(covered / all)), "{covered} of {all}");
}

/// The interval of the mean covers the truth in 95 % of the fleets, and that of a further host covers one;
/// within three standard deviations of 1,000 fleets.
#[test]
fn the_mean_and_a_further_host_are_covered() {
    for fleet in [USUAL, Fleet { hosts: 4, between: 0.03, ..USUAL }, Fleet { hosts: 40, trials: 3, ..USUAL }]
    {
        let mut random = Rng::with_seed(1986);
        let (mut means, mut further) = (0, 0);
        for _ in 0..1000 {
            let all = pooled(&fleet.series(1, &[], &mut random)[0]).expect("a mean");
            let mean = all.mean(0.05);
            means += u32::from(mean.low <= 1.0 && mean.high >= 1.0);
            let expected = all.prediction(0.05).expect("enough hosts");
            let another = (fleet.between * normal(&mut random)).exp();
            further += u32::from(expected.low <= another && expected.high >= another);
        }
        println!("{} hosts: {means} means, {further} further hosts", fleet.hosts);
        assert!((930..=990).contains(&means) && further >= 930, "{} hosts: {means}, {further}", fleet.hosts);
    }
}

/// The whole way from the measurements: eight hosts, five sweeps each over n = 1…400, whose trials differ by
/// 2 % and whose hosts differ by 1 %.
#[test]
fn a_slow_host_is_found_in_its_measurements() {
    const RUNS: usize = 300;
    for slow in [None, Some(5)] {
        let mut random = Rng::with_seed(34);
        let wanted: Vec<usize> = slow.into_iter().collect();
        let right = (0..RUNS).filter(|_| found_in_sweeps(slow, &mut random) == wanted).count();
        let right = right as f64 / RUNS as f64;
        println!("slow {slow:?}: {right}");
        assert!(right >= 0.9, "slow {slow:?}: {right}");
    }
}

fn found_in_sweeps(slow: Option<usize>, random: &mut Rng) -> Vec<usize> {
    let trial = |cost: f64, random: &mut Rng| -> Vec<f64> {
        let cost = cost * (0.02 * normal(random)).exp();
        (0..400).map(|_| cost * (0.05 * normal(random)).exp()).collect()
    };
    let host = |host: usize, random: &mut Rng| -> Vec<Vec<f64>> {
        let factor = if Some(host) == slow { 1.10 } else { 1.0 };
        let cost = 1e-6 * factor * (0.01 * normal(random)).exp();
        (0..5).map(|_| trial(cost, random)).collect()
    };
    let values: Vec<Vec<Vec<f64>>> = (0..8).map(|place| host(place, random)).collect();
    let sweeps: Vec<HostSweeps<'_>> = values
        .iter()
        .map(|trials| HostSweeps {
            trials: trials.iter().map(|values| Sweep::even(1, 1, values)).collect(),
            tick_seconds: 1e-9,
        })
        .collect();
    let costs = host_costs(&sweeps, false).expect("values");
    let effects: Result<Vec<HostEffect>, NoCost> = costs.hosts.into_iter().collect();
    hosts(&named(&[moderated(&effects.expect("a cost on each host"))], 0.03))
}

/// Results that are equal, exact, infinitely wide or missing are no panic.
#[test]
fn any_results_have_an_answer() {
    let values = [0.0, 1.0, -1.0, 1e300, f64::NAN];
    let errors = [0.0, 1e-300, 1.0, f64::INFINITY, f64::NAN];
    let mut random = Rng::with_seed(3);
    for hosts in 0..12 {
        for _ in 0..200 {
            let any = |_: usize| HostEffect {
                value: values[random.usize(..values.len())],
                error: errors[random.usize(..errors.len())],
                freedom: [0.0, 1.0, 4.0, f64::INFINITY][random.usize(..4)],
            };
            let effects: Vec<HostEffect> = (0..hosts).map(any).collect();
            let effects = moderated(&effects);
            let _ = pooled(&effects).map(|all| (all.mean(0.05), all.prediction(0.05), all.spread()));
            let _ = named(&[effects.clone(), effects], 0.03);
        }
    }
}
