//! The page that opens the file of an architecture or a service.

/// The page: the leading `//!` lines of the source, without their marks.
pub(crate) fn page(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Its first paragraph, as one line.
pub(crate) fn summary(source: &str) -> String {
    let page = page(source);
    let first = page.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    first.trim_end_matches('.').to_owned()
}
