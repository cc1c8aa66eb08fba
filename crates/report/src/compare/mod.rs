//! A comparison of systems, as it is said.

mod html;
mod json;
mod picture;
mod table;
mod words;

pub use html::write as write_html;
pub(crate) use json::entry;
pub use json::write as write_json;
pub use picture::draw as picture;
pub use table::write as write_table;
pub use words::{note, refusal};
