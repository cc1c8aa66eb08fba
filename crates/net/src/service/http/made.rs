//! Pages that a program makes when they are asked for, in place of the files of a folder.

use std::io::Write;
use std::sync::Arc;

use super::date::Now;
use super::request::{Method, Request};
use super::response::{Answered, Staying, begin, end};
use super::{Http, HttpSettings, Shared, Source};
use crate::output::Output;
use crate::service::OpenService;

/// A request for a page. Its parts are as they came: visible ASCII, with their escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest<'a> {
    /// The path, which begins with a slash.
    pub path: &'a str,
    /// The part behind the question mark.
    pub query: &'a str,
    /// The host and port that the client named; empty where it named none.
    pub host: &'a str,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadePage {
    /// The status of HTTP.
    pub status: u16,
    /// Its media type.
    pub media_type: &'static str,
    /// Further fields of the head, each a whole line.
    pub fields: String,
    /// The content.
    pub body: Arc<[u8]>,
}

/// A program that makes pages. It is called by the thread of the connection: with an architecture that has a
/// thread for each, nobody waits for the page of another.
pub trait PageMaker: Send + Sync {
    /// Makes a page. It may take long, and it must not panic.
    fn page(&self, request: &PageRequest<'_>) -> MadePage;

    /// Stack that this takes, beyond that of a connection.
    fn stack_bytes(&self) -> usize;
}

/// A service of such pages over HTTP, with the limits of [`HttpSettings`].
pub fn made(maker: Arc<dyn PageMaker>) -> Arc<dyn OpenService> {
    let head_bytes = HttpSettings::default().head_bytes;
    Arc::new(Http { shared: Arc::new(Shared { source: Source::Made(maker), head_bytes, log: false }) })
}

/// Answers with a page that is made now.
pub(super) fn respond(
    request: &Request<'_>,
    staying: Staying,
    maker: &dyn PageMaker,
    now: &Now,
    output: &mut Output,
) -> Answered {
    // The parser let nothing but visible ASCII through.
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    let query = request.query.strip_prefix(b"?").unwrap_or_default();
    let host = text(request.fields.host.unwrap_or_default());
    let page = maker.page(&PageRequest { path: text(request.path), query: text(query), host });
    let out = output.bytes();
    begin(page.status, now, out);
    // Writing to memory does not fail.
    let _ = write!(
        out,
        "Content-Type: {}\r\nContent-Length: {}\r\n{}",
        page.media_type,
        page.body.len(),
        page.fields
    );
    end(staying, out);
    if request.method == Method::Head {
        return Answered { status: page.status, body_bytes: 0 };
    }
    let body_bytes = page.body.len() as u64;
    output.shared(page.body);
    Answered { status: page.status, body_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Flow;

    struct Echo;

    impl PageMaker for Echo {
        fn page(&self, request: &PageRequest<'_>) -> MadePage {
            let body = format!("{request:?}").into_bytes().into();
            MadePage { status: 200, media_type: "text/plain", fields: "X-Of: a test\r\n".to_owned(), body }
        }

        fn stack_bytes(&self) -> usize {
            0
        }
    }

    fn asked(request: &str) -> (Flow, String) {
        let mut output = Output::default();
        let mut session = made(Arc::new(Echo)).session(None);
        let flow = session.on_input(request.as_bytes(), &mut output);
        let mut all = Vec::new();
        while !output.is_empty() {
            let mut chunk = Vec::with_capacity(4096);
            output.fill(&mut chunk).expect("memory");
            all.extend(chunk);
        }
        (flow, String::from_utf8(all).expect("text"))
    }

    #[test]
    fn a_page_is_made_from_path_query_and_host() {
        let (flow, text) = asked("GET /a%20b?c=d HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n");
        assert_eq!(flow, Flow::More);
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("\r\nX-Of: a test\r\n"), "{text}");
        let expected = "PageRequest { path: \"/a%20b\", query: \"c=d\", host: \"127.0.0.1:80\" }";
        assert!(text.ends_with(&format!("\r\n\r\n{expected}")), "{text}");
        let (_, text) = asked("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_request_that_is_refused_makes_no_page() {
        let (flow, text) = asked("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(flow, Flow::Linger);
        assert!(text.starts_with("HTTP/1.1 405 "), "{text}");
    }
}
