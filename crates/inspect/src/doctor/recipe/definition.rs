//! The parts of a recipe.

use serde::Serialize;

/// The recipe of one system.
#[derive(Debug)]
pub struct Recipe {
    /// Its name on the command line.
    pub system: &'static str,
    /// Its name as people write it.
    pub title: &'static str,
    /// The settings to raise, in this order.
    pub steps: &'static [RecipeStep],
    /// The steps of 2001 and their successors.
    pub of_2001: &'static [Replaced],
    /// Remarks.
    pub notes: &'static [&'static str],
}

/// One setting. In its texts `{n}` stands for the number, and `{all}` for that and the needs of the rest of
/// the system.
#[derive(Debug)]
pub struct RecipeStep {
    /// The thing that it limits.
    pub limits: &'static str,
    /// The command that raises it now.
    pub now: &'static str,
    /// The way to raise it for good, with the file it belongs to.
    pub lasting: &'static str,
    /// The page of the manual.
    pub manual: &'static str,
}

/// A step of 2001 and its successor.
#[derive(Debug, Serialize)]
pub struct Replaced {
    /// The step, and its successor today.
    pub then: &'static str,
    /// See `then`.
    pub today: &'static str,
}
