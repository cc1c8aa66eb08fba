//! What a recipe consists of.

use serde::Serialize;

/// What to raise on one system.
#[derive(Debug)]
pub struct Recipe {
    /// Its name on the command line.
    pub system: &'static str,
    /// Its name as people write it.
    pub title: &'static str,
    /// What to raise, in this order.
    pub steps: &'static [RecipeStep],
    /// How it was in 2001, and what replaced it.
    pub of_2001: &'static [Replaced],
    /// What else to know.
    pub notes: &'static [&'static str],
}

/// One setting. In its texts `{n}` stands for how many, and `{all}` for that and what the rest of the system
/// opens.
#[derive(Debug)]
pub struct RecipeStep {
    /// What it limits.
    pub limits: &'static str,
    /// The command that raises it now.
    pub now: &'static str,
    /// What raises it for good, with the file it belongs to.
    pub lasting: &'static str,
    /// The page of the manual.
    pub manual: &'static str,
}

/// A step of 2001 and its successor.
#[derive(Debug, Serialize)]
pub struct Replaced {
    /// What had to be done.
    pub then: &'static str,
    /// What does it today.
    pub today: &'static str,
}
