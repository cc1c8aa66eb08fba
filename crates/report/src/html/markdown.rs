//! The pages of workloads: Markdown without raw HTML, without pictures, with links that only lead to the web.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::text::printable;

/// Markdown as HTML that is safe whatever the text says. The first heading in it becomes one of level 4.
pub(crate) fn render(text: &str) -> String {
    let safe = text.lines().map(printable).collect::<Vec<_>>().join("\n");
    let mut links_dropped = 0usize;
    let events =
        Parser::new_ext(&safe, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).filter_map(|event| {
            Some(match event {
                // An entity such as &#x202e; has become a character only now.
                Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                    Event::Text(printable(&text).into_owned().into())
                }
                Event::Start(Tag::HtmlBlock | Tag::Image { .. })
                | Event::End(TagEnd::HtmlBlock | TagEnd::Image) => return None,
                Event::Start(Tag::Heading { level, id: _, classes: _, attrs: _ }) => {
                    Event::Start(Tag::Heading {
                        level: lower(level),
                        id: None,
                        classes: vec![],
                        attrs: vec![],
                    })
                }
                Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
                Event::Start(Tag::Link { dest_url, .. }) if !leads_to_the_web(&dest_url) => {
                    links_dropped += 1;
                    return None;
                }
                Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
                    Event::Start(Tag::Link { link_type, dest_url, title: CowStr::Borrowed(""), id })
                }
                Event::End(TagEnd::Link) if links_dropped > 0 => {
                    links_dropped -= 1;
                    return None;
                }
                event => event,
            })
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

fn leads_to_the_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_page_acts() {
        let page = render(
            "# Bind\n\n<script>alert(1)</script>\n\nA <b onclick=x>word</b> and \
             [a link](javascript:alert(1)) and ![a picture](https://example.org/x.png) \u{1b}[2J \
             and &#x202e;, `&#x202e;`, \u{202e}, [&#8238;](https://example.org/&#x202e;)",
        );
        assert!(!page.contains("<script") && !page.contains("<b ") && !page.contains("<img"), "{page}");
        assert!(!page.contains("javascript:") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(page.contains("<h4>Bind</h4>") && page.contains("&lt;script&gt;"), "{page}");
    }

    #[test]
    fn paragraphs_code_and_lists_stand() {
        let page = render("One `bind` *call*:\n\n- first\n- [second](https://example.org)\n");
        assert!(page.contains("<code>bind</code>") && page.contains("<li>first</li>"), "{page}");
        assert!(page.contains("<a href=\"https://example.org\">second</a>"), "{page}");
    }
}
