//! The status of each request, whole and byte by byte.

use net::service::Flow;

use super::fixture::{SECRET, ask, converse, site};

/// Requests with a file.
const SERVED: &[(&str, u16)] = &[
    ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("HEAD /page.html HTTP/1.1\r\nhOST:\t h:80 \t\r\n\r\n", 200),
    ("GET /page.html HTTP/1.0\r\n\r\n", 200),
    ("GET /page.html HTTP/1.7\r\nHost: [::1]:80\r\n\r\n", 200),
    ("GET /page.html HTTP/1.1\r\nHost:\r\n\r\n", 200),
    ("GET /page.html?q=/../%zz HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET http://h:80/page.html HTTP/1.1\r\nHost: other\r\n\r\n", 200),
    ("GET HTTP://h HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET http://h?q HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET /p%61ge.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET //indexed//index.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET /link.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("OPTIONS /page.html HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 200),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: \u{e9}\t~\r\nY:\r\n\r\n", 200),
];

/// Requests without a file.
const MISSING: &[(&str, u16)] = &[
    ("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /page.html/ HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /page.html/x HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /%ff%fe HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /p%2561ge.html HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /.hidden HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /%2ehidden HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /./page.html HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /out HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /up HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /etc/passwd HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /loop HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /pipe HTTP/1.1\r\nHost: h\r\n\r\n", 404),
    ("GET /folder/ HTTP/1.1\r\nHost: h\r\n\r\n", 403),
    ("GET /folder HTTP/1.1\r\nHost: h\r\n\r\n", 301),
];

/// Paths that no file could have.
const PATHS: &[(&str, u16)] = &[
    ("GET /../secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /folder/../../secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /%2e%2e/secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /.%2E HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /..%2fsecret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /folder%2Fone.css HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /..\\secret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /..%5csecret HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page.html%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page%+1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page% HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page%a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
];

/// Invalid first lines.
const FIRST_LINES: &[(&str, u16)] = &[
    ("GET /\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\n\r\n", 400),
    ("\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/11\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400),
    ("GET page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET http:///page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET http://u@h/page.html HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /page.html#top HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET /p\u{e4}ge HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("G\u{7}T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\rHost: h\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\n\r\n", 505),
    ("get / HTTP/1.1\r\nHost: h\r\n\r\n", 501),
    ("BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 405),
    ("CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
    ("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
];

/// Fields that two readers could understand differently.
const FIELDS: &[(&str, u16)] = &[
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET http://h/ HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n\tb\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX: a\u{7f}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nX\u{b}: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400),
    ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: h\r\ntransfer-encoding:\tidentity\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n", 417),
    ("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", 200),
];

#[test]
fn statuses() {
    let site = site();
    let long = format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(20_000));
    let large = format!("GET / HTTP/1.1\r\nHost: h\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    let too_large = [(&long[..], 414), (&large[..], 431)];
    for (request, status) in [SERVED, MISSING, PATHS, FIRST_LINES, FIELDS, &too_large].concat() {
        let shown: String = request.chars().take(80).collect();
        let (response, flow) = ask(&*site.machine, request.as_bytes());
        assert_eq!(response.status, status, "{shown:?}");
        assert!(!response.body.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{shown:?}");
        let ends = response.field("Connection") == Some("close");
        assert_eq!(ends, flow != Flow::More, "{shown:?}");
        if ends && status >= 400 {
            assert_eq!(flow, Flow::Linger, "{shown:?}");
        }
        if status == 405 {
            assert_eq!(response.field("Allow"), Some("GET, HEAD, OPTIONS"));
        }
        let pieces: Vec<&[u8]> = request.as_bytes().chunks(1).collect();
        let whole = converse(&*site.machine, [request.as_bytes()]).0;
        assert_eq!(converse(&*site.machine, pieces).0, whole, "{shown:?} byte by byte");
    }
}
