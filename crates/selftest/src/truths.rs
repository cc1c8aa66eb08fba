//! True curves of simulated sweeps (cost as a function of n, and the right verdicts), and the designs of
//! sweeps: which n, and how many values at each.

use stats::{Class, Sweep};

use crate::outside::OutsideCurve;

/// The function g in a cost a + b·g(n).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Term {
    /// log n
    Log,
    /// √n
    Root,
    /// n
    Line,
    /// n·log n
    LineLog,
    /// n²
    Square,
    /// n to the power of so many hundredths.
    Power(u32),
}

impl Term {
    /// Those without a parameter.
    pub const ALL: [Term; 5] = [Term::Log, Term::Root, Term::Line, Term::LineLog, Term::Square];

    fn at(self, n: f64) -> f64 {
        match self {
            Term::Log => n.ln(),
            Term::Root => n.sqrt(),
            Term::Line => n,
            Term::LineLog => n * n.ln(),
            Term::Square => n * n,
            Term::Power(hundredths) => n.powf(f64::from(hundredths) / 100.0),
        }
    }

    fn name(self) -> String {
        match self {
            Term::Log => "log".into(),
            Term::Root => "root".into(),
            Term::Line => "line".into(),
            Term::LineLog => "nlogn".into(),
            Term::Square => "square".into(),
            Term::Power(hundredths) => format!("power{hundredths}"),
        }
    }

    fn class(self) -> Class {
        match self {
            Term::Log | Term::Root => Class::Sublinear,
            Term::Line | Term::LineLog => Class::LinearLike,
            Term::Power(..100) => Class::Sublinear,
            Term::Square | Term::Power(_) => Class::Superlinear,
        }
    }
}

/// How the cost goes with n; places are shares of the range, on a logarithmic scale where it says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrueShape {
    /// Always the same.
    Constant,
    /// Grows to `growth` times its cost at the smallest n.
    Grows(Term, f64),
    /// Grows by exactly the margin over the cost near the smallest n, the baseline of a verdict.
    Margin(Term),
    /// Constant up to this share of the range, then a line to `growth` times as much.
    Hinge(f64, f64),
    /// A line that adds its first cost ten times up to the largest n, but for a bend at this share of the
    /// range,
    /// from where on its slope is so many times as steep.
    Bend(f64, f64),
    /// a + b/(1 − n/c) with c this many times the largest n.
    Limit(f64),
    /// Times `ratio` from this place on (log scale).
    Step(f64, f64),
    /// Times `ratio` from a half to seven tenths of the range (log scale).
    Dent(f64),
    /// bind(2) to port 0: approaches a limit at seven tenths of the range, and costs 2,000-fold from there.
    LimitThenStep,
    /// The same with its limit at this many times the largest n, inside the last two blocks or just beyond:
    /// the cost rises up to the limit and is 2,000-fold from there, and few n lie behind it.
    Cliff(f64),
    /// The same, but the cost falls back to a tenth of that behind the limit.
    CliffBack(f64),
    /// Falls along a line to this share.
    Falls(f64),
    /// Measurements lie on a flat line, and this share of them on one that triples; a trial keeps to its
    /// line where `true`.
    TwoLines(f64, bool),
    /// Constant, but one operation in fifty takes ten times as long.
    RandomSpikes,
    /// Constant, but the same few n take ten times as long in every trial.
    FixedSpikes,
    /// Constant in n; each trial drifts with time, by 10 % (SD) either way.
    Drift,
    /// Constant; all trials end at the same n.
    CrashTogether,
    /// Constant; each trial ends at an n of its own.
    CrashApart,
    /// A smooth curve that belongs to no family.
    Outside(OutsideCurve),
}

/// A truth with its name and its right answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Names a cell together with noise, design and trials.
    pub name: String,
    /// How the cost goes.
    pub shape: TrueShape,
    /// The right words; an indefinite word is not wrong either.
    pub right: Vec<Class>,
}

/// The margin: the default of [`stats::JudgeSettings::margin`].
pub(crate) const MARGIN: f64 = 0.10;
/// The cost near the smallest n lies at √2 times it: the middle of n…2n.
const NEAR_LOW: f64 = std::f64::consts::SQRT_2;
/// bind(2): the place of its limit, and b.
const BIND_LIMIT: f64 = 0.7;
const BIND_SHARE: f64 = 0.2;
const BIND_CLIFF: f64 = 2_000.0;
/// A line with a bend would rise by so much without it.
const BEND_RISE: f64 = 10.0;
/// A dent lies between these places.
const DENT: (f64, f64) = (0.5, 0.7);

impl Truth {
    /// The truth of this shape.
    pub fn new(shape: TrueShape) -> Truth {
        Truth { name: name(shape), shape, right: right(shape) }
    }

    /// Cost at `n` in a sweep from `low` to `high`, 1 where it begins. Of two lines the lower one.
    pub fn cost(&self, n: f64, (low, high): (f64, f64)) -> f64 {
        let n = n.max(low);
        let along = (n - low) / (high - low);
        match self.shape {
            TrueShape::Grows(term, growth) => {
                1.0 + (growth - 1.0) * (term.at(n) - term.at(low)) / (term.at(high) - term.at(low))
            }
            TrueShape::Margin(term) => {
                let (whole, near) = (term.at(high) - term.at(low), term.at(NEAR_LOW * low) - term.at(low));
                1.0 + MARGIN / (whole - (1.0 + MARGIN) * near) * (term.at(n) - term.at(low))
            }
            TrueShape::Hinge(from, growth) => 1.0 + (growth - 1.0) * (along - from).max(0.0) / (1.0 - from),
            TrueShape::Bend(at, ratio) => {
                let share = n / high;
                1.0 + BEND_RISE * (share.min(at) + ratio * (share - at).max(0.0))
            }
            TrueShape::Limit(far) => approach(n, low, far * high),
            TrueShape::Step(ratio, _) | TrueShape::Dent(ratio) => {
                let passed = self.steps((low, high)).iter().filter(|step| n >= **step).count();
                if passed % 2 == 1 { ratio } else { 1.0 }
            }
            TrueShape::LimitThenStep => {
                let limit = BIND_LIMIT * high;
                if n >= limit {
                    BIND_CLIFF
                } else {
                    1.0 + BIND_SHARE * n.min(0.99 * limit) / (limit - n.min(0.99 * limit))
                }
            }
            TrueShape::Cliff(far) | TrueShape::CliffBack(far) if n < far * high => {
                (1.0 + BIND_SHARE * n / (far * high - n)).min(BIND_CLIFF)
            }
            TrueShape::Cliff(_) => BIND_CLIFF,
            TrueShape::CliffBack(_) => BIND_CLIFF / 10.0,
            TrueShape::Falls(to) => 1.0 - (1.0 - to) * along,
            _ => 1.0,
        }
    }

    /// The second line of two.
    pub fn upper(&self, n: f64, (low, high): (f64, f64)) -> f64 {
        1.3 + 1.7 * (n - low) / (high - low)
    }

    /// The n from which on the cost is another, rising.
    pub fn steps(&self, (low, high): (f64, f64)) -> Vec<f64> {
        let place = |share: f64| low * (high / low).powf(share);
        match self.shape {
            TrueShape::Step(_, at) => vec![place(at)],
            TrueShape::Dent(_) => vec![place(DENT.0), place(DENT.1)],
            TrueShape::LimitThenStep => vec![BIND_LIMIT * high],
            TrueShape::Cliff(far) | TrueShape::CliffBack(far) if far < 1.0 => vec![far * high],
            _ => Vec::new(),
        }
    }

    /// Whether the cost belongs to no family.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(self.shape, TrueShape::Outside(_))
    }

    /// Whether the cost depends only on n, so that there is a true change to compare a bound with.
    pub(crate) fn has_one_cost(&self) -> bool {
        !matches!(self.shape, TrueShape::TwoLines(..) | TrueShape::Outside(_))
    }
}

fn approach(n: f64, low: f64, limit: f64) -> f64 {
    let cost = |n: f64| 0.5 + 0.5 / (1.0 - n / limit);
    cost(n) / cost(low)
}

fn name(shape: TrueShape) -> String {
    let percent = |ratio: f64| format!("{:+.0}", 100.0 * (ratio - 1.0));
    match shape {
        TrueShape::Constant => "constant".into(),
        TrueShape::Grows(term, growth) => format!("{}-{growth:.2}", term.name()),
        TrueShape::Margin(term) => format!("{}-margin", term.name()),
        TrueShape::Hinge(from, growth) => format!("hinge-{from}-{growth}"),
        TrueShape::Bend(at, ratio) => format!("bend-{at}-{ratio}"),
        TrueShape::Limit(far) => format!("limit-{far}"),
        TrueShape::Step(ratio, place) => format!("step{}-{place}", percent(ratio)),
        TrueShape::Dent(ratio) => format!("dent{}", percent(ratio)),
        TrueShape::LimitThenStep => "limit-then-step".into(),
        TrueShape::Cliff(far) => format!("cliff-{far}"),
        TrueShape::CliffBack(far) => format!("cliff-back-{far}"),
        TrueShape::Falls(to) => format!("falls-{to}"),
        TrueShape::TwoLines(share, true) => format!("lines-sticky-{share}"),
        TrueShape::TwoLines(share, false) => format!("lines-{share}"),
        TrueShape::RandomSpikes => "spikes-random".into(),
        TrueShape::FixedSpikes => "spikes-fixed".into(),
        TrueShape::Drift => "drift".into(),
        TrueShape::CrashTogether => "crash-together".into(),
        TrueShape::CrashApart => "crash-apart".into(),
        TrueShape::Outside(curve) => format!("outside-{}", curve.name()),
    }
}

/// Beyond the margin only the family is right; below it also words for a small change.
fn right(shape: TrueShape) -> Vec<Class> {
    use Class::{ApproachingLimit, Composite, Decreasing, Flat, LinearLike};
    use Class::{SmallGrowth, Stepped, Superlinear, TwoLines, Value};
    let little = |change: f64, class: Class| match change.abs() {
        change if change < MARGIN - 1e-9 => vec![Flat, SmallGrowth, class],
        change if change < MARGIN + 1e-9 => vec![SmallGrowth, class],
        _ => vec![class],
    };
    match shape {
        TrueShape::Grows(term, growth) => little(growth - 1.0, term.class()),
        TrueShape::Margin(term) => little(MARGIN, term.class()),
        TrueShape::Hinge(..) | TrueShape::Bend(..) => vec![LinearLike],
        // Up to a third of the way to its limit it differs from a line by 1 %, upwards.
        TrueShape::Limit(far) if far >= 3.0 => vec![ApproachingLimit, LinearLike, Superlinear],
        TrueShape::Limit(_) => vec![ApproachingLimit],
        TrueShape::Step(ratio, _) if ratio < 1.0 => vec![Stepped, Decreasing],
        TrueShape::Step(ratio, _) => little(ratio - 1.0, Stepped),
        TrueShape::Dent(_) => vec![Stepped],
        // It takes both words; they stand in `Verdict::classes`.
        TrueShape::LimitThenStep => vec![Composite],
        // Where the limit is inside the last block, a steep rise is all that medians of blocks show.
        TrueShape::Cliff(_) | TrueShape::CliffBack(_) => vec![Composite, ApproachingLimit],
        TrueShape::Falls(_) => vec![Decreasing],
        // A line with nine tenths is that of the medians; two lines begin to count at a tenth.
        TrueShape::TwoLines(share, _) if share >= 0.9 => vec![TwoLines, LinearLike],
        // Of ten trials that keep to their line all are on the growing one in 3 % of the runs.
        TrueShape::TwoLines(share, true) if share >= 0.7 => vec![TwoLines, LinearLike],
        TrueShape::TwoLines(..) => vec![TwoLines],
        // With one n only its cost can be judged.
        TrueShape::Constant => vec![Value, Flat],
        // Its false claims do not depend on one word: `crate::outside`.
        TrueShape::Outside(_) => Vec::new(),
        TrueShape::RandomSpikes
        | TrueShape::FixedSpikes
        | TrueShape::Drift
        | TrueShape::CrashTogether
        | TrueShape::CrashApart => vec![Flat],
    }
}

/// The n of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepDesign {
    /// Names a cell together with truth, noise and trials.
    pub name: &'static str,
    spacing: Spacing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spacing {
    /// So many sizes a decade over so many decades, so many values of each.
    Log { per_decade: u32, decades: u32, each: usize },
    /// Every tenth n.
    Every { count: u64 },
}

/// Every tenth n to 10,000: as long as real sweeps, and ten times as fast to make.
pub(crate) const DENSE: SweepDesign = SweepDesign { name: "dense", spacing: Spacing::Every { count: 1_000 } };
/// One n and one value: a job that is timed as a whole gives these.
pub(crate) const ONE: SweepDesign =
    SweepDesign { name: "one", spacing: Spacing::Log { per_decade: 1, decades: 0, each: 1 } };
/// The smallest recommended plan: eight sizes per decade over two decades, ten values of each.
pub(crate) const LOG8: SweepDesign =
    SweepDesign { name: "log8", spacing: Spacing::Log { per_decade: 8, decades: 2, each: 10 } };
/// Twelve sizes a decade over four decades, five values of each.
pub(crate) const LOG12: SweepDesign =
    SweepDesign { name: "log12", spacing: Spacing::Log { per_decade: 12, decades: 4, each: 5 } };
/// Twenty sizes a decade over three decades, five values of each.
pub(crate) const LOG20: SweepDesign =
    SweepDesign { name: "log20", spacing: Spacing::Log { per_decade: 20, decades: 3, each: 5 } };

/// Twenty-seven sizes a decade over three decades, one value of each: a table of a benchmark.
pub(crate) const LOG27: SweepDesign =
    SweepDesign { name: "log27", spacing: Spacing::Log { per_decade: 27, decades: 3, each: 1 } };

/// The first judged n: below it caches are cold.
const LOW: u64 = 100;
/// Distance of the n of a dense sweep.
const SPACING: u64 = 10;
/// The least that a block of a verdict holds: this share of the values, 25 at most.
const SHARE_OF_BLOCK: usize = 60;
const MOST_OF_BLOCK: usize = 25;
/// The baseline of a verdict is the first blocks that hold so many times the least.
const REFERENCE: usize = 4;

impl SweepDesign {
    /// The n of each value, rising; equal ones follow each other.
    pub fn sizes(&self) -> Vec<u64> {
        match self.spacing {
            Spacing::Every { count } => (1..=count).map(|place| SPACING * place).collect(),
            Spacing::Log { per_decade, decades, each } => (0..=per_decade * decades)
                .map(|place| {
                    (LOW as f64 * 10f64.powf(f64::from(place) / f64::from(per_decade))).round() as u64
                })
                .flat_map(|n| std::iter::repeat_n(n, each))
                .collect(),
        }
    }

    /// Smallest and largest n that are judged.
    pub fn range(&self) -> (f64, f64) {
        let high = match self.spacing {
            Spacing::Every { count } => (SPACING * count) as f64,
            Spacing::Log { decades, .. } => LOW as f64 * f64::from(10u32.pow(decades)),
        };
        (LOW as f64, high)
    }

    /// The measurements of a trial; a trial that ended early has fewer.
    pub fn sweep<'a>(&self, sizes: &'a [u64], values: &'a [f64]) -> Sweep<'a> {
        match self.spacing {
            Spacing::Every { .. } => Sweep::even(SPACING, SPACING as i64, values),
            Spacing::Log { .. } => Sweep::listed(sizes, values),
        }
    }

    /// Whether n rises by the same step.
    pub(crate) fn is_even(&self) -> bool {
        matches!(self.spacing, Spacing::Every { .. })
    }

    /// How many values a block holds at least.
    pub fn least(&self) -> usize {
        let judged = match self.spacing {
            Spacing::Every { count } => count - (LOW - 1) / SPACING,
            // All of them, as the first is the first that is judged.
            Spacing::Log { per_decade, decades, each } => u64::from(per_decade * decades + 1) * each as u64,
        };
        (judged as usize / SHARE_OF_BLOCK).clamp(1, MOST_OF_BLOCK)
    }

    /// The least number of values in the baseline of a verdict.
    pub fn reference(&self) -> usize {
        REFERENCE * self.least()
    }
}
