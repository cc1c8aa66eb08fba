//! The settings to raise on other systems before thousands of connections work: a recipe for each, by its
//! manual, and the successors of its recipe of 2001.
//!
//! The published comparison of 2001 gave recipes for Linux 2.2, FreeBSD 4.2 and Solaris 8. Those of systems
//! that are not tried here follow their manuals, which each step names.

use report::document::{Document, Section, Table, Text};
use serde::Serialize;

use super::recipes::{RECIPES, Recipe, RecipeStep, Replaced};

/// Descriptors that the rest of a system needs.
const REST: u64 = 10_000;
/// More must be usable by clients of one address than this; there are no more ports.
const PORTS_MOST: u64 = 64_511;

impl Recipe {
    /// The recipe of that system.
    pub fn find(system: &str) -> Option<&'static Recipe> {
        RECIPES.iter().find(|recipe| recipe.system == system)
    }

    /// The recipe for so many connections.
    pub fn answer(&self, count: u64) -> RecipeAnswer {
        let step = |step: &RecipeStep| StepAnswer {
            limits: step.limits,
            now: filled_in(step.now, count),
            lasting: filled_in(step.lasting, count),
            manual: step.manual,
        };
        RecipeAnswer {
            schema: 1,
            system: self.system,
            title: self.title,
            count,
            steps: self.steps.iter().map(step).collect(),
            of_2001: self.of_2001,
            notes: self.notes.iter().map(|note| filled_in(note, count)).collect(),
        }
    }
}

/// The answer of `osdyno doctor --os`: a recipe for so many connections.
#[derive(Clone, Debug, Serialize)]
pub struct RecipeAnswer {
    /// Version of this answer.
    pub schema: u32,
    /// As on the command line.
    pub system: &'static str,
    /// Its name as people write it.
    #[serde(skip)]
    pub title: &'static str,
    /// Connections.
    pub count: u64,
    /// Settings to raise, in this order.
    pub steps: Vec<StepAnswer>,
    /// Steps of 2001.
    pub of_2001: &'static [Replaced],
    /// Remarks.
    pub notes: Vec<String>,
}

/// One setting to raise.
#[derive(Clone, Debug, Serialize)]
pub struct StepAnswer {
    /// Objects that it limits.
    pub limits: &'static str,
    /// How to raise it now, and for good.
    pub now: String,
    /// See `now`.
    pub lasting: String,
    /// The page of the manual.
    pub manual: &'static str,
}

/// The recipe as a document.
pub fn recipe_document(answer: &RecipeAnswer) -> Document {
    let mut document = Document { title: answer.title.into(), ..Document::default() };
    let title =
        format!("{}: settings to raise for {} connections, by its manual", answer.title, answer.count);
    let mut steps = Section::new(title);
    for step in &answer.steps {
        let mut one = Section::new(Text::from(format!("{} · {}", step.limits, step.manual)));
        let mut table = Table::without_headings(2);
        table.push(["now", step.now.as_str()]);
        table.push(["for good", step.lasting.as_str()]);
        one.push(table);
        steps.push(one);
    }
    document.push(steps);
    if !answer.of_2001.is_empty() {
        let mut replaced = Section::new("In 2001, and today");
        for step in answer.of_2001 {
            let mut one = Section::new(step.then);
            one.say(format!("→ {}", step.today));
            replaced.push(one);
        }
        document.push(replaced);
    }
    if !answer.notes.is_empty() {
        let mut notes = Section::new("Notes");
        answer.notes.iter().for_each(|note| notes.say(note));
        document.push(notes);
    }
    document
}

/// The text for so many.
fn filled_in(text: &str, n: u64) -> String {
    let ports = n.min(PORTS_MOST);
    text.replace("{n}", &n.to_string())
        .replace("{all}", &(n + REST).to_string())
        .replace("{backlog}", &n.min(4096).to_string())
        .replace("{ports}", &ports.to_string())
        .replace("{first}", &(65_536 - ports).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_names_its_manual_and_fills_in() {
        for recipe in RECIPES {
            assert!(recipe.steps.len() >= 4, "{}", recipe.title);
            for step in recipe.steps {
                assert!(!step.manual.is_empty() && !step.limits.is_empty(), "{step:?}");
                for text in [step.now, step.lasting] {
                    let filled = filled_in(text, 100_000);
                    assert!(!filled.contains('{') && filled.len() < 200, "{filled}");
                }
            }
        }
        for system in ["linux", "freebsd", "illumos", "windows"] {
            let recipe = Recipe::find(system).expect("a system of 2001");
            assert!(!recipe.of_2001.is_empty(), "{system}");
        }
        assert!(Recipe::find("plan9").is_none());
        assert_eq!(filled_in("{first} {ports}", 1_000_000), "1025 64511");
    }
}
