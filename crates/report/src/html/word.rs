//! Words of a finding as the page shows them: in their tone, linked with their definitions.

use judge::Finding;
use stats::Class;

use crate::document::{Text, Tone};
use crate::sentences;

/// The place where the page defines stops, and series without a number.
const STOPPED: &str = "v-stopped";

/// The class of a finding's words in the style sheet.
pub(super) fn tone(finding: &Finding) -> &'static str {
    match sentences::tone(finding) {
        Tone::Good => "good",
        Tone::Notable => "notable",
        _ => "open",
    }
}

/// The place in `reading.html` that defines a class.
pub(super) fn definition(class: Class) -> &'static str {
    match class {
        Class::Value => "v-value",
        Class::Flat => "v-flat",
        Class::SmallGrowth => "v-small-growth",
        Class::Sublinear | Class::LinearLike | Class::Superlinear => "v-shape",
        Class::ApproachingLimit => "v-limit",
        Class::Stepped => "v-stepped",
        Class::TwoLines => "v-two-lines",
        Class::Composite => "v-mixed",
        Class::Ambiguous => "v-grows",
        Class::Decreasing => "v-falls",
        Class::Uneven => "v-uneven",
        Class::Inconclusive => "v-inconclusive",
    }
}

/// The words of the class of a finding.
pub(super) fn of_class(words: &str, finding: &Finding, class: Class) -> Text {
    Text::linked(words, sentences::tone(finding), format!("#{}", definition(class)))
}

/// The reason why trials ended, or why there is no number.
pub(super) fn of_stop(words: &str) -> Text {
    Text::linked(words, Tone::Open, format!("#{STOPPED}"))
}
