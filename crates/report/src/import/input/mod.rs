//! The bytes of a file as text, whatever wrote them: encodings, lines, fields, documents among other lines.

pub(super) mod documents;
pub(super) mod encoding;
pub(super) mod fields;
pub(super) mod lines;
