//! Verdicts in words: the same sentence in a terminal, in a page and in a document.

mod beside;
mod remarks;
mod run;
mod series;
mod stops;
mod verdict;

pub use crate::words::{capital, sentence};
pub use beside::{Beside, beside};
pub use remarks::{notes, remark, remarks};
pub use run::{confidence, label, planning, shortened, summary, surprises, variant_label};
pub use series::{expectation, tone, what, what_of};
pub(crate) use stops::places;
pub use stops::{advice, limited, stop};
pub(crate) use verdict::{at_most, middle};
pub use verdict::{gross_jump, in_short, verdict, verdict_sentence, verdict_with_growth, warnings};
