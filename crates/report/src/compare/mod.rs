//! A comparison, whether its contenders are systems or the variants of a workload: one set of words, one line
//! for each contender in each series, one plot, one table, one document.

pub mod answer;
pub(crate) mod drawing;
pub(crate) mod growth;
mod lines;
mod page;
pub(crate) mod table;
pub(crate) mod words;

pub use answer::ComparisonAnswer;
pub use drawing::picture;
pub use lines::{note, refusal};
pub(crate) use lines::{offered, refused};
pub(crate) use page::{definitions, write_means, write_systems, write_variants};
pub use page::{write as write_html, write_on_site as write_html_on_site};
pub use table::document;
pub(crate) use table::section;
pub(crate) use words::{answer, more_words, name, sides};
