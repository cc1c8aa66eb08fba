//! Verdicts in words: the same sentence in a terminal, in a page and in a document.

mod background;
mod beside;
mod remarks;
mod run;
mod scaling;
mod series;
mod stops;
mod verdict;

pub(crate) use crate::words::capital;
pub use crate::words::sentence;
pub use background::background;
pub(crate) use background::{backgrounds, clients, wanted};
pub(crate) use beside::landmark;
pub use beside::{Beside, beside};
pub(crate) use remarks::kinds_of_remarks;
pub use remarks::{notes, remark, remarks};
pub(crate) use run::{confidence, further, noise_floor, on_system, planning, surprises, variant_label};
pub use run::{label, machine, shortened, summary, usable_processors};
pub(crate) use scaling::{loss, share_of_time};
pub(crate) use series::{ends, expectation, tone};
pub use series::{what, what_of};
pub use stops::{advice, limited, load_reason, stop};
pub(crate) use verdict::{
    extrapolated, gross_jump, in_a_word, in_short, verdict_and_rest, verdict_sentence, verdict_with_growth,
};
pub(crate) use verdict::{middle, name as class_name, slope, verdict_beside_cost};
pub use verdict::{verdict, warnings};
