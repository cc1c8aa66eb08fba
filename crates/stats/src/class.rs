//! The class of a verdict.

/// The class of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Measured at one n only, where the cost is known to within 5 %: `Verdict::cost_low` is all there is.
    Value,
    /// Stays within the bound, and the bound is within the margin.
    Flat,
    /// Grows for certain, by an estimate below the margin; `Verdict::bound` says how much it may be.
    SmallGrowth,
    /// Grows like a + b·log n or a + b·√n.
    Sublinear,
    /// Grows like a + b·n or a + b·n·log n, or like a line from some n on.
    LinearLike,
    /// Grows like a + b·n² or faster.
    Superlinear,
    /// Grows like a + b/(1 − n/c): a search for what is free among what runs out.
    ApproachingLimit,
    /// Constant but for one or a few jumps.
    Stepped,
    /// The measurements lie on two lines, each judged by itself.
    TwoLines,
    /// Changes for certain, and it takes several shapes in turn to describe it, with jumps between them:
    /// `Verdict::segments` and `Verdict::steps` have them.
    Composite,
    /// Changes for certain, by more than the margin, and the data do not tell between the shapes that
    /// `Verdict::classes` names.
    Ambiguous,
    /// Changes for certain, by more than the margin, and no shape describes it.
    Uneven,
    /// Falls for certain, by an estimate beyond the margin, and ends below where it began.
    Decreasing,
    /// The data carry none of the above.
    Inconclusive,
}
