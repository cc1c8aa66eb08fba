//! The tone of a finding, as the style sheet names it.

use judge::Finding;

use crate::sentences;
use crate::text::Tone;

/// The class of a finding's words in the style sheet.
pub(super) fn tone(finding: &Finding) -> &'static str {
    match sentences::tone(finding) {
        Tone::Good => "good",
        Tone::Notable => "notable",
        _ => "open",
    }
}
