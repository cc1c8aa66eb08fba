//! The cells of the table: combinations of a true curve, a noise, a design and a number of trials.
//!
//! Not every combination is included: each group answers one question, under the noise that is hardest for
//! it.

use crate::noises::{self, BOOT_TRIALS, BootNoise, Noise};
use crate::outside::OutsideCurve;
use crate::suites::{self, SharedNoise, Unequal};
use crate::truths::{DENSE, LOG8, LOG12, LOG20, LOG27, ONE, SweepDesign, Term, TrueShape, Truth};

/// One truth under one noise in one design with so many trials.
#[derive(Clone, Debug, PartialEq)]
pub struct TruthCell {
    /// The question that the sweeps answer.
    pub asked: Asked,
    /// The true curve.
    pub truth: Truth,
    /// The noise.
    pub noise: Noise,
    /// The design: the n that are measured.
    pub design: SweepDesign,
    /// How many trials a system has.
    pub trials: usize,
}

/// The questions that simulated sweeps answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// The verdict of one series.
    Verdict,
    /// The comparison of two systems, the second of which costs so many times as much.
    Comparison(f64),
    /// The same of trials that were made in pairs, back to back, and share the level of their pair.
    Pairs(f64),
    /// The comparison of two systems in several boots of each; the second costs so many times as much.
    Boots {
        /// The ratio of their costs.
        ratio: f64,
        /// Whether trials were made in pairs; else each system has a run of its own.
        in_pairs: bool,
        /// The effect of a boot on its trials.
        noise: BootNoise,
    },
    /// A race of three contenders in four series; the last contender costs so many times as much.
    Race {
        /// The ratio of its cost.
        ratio: f64,
        /// How the noises of series and contenders differ.
        unequal: Unequal,
    },
    /// A gate over 28 series of two sides, on the second of which one series costs so many times as much.
    Build {
        /// The ratio of its cost.
        ratio: f64,
        /// Whether trials were made in pairs; else the run of one side followed that of the other.
        in_pairs: bool,
        /// How the machine moves.
        machine: SharedNoise,
    },
    /// The geometric mean over ten series of one system, measured as two.
    Mean {
        /// Whether trials were made in pairs; else each system has a run of its own.
        in_pairs: bool,
        /// The noise that all series share.
        shared: SharedNoise,
    },
}

impl TruthCell {
    /// `TRUTH/NOISE/DESIGN/TRIALS`; the seed of its sweeps comes from it.
    pub fn name(&self) -> String {
        let TruthCell { asked, truth, noise, design, trials } = self;
        let rest = format!("{}/{}/{trials}", noise.name, design.name);
        let how = |in_pairs: bool| if in_pairs { "pairs" } else { "runs" };
        match *asked {
            Asked::Verdict => format!("{}/{rest}", truth.name),
            Asked::Comparison(ratio) => format!("compare-{ratio:.2}/{rest}"),
            Asked::Pairs(ratio) => format!("pairs-{ratio:.2}/{rest}"),
            Asked::Boots { ratio, in_pairs, noise: BootNoise { name, .. } } => {
                format!("{}-boots-in-{}-{name}-{ratio:.2}/{rest}", trials / BOOT_TRIALS, how(in_pairs))
            }
            Asked::Race { ratio, unequal } => format!("race-{}-{ratio:.2}/{rest}", unequal.name()),
            Asked::Build { ratio, in_pairs, machine } => {
                format!("build-{ratio:.2}-of-{}-{}/{rest}", how(in_pairs), machine.name)
            }
            Asked::Mean { in_pairs, shared } => {
                format!("mean-of-{}-{}-1.00/{rest}", how(in_pairs), shared.name)
            }
        }
    }
}

/// Growth over the range, from hardly any to much.
pub(crate) const GROWTHS: [f64; 8] = [1.02, 1.05, 1.10, 1.21, 1.5, 2.0, 5.0, 50.0];
/// Trials of a power curve.
pub(crate) const LADDER: [usize; 4] = [5, 10, 20, 40];
/// Steps, down and up.
const STEPS: [f64; 7] = [0.4, 0.8, 1.05, 1.10, 1.20, 1.30, 1.60];
/// Where a step is, as a share of the range on a log scale.
const PLACES: [f64; 3] = [0.3, 0.6, 0.9];

/// Between the slowest architecture of a race and the fastest.
pub(crate) const GROSS_RATIO: f64 = 28.0;

/// All cells, each once.
pub fn all() -> Vec<TruthCell> {
    let mut cells = Vec::new();
    let groups = [
        constant,
        margin,
        families,
        power,
        steps,
        other_shapes,
        powers_and_bends,
        outside,
        disturbed,
        gross,
        one_level,
        with_references,
        comparisons,
        over_boots,
        means,
        races,
        builds,
    ];
    for cell in groups.iter().flat_map(|group| group()) {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    }
    cells
}

fn cell(shape: TrueShape, noise: Noise, design: SweepDesign, trials: usize) -> TruthCell {
    TruthCell { asked: Asked::Verdict, truth: Truth::new(shape), noise, design, trials }
}

/// Each of `shapes` with each of the others.
fn cross(
    shapes: &[TrueShape],
    noises: &[Noise],
    designs: &[SweepDesign],
    trials: &[usize],
) -> Vec<TruthCell> {
    let mut cells = Vec::new();
    for shape in shapes {
        for noise in noises {
            for design in designs {
                cells.extend(trials.iter().map(|trials| cell(*shape, *noise, *design, *trials)));
            }
        }
    }
    cells
}

/// The same cells with another question.
fn asked(cells: &[TruthCell], asked: Asked) -> Vec<TruthCell> {
    cells.iter().map(|cell| TruthCell { asked, ..cell.clone() }).collect()
}

/// Is a cost that does not change called anything else?
fn constant() -> Vec<TruthCell> {
    let mut cells = cross(&[TrueShape::Constant], &noises::ALL, &[LOG20], &[5, 10, 40]);
    cells.extend(cross(&[TrueShape::Constant], &[noises::LOW, noises::HIGH], &[LOG8, LOG12, LOG20], &LADDER));
    cells.extend(cross(&[TrueShape::Constant], &[noises::QUIET, noises::NOISY], &[DENSE], &LADDER));
    cells.extend(cross(
        &[TrueShape::Constant],
        &[noises::REAL_SOCKET, noises::REAL_FORK],
        &[DENSE],
        &[10, 40],
    ));
    cells
}

/// Is growth of exactly the margin called flat?
fn margin() -> Vec<TruthCell> {
    let terms: Vec<TrueShape> = Term::ALL.into_iter().map(TrueShape::Margin).collect();
    let mut shapes = terms.clone();
    shapes.push(TrueShape::Step(1.10, 0.9));
    let mut cells = cross(&shapes, &[noises::LOW, noises::HIGH], &[DENSE], &[10, 40]);
    cells.extend(cross(&terms, &[noises::LOW], &[LOG8, LOG20], &[20]));
    let others = [
        noises::AR6,
        noises::AR9,
        noises::OFFSETS,
        noises::STUDENT,
        noises::PARETO,
        noises::QUIET,
        noises::NOISY,
        noises::REAL_SOCKET,
        noises::REAL_FORK,
        noises::REAL_MMAP,
    ];
    cells.extend(cross(&[TrueShape::Margin(Term::Line)], &others, &[DENSE], &[40]));
    cells.extend(cross(
        &[TrueShape::Grows(Term::Line, 1.12)],
        &[noises::LOW, noises::QUIET],
        &[DENSE],
        &[40],
    ));
    cells
}

/// Which family is named, and is it the right one?
fn families() -> Vec<TruthCell> {
    let growing = |growths: &[f64]| -> Vec<TrueShape> {
        let term = |term| growths.iter().map(move |growth| TrueShape::Grows(term, *growth));
        Term::ALL.into_iter().flat_map(term).collect()
    };
    let mut cells = cross(&growing(&GROWTHS[3..]), &[noises::LOW, noises::HIGH], &[LOG20], &[10]);
    cells.extend(cross(&growing(&[1.21, 2.0, 5.0]), &[noises::LOW], &[LOG20], &[40]));
    cells.extend(cross(&growing(&[1.5, 5.0]), &[noises::AR3, noises::AR6, noises::AR9], &[LOG20], &[10]));
    let machines = [noises::QUIET, noises::REAL_SOCKET, noises::REAL_FORK];
    cells.extend(cross(&growing(&[2.0]), &machines, &[DENSE], &[10]));
    cells
}

/// How large must an effect be to be found?
fn power() -> Vec<TruthCell> {
    let mut shapes = GROWTHS.map(|growth| TrueShape::Grows(Term::Line, growth)).to_vec();
    shapes.extend([1.05, 1.10, 1.20, 1.30, 1.60].map(|ratio| TrueShape::Step(ratio, 0.6)));
    let mut cells = cross(&shapes, &[noises::LOW], &[LOG20], &LADDER);
    // Coverage where a line is a line.
    let lines = [TrueShape::Grows(Term::Line, 1.5), TrueShape::Grows(Term::Line, 2.0)];
    cells.extend(cross(
        &lines,
        &[noises::LOW, noises::HIGH, noises::QUIET, noises::NOISY],
        &[DENSE],
        &[10, 40],
    ));
    cells
}

/// Are steps found, where they are?
fn steps() -> Vec<TruthCell> {
    let shapes: Vec<TrueShape> =
        STEPS.into_iter().flat_map(|ratio| PLACES.map(|place| TrueShape::Step(ratio, place))).collect();
    let mut cells = cross(&shapes, &[noises::LOW], &[LOG20], &[10]);
    let mid = [TrueShape::Step(0.4, 0.6), TrueShape::Step(1.20, 0.6), TrueShape::Step(1.60, 0.6)];
    cells.extend(cross(&mid, &[noises::HIGH, noises::AR6, noises::AR9], &[LOG20], &[10]));
    cells.extend(cross(&mid, &[noises::LOW, noises::QUIET, noises::REAL_SOCKET], &[DENSE], &[10]));
    let dents = [TrueShape::Dent(0.6), TrueShape::Dent(1.30), TrueShape::Dent(1.60)];
    cells.extend(cross(&dents, &[noises::LOW], &[LOG20, DENSE], &[10]));
    cells.extend(cross(&[TrueShape::LimitThenStep], &[noises::LOW, noises::HIGH], &[LOG20, DENSE], &[10]));
    cells
}

/// Hinges, limits, falls and two lines.
fn other_shapes() -> Vec<TruthCell> {
    let hinges: Vec<TrueShape> = [0.1, 0.5, 0.8]
        .into_iter()
        .flat_map(|from| [1.5, 5.0].map(|growth| TrueShape::Hinge(from, growth)))
        .collect();
    let mut cells = cross(&hinges, &[noises::LOW], &[DENSE], &[10]);
    cells.extend(cross(&[TrueShape::Hinge(0.5, 1.5)], &[noises::LOW], &[DENSE], &[40]));
    // In the last block but one, in the last, and just beyond the largest n.
    let cliffs = [0.97, 0.9967, 1.0005].map(TrueShape::Cliff);
    let machines = [noises::LOW, noises::AR6, noises::QUIET, noises::REAL_SOCKET];
    cells.extend(cross(&cliffs, &machines, &[DENSE], &[10]));
    let back = [0.97, 0.9967, 0.9985].map(TrueShape::CliffBack);
    cells.extend(cross(&back, &machines, &[DENSE], &[10]));
    let limits = [1.02, 1.3, 3.0].map(TrueShape::Limit);
    cells.extend(cross(&limits, &[noises::LOW, noises::AR6], &[DENSE], &[10]));
    cells.extend(cross(&limits, &[noises::LOW], &[DENSE], &[40]));
    cells.extend(cross(&[0.8, 0.5].map(TrueShape::Falls), &[noises::LOW, noises::HIGH], &[LOG20], &[10]));
    let lines: Vec<TrueShape> = [0.1, 0.3, 0.5, 0.7, 0.9]
        .into_iter()
        .flat_map(|share| [TrueShape::TwoLines(share, false), TrueShape::TwoLines(share, true)])
        .collect();
    cells.extend(cross(&lines, &[noises::LOW], &[DENSE], &[10]));
    cells.extend(cross(
        &[TrueShape::TwoLines(0.5, false)],
        &[noises::OFFSETS, noises::QUIET],
        &[DENSE],
        &[10],
    ));
    cells
}

/// Powers that are no family of their own, and lines with a bend.
fn powers_and_bends() -> Vec<TruthCell> {
    let term = |hundredths| [2.0, 5.0, 50.0].map(|growth| TrueShape::Grows(Term::Power(hundredths), growth));
    let powers: Vec<TrueShape> = [30, 70, 150, 250, 300].into_iter().flat_map(term).collect();
    let bends =
        [(0.1, 3.0), (0.3, 3.0), (0.3, 0.1), (0.3, 10.0)].map(|(at, ratio)| TrueShape::Bend(at, ratio));
    let mut cells = cross(&powers, &[noises::POINTS, noises::POINTS_HIGH], &[LOG27], &[10]);
    cells.extend(cross(&powers, &[noises::LOW], &[LOG20], &[10]));
    cells.extend(cross(&bends, &[noises::POINTS, noises::POINTS_HIGH], &[LOG27], &[10]));
    cells.extend(cross(&bends, &[noises::LOW], &[LOG20, DENSE], &[10]));
    // The families of old where each n is measured once.
    let lines = [2.0, 5.0].map(|growth| TrueShape::Grows(Term::Line, growth));
    let mut old = lines.to_vec();
    old.extend([
        TrueShape::Constant,
        TrueShape::Grows(Term::Log, 2.0),
        TrueShape::Grows(Term::Square, 5.0),
        TrueShape::Step(1.6, 0.6),
        TrueShape::Limit(1.3),
    ]);
    cells.extend(cross(&old, &[noises::POINTS, noises::POINTS_HIGH], &[LOG27], &[10]));
    cells
}

/// Is nothing false said of a smooth curve that belongs to no family?
fn outside() -> Vec<TruthCell> {
    let curves: Vec<TrueShape> = OutsideCurve::all().map(TrueShape::Outside).collect();
    let mut cells = cross(&curves, &[noises::POINTS, noises::POINTS_HIGH], &[LOG27], &[10]);
    cells.extend(cross(&curves, &[noises::LOW], &[LOG20], &[10]));
    cells
}

/// Constant costs with disturbances other than noise.
fn disturbed() -> Vec<TruthCell> {
    let shapes = [
        TrueShape::RandomSpikes,
        TrueShape::FixedSpikes,
        TrueShape::Drift,
        TrueShape::CrashTogether,
        TrueShape::CrashApart,
    ];
    cross(&shapes, &[noises::LOW, noises::HIGH], &[DENSE], &[10])
}

/// Three trials may show only gross effects.
fn gross() -> Vec<TruthCell> {
    let shapes = [
        TrueShape::Constant,
        TrueShape::Grows(Term::Line, 1.5),
        TrueShape::Step(1.60, 0.6),
        TrueShape::TwoLines(0.5, true),
        TrueShape::Grows(Term::Line, 5.0),
    ];
    let mut cells = cross(&shapes, &[noises::LOW, noises::NOISY], &[LOG20], &[2, 3]);
    cells.extend(cross(&[TrueShape::Constant], &noises::ALL, &[LOG20], &[3]));
    cells
}

/// Does the interval of the cost at one n hold the truth?
fn one_level() -> Vec<TruthCell> {
    let tails = [noises::STUDENT, noises::GAMMA, noises::PARETO, noises::NEIGHBOUR, noises::OFFSETS];
    let mut cells = cross(&[TrueShape::Constant], &[noises::LOW, noises::HIGH], &[ONE], &LADDER);
    cells.extend(cross(&[TrueShape::Constant], &tails, &[ONE], &[10, 40]));
    cells
}

/// Do references remove only common noise?
fn with_references() -> Vec<TruthCell> {
    let constant = [TrueShape::Constant];
    let mut cells = cross(&constant, &[noises::COMMON], &[DENSE], &LADDER);
    let others = [noises::SEPARATE, noises::CALM];
    cells.extend(cross(&constant, &others, &[DENSE], &[5, 10, 40]));
    cells.extend(cross(&constant, &[noises::SLOWING], &[DENSE], &[10, 40]));
    let margins = [TrueShape::Margin(Term::Line), TrueShape::Margin(Term::Log), TrueShape::Step(1.10, 0.9)];
    let shared = [noises::COMMON, noises::SLOWING, noises::SLOWING_LITTLE];
    cells.extend(cross(&margins, &shared, &[DENSE], &[10, 40]));
    let shapes =
        [TrueShape::Grows(Term::Line, 1.5), TrueShape::Grows(Term::Log, 2.0), TrueShape::Step(1.60, 0.6)];
    cells.extend(cross(&shapes, &[noises::COMMON, noises::SEPARATE], &[DENSE], &[10]));
    cells
}

/// Does a system differ from itself, and from another?
fn comparisons() -> Vec<TruthCell> {
    let machines = [noises::QUIET, noises::NOISY, noises::REAL_SOCKET, noises::REAL_FORK];
    let mut same = cross(&[TrueShape::Constant], &noises::ALL, &[LOG8], &[10]);
    same.extend(cross(&[TrueShape::Constant], &machines, &[DENSE], &[5, 20]));
    same.extend(cross(&[TrueShape::Constant], &[noises::COMMON], &[DENSE], &[10]));
    let other = cross(&[TrueShape::Constant], &[noises::LOW, noises::OFFSETS], &[LOG8], &[10, 40]);
    let mut cells = [asked(&same, Asked::Comparison(1.0)), asked(&same, Asked::Pairs(1.0))].concat();
    for ratio in [1.05, 1.10, 1.20] {
        cells.extend(asked(&other, Asked::Comparison(ratio)));
        cells.extend(asked(&other, Asked::Pairs(ratio)));
    }
    cells
}

/// Does a system differ from itself, where its boots do?
fn over_boots() -> Vec<TruthCell> {
    let cells = |boots: &[usize]| {
        let trials: Vec<usize> = boots.iter().map(|boots| boots * BOOT_TRIALS).collect();
        cross(&[TrueShape::Constant], &[noises::LOW], &[LOG8], &trials)
    };
    let same = |noise, in_pairs| Asked::Boots { ratio: 1.0, in_pairs, noise };
    let mut all = Vec::new();
    for noise in noises::BOOTS {
        all.extend(asked(&cells(&[3, 4, 5, 10]), same(noise, true)));
        all.extend(asked(&cells(&[5]), same(noise, false)));
    }
    let other = |ratio| Asked::Boots { ratio, in_pairs: true, noise: noises::NORMAL_BOOTS };
    all.extend([1.10, 1.20].into_iter().flat_map(|ratio| asked(&cells(&[5, 10]), other(ratio))));
    all
}

/// Does the mean over many series find a difference of a system from itself, where noise moves all series
/// together?
fn means() -> Vec<TruthCell> {
    let machine = cross(&[TrueShape::Constant], &[noises::OFFSETS], &[LOG8], &[10, 40]);
    let both =
        |shared| [true, false].map(|in_pairs| asked(&machine, Asked::Mean { in_pairs, shared })).concat();
    suites::ALL.into_iter().flat_map(both).collect()
}

/// Do few trials distinguish contenders from their equals, and from one that costs far more?
fn races() -> Vec<TruthCell> {
    let cells = |trials: &[usize]| cross(&[TrueShape::Constant], &[noises::LOW], &[ONE], trials);
    let same = Unequal::ALL
        .into_iter()
        .flat_map(|unequal| asked(&cells(&[2, 3, 5, 10]), Asked::Race { ratio: 1.0, unequal }));
    let far = asked(&cells(&[2, 3]), Asked::Race { ratio: GROSS_RATIO, unequal: Unequal::Nowhere });
    same.chain(far).collect()
}

/// Does a gate fail a build that changed nothing, and does it find what one changed?
fn builds() -> Vec<TruthCell> {
    let cells = |noises: &[Noise]| cross(&[TrueShape::Constant], noises, &[LOG8], &[10]);
    let mut all = Vec::new();
    for machine in suites::ALL {
        for in_pairs in [true, false] {
            let build = |ratio| Asked::Build { ratio, in_pairs, machine };
            all.extend(asked(&cells(&[noises::LOW]), build(1.0)));
            all.extend(asked(&cells(&[noises::LOW]), build(1.05)));
        }
    }
    let others = [noises::OFFSETS, noises::HIGH, noises::AR6, noises::STUDENT, noises::NEIGHBOUR];
    for in_pairs in [true, false] {
        let build = Asked::Build { ratio: 1.0, in_pairs, machine: suites::ALL[2] };
        all.extend(asked(&cells(&others), build));
    }
    all
}
