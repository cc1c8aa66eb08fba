//! What a reader decides before anything is judged.

/// What the reader decides beforehand; always printed beside a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeSettings {
    /// Growth below this share is not worth a word: δ, 0.10 by default.
    pub margin: f64,
    /// Error rate of the whole verdict, 0.05 by default.
    pub alpha: f64,
    /// How often the runner looked at the data before it stopped; α is divided by it.
    pub looks: u32,
    /// Smallest step of the clock; medians below ten of it carry no verdict.
    pub tick_seconds: f64,
    /// Seed of the resampling that finds simultaneous bounds.
    pub seed: u64,
    /// Judge from the first n to the last; otherwise the cold start of our own sweeps is left out.
    pub whole: bool,
}

impl Default for JudgeSettings {
    fn default() -> JudgeSettings {
        JudgeSettings { margin: 0.10, alpha: 0.05, looks: 1, tick_seconds: 0.0, seed: 1, whole: false }
    }
}

impl JudgeSettings {
    /// α of one look; an impossible α counts as 5 %.
    pub(crate) fn error_rate(&self) -> f64 {
        let alpha = if self.alpha > 0.0 && self.alpha < 1.0 { self.alpha } else { 0.05 };
        alpha / f64::from(self.looks.max(1))
    }

    /// δ as a natural logarithm: the same factor up and down.
    pub(crate) fn log_margin(&self) -> f64 {
        self.margin.max(0.0).ln_1p()
    }
}
