//! Tables of bare numbers, whoever made them: with a header, or in columns without one.

pub(super) mod columns;
pub(super) mod csv;
pub(super) mod header;
