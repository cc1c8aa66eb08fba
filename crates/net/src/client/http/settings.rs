//! What a client of web servers is to request, and what it expects.

use serde::{Deserialize, Serialize};

use crate::options::Content;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpClientSettings {
    /// The value of `Host`.
    pub host: String,
    /// Asked for in turn; each connection begins with another. None is `/`.
    pub paths: Vec<String>,
    /// How often each of the paths is asked for, such as `3,1`. None is equally often.
    pub weights: Vec<String>,
    /// The method. None is `POST` with a body, else `GET`.
    pub method: Option<String>,
    /// Sent with every request.
    pub body: Option<Content>,
    /// Ask for heads alone.
    pub head: bool,
    /// Compare no bodies.
    pub any_body: bool,
    /// Statuses that are right, such as `200,304` or `2xx`. None is `2xx`.
    pub expect_status: Vec<String>,
    /// Ask the server to close after each response.
    pub close: bool,
    /// Speak HTTP/2, of which the server must know: by ALPN, or because it speaks nothing else there.
    #[serde(skip_serializing_if = "is_false")]
    pub http2: bool,
    /// Requests under way on a connection of HTTP/2 at once, at most. None is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<usize>,
    /// More fields, as `Name: value`, or `@` and the name of a file of them; one that would be sent anyway is
    /// replaced.
    pub fields: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Default for HttpClientSettings {
    fn default() -> HttpClientSettings {
        HttpClientSettings {
            host: "localhost".to_owned(),
            paths: Vec::new(),
            weights: Vec::new(),
            method: None,
            body: None,
            head: false,
            any_body: false,
            expect_status: Vec::new(),
            close: false,
            http2: false,
            streams: None,
            fields: Vec::new(),
        }
    }
}
