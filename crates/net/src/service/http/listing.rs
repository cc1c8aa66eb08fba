//! The names in a folder as a page of HTML.

use std::fs::File;
use std::io;

use super::target;

/// Of a folder with more names, the page says that it has more.
const NAMES_MAX: usize = 10_000;

/// Writes the page of an open folder, whose path below the root is given.
pub(super) fn write(path: &[u8], folder: &File) -> io::Result<Vec<u8>> {
    let mut names = sys::file::names(folder, NAMES_MAX)?;
    let is_cut = names.len() == NAMES_MAX;
    names.retain(|name| !name.bytes.starts_with(b"."));
    names.sort();
    let mut page = b"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>/".to_vec();
    escape(path, &mut page);
    page.extend_from_slice(b"</title></head><body>\n<h1>/");
    escape(path, &mut page);
    page.extend_from_slice(b"</h1>\n<ul>\n");
    if !path.is_empty() {
        page.extend_from_slice(b"<li><a href=\"../\">../</a></li>\n");
    }
    for name in &names {
        let slash: &[u8] = if name.is_folder { b"/" } else { b"" };
        // Without the dot, a name with a colon would be read as a scheme.
        page.extend_from_slice(b"<li><a href=\"./");
        target::encode(&name.bytes, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"\">");
        escape(&name.bytes, &mut page);
        page.extend_from_slice(slash);
        page.extend_from_slice(b"</a></li>\n");
    }
    page.extend_from_slice(b"</ul>\n");
    if is_cut {
        page.extend_from_slice(b"<p>There are more.</p>\n");
    }
    page.extend_from_slice(b"</body></html>\n");
    Ok(page)
}

fn escape(text: &[u8], page: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'&' => page.extend_from_slice(b"&amp;"),
            b'<' => page.extend_from_slice(b"&lt;"),
            b'>' => page.extend_from_slice(b"&gt;"),
            b'"' => page.extend_from_slice(b"&quot;"),
            b'\'' => page.extend_from_slice(b"&#39;"),
            _ => page.push(*byte),
        }
    }
}
