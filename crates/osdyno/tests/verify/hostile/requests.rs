//! Requests that two readers could understand differently.

use super::refused;
use crate::common::served::Served;
use crate::common::wire::{Wire, get, get_and_close};

/// Heads, and the responses that are right. After each comes another request, which must not be answered.
const REQUESTS: &[(&str, u16)] = &[
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 405),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4 4\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n Transfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rTransfer-Encoding: chunked\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX(: x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    ("GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.11\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
    ("GET /\r\n\r\n", 400),
    ("GET /\u{e4} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("get / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
    ("PUT / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("CONNECT test:80 HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", 417),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", 413),
    ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
];

pub(crate) fn requests(served: &Served) {
    for (request, right) in REQUESTS {
        let response = refused(served, [request, &*get("/smuggled")].concat());
        assert_eq!(response.status, *right, "{request:?}: {}", response.head);
        assert_eq!(response.field("connection"), Some("close"), "{request:?}: {}", response.head);
    }
    // Content that is announced is dropped, and never read as a request.
    let mut wire = Wire::connect(served.address);
    let smuggled = get("/smuggled");
    let length = smuggled.len();
    wire.send(format!("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{smuggled}"));
    wire.send(get_and_close("/folder"));
    assert_eq!((wire.response().status, wire.response().status), (200, 301));
    wire.expect_end();
}
