//! Strings from any source, made safe for a page.

use std::io;

use crate::text::printable;

/// A string from any source, safe to stand in the text or in an attribute of a page.
pub fn esc(text: &str) -> String {
    let text = printable(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A document for a script, safe to stand inside a `<script>` element.
pub(crate) fn script_json<T: serde::Serialize>(value: &T) -> io::Result<String> {
    Ok(serde_json::to_string(value)?
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}
