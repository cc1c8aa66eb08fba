//! What to raise on other systems before thousands of connections work: a recipe for each, by its manual, and
//! what its recipe of 2001 became.
//!
//! The published comparison of 2001 gave recipes for Linux 2.2, FreeBSD 4.2 and Solaris 8. Those of
//! systems that nobody can try here are by their manuals, which each step names.

mod definition;
mod freebsd;
mod illumos;
mod linux;
mod macos;
mod netbsd;
mod openbsd;
mod windows;

pub use definition::{Recipe, RecipeStep, Replaced};

/// All recipes, in the order of their names.
const RECIPES: &[&Recipe] = &[
    &freebsd::RECIPE,
    &illumos::RECIPE,
    &linux::RECIPE,
    &macos::RECIPE,
    &netbsd::RECIPE,
    &openbsd::RECIPE,
    &windows::RECIPE,
];

/// Descriptors that the rest of a system needs.
const REST: u64 = 10_000;
/// More must be usable by clients of one address than this; there are no more ports.
const PORTS_MOST: u64 = 64_511;

impl Recipe {
    /// The recipe of that system.
    pub fn of(system: &str) -> Option<&'static Recipe> {
        RECIPES.iter().copied().find(|recipe| recipe.system == system)
    }
}

/// The text for so many.
pub fn filled_in(text: &str, n: u64) -> String {
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
            let recipe = Recipe::of(system).expect("a system of 2001");
            assert!(!recipe.of_2001.is_empty(), "{system}");
        }
        assert!(Recipe::of("plan9").is_none());
        assert_eq!(filled_in("{first} {ports}", 1_000_000), "1025 64511");
    }
}
