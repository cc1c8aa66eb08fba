//! What the references of a series did for its verdict.

/// What the references of a series did for its verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    /// Standard error of the changes with what was removed, as a share of that without; 1 where nothing was.
    pub error: f64,
    /// No growth or fall of what was removed is larger, as a share; 0 where nothing was. A change of the cost
    /// that all references share hides in it, and so the bound of a verdict is never smaller.
    pub hidden: f64,
    /// Each reference, in the order of [`crate::Sweep::references`].
    pub controls: Vec<ReferenceUse>,
}

impl Adjustment {
    /// Whether nothing was removed although a reference might have helped, because it changes with n.
    pub(crate) fn is_refused(&self) -> bool {
        let changes = |of: &ReferenceUse| of.standing == ReferenceStanding::Changes;
        !self.is_used() && self.controls.iter().any(changes)
    }

    /// Whether anything was removed.
    pub fn is_used(&self) -> bool {
        self.controls.iter().any(|control| control.standing == ReferenceStanding::Used)
    }
}

/// What became of one reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceUse {
    /// Whether it was used, or why not.
    pub standing: ReferenceStanding,
    /// By how many percent a cost is taken to rise where the reference does by one; 0 where it was not used.
    pub coefficient: f64,
}

/// Whether a reference was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceStanding {
    /// What the cost shares with it was removed.
    Used,
    /// It changes with n itself, so what the cost shares with it may be more than noise.
    Changes,
    /// The error would not be less with it.
    NoGain,
    /// Too few trials have it.
    TooFew,
}
