//! Presents the findings of `judge` to people and programs: in a terminal, as a page, as JSON. No decision is
//! made here.
//!
//! - [`overview`] is the findings of a run on one screen.
//! - [`table`] is all of it in a terminal.
//! - [`html`] is one page with every point of every trial.
//! - [`answer`] is every decision about a run as a value, for a program.
//! - [`document`] is an answer before it is written: for a terminal, a page, man(1) or Markdown.
//! - [`noise_floor`] is the result of comparing a system with itself.
//! - [`bisect`] is the first of an ordered list of systems from which a cost differs.
//! - [`fleet`] is a run on the hosts of a fleet, or two of them.
//! - [`history`] is the course of costs over the runs of a folder.
//! - [`formats`] are for where the result of a build is read.
//! - [`gate`] shows why a build failed, and how sure that is.
//! - [`compare`] is a comparison of systems, or of the variants of a workload.
//!
//! Must never: measure, know a workload, or look at this machine.

#![forbid(unsafe_code)]

pub mod answer;
pub mod bisect;
pub mod compare;
pub mod document;
pub mod export;
pub mod fleet;
pub mod formats;
pub mod gate;
pub mod history;
pub mod html;
pub mod noise_floor;
pub mod overview;
pub mod place;
pub mod quantity;
pub mod sentences;
pub mod shell;
pub mod table;
mod text;
pub mod words;

pub use answer::RunAnswer;
pub use document::Tone;
pub use text::{PrintableLines, Style, printable, wrapped};
