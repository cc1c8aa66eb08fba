//! Gates: claims that let a build fail, and the series about which they are certain.
//!
//! A gate is a list of claims, such as `slower:5%,grows@fork*`. [`of_comparison`] decides it for systems
//! against the first of them, [`of_run`] for a run by itself. The false discoveries of each gate are
//! held over all of its series ([`stats::gate`]).

mod answer;
mod claims;
mod decide;
mod fleet;

pub use answer::{ClaimAnswer, GateAnswer, GateReason, GatedSeries};
pub use claims::{ClaimKind, Gate, GateClaim};
pub use decide::{GateRefusal, of_comparison, of_run, undecided_series};
pub use fleet::of_fleet;
