//! Parts of a screen that are made to fit: as much is shown as there is room for, and the rest is counted.

use std::io;

use super::lists::List;
use crate::document::Tone;
use crate::text::{Page, Style};

/// A part of the overview, as it is to be written.
pub(super) type Part = Vec<u8>;

pub(super) fn lines(part: &Part) -> usize {
    part.iter().filter(|byte| **byte == b'\n').count()
}

pub(super) fn part(style: &Style, write: impl FnOnce(&mut Page<'_>) -> io::Result<()>) -> io::Result<Part> {
    let mut part = Vec::new();
    write(&mut Page::new(*style, &mut part))?;
    Ok(part)
}

/// As many of `most` things as fit into the lines, at least one; `write` is given how many.
pub(super) fn fitted(
    style: &Style,
    most: usize,
    room: usize,
    write: impl Fn(&mut Page<'_>, usize) -> io::Result<()>,
) -> io::Result<Part> {
    for shown in (1..=most).rev() {
        let part = part(style, |page| write(page, shown))?;
        if lines(&part) <= room || shown == 1 {
            return Ok(part);
        }
    }
    Ok(Vec::new())
}

/// A label and its items, as many as fit; the others are counted.
pub(super) fn list(style: &Style, list: &List<'_>) -> io::Result<Part> {
    let List { label, items, behind, lines, .. } = list;
    fitted(style, items.len(), *lines, |page, shown| {
        let more = match items.len() - shown {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        page.paragraph(&format!("{label}: {}{more}{behind}", items[..shown].join(", ")), 2, Tone::Plain)
    })
}
