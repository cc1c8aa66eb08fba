//! A comparison, whether its contenders are systems or the variants of a workload: one set of words, one line
//! for each contender in each series, one plot, one table, one document.

pub mod answer;
pub(crate) mod costs;
pub(crate) mod growth;
mod html;
mod lines;
mod notes;
mod over_load;
mod page;
mod picture;
pub(crate) mod scalings;
pub(crate) mod strip;
pub(crate) mod table;
pub(crate) mod words;

pub use answer::ComparisonAnswer;
pub(crate) use html::{definitions, write_means, write_part as write_html_part};
pub use notes::{note, refusal};
pub(crate) use notes::{offered, refused};
pub(crate) use page::write_part as write_systems;
pub use page::{write as write_html, write_on_site as write_html_on_site};
pub use picture::draw as picture;
pub use table::document;
pub(crate) use table::section;
pub(crate) use words::{answer, more_words, name, sides};
