//! Requests as they are sent: written once, before the load begins.

use super::head::tokens;
use super::settings::HttpClientSettings;
use crate::Error;

/// A header field that a user gave.
struct Field<'a> {
    /// As it was written.
    text: &'a str,
    name: &'a str,
    value: &'a str,
}

impl<'a> Field<'a> {
    fn parse(text: &'a str) -> Result<Field<'a>, Error> {
        if text.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            return Err(refused("a field holds no control characters", text));
        }
        let (name, value) = text.split_once(':').unwrap_or_default();
        if !is_token(name) {
            return Err(refused("a field is written as Name: value", text));
        }
        Ok(Field { text, name, value: value.trim() })
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    fn requests_close(&self) -> bool {
        self.is("Connection")
            && tokens(self.value.as_bytes()).any(|option| option.eq_ignore_ascii_case(b"close"))
    }
}

/// The fields that a user gave. Those of a file are read each time: settings, and results that have them,
/// hold the name of the file alone.
fn given_fields(settings: &HttpClientSettings) -> Result<Vec<String>, Error> {
    let mut fields = Vec::new();
    for text in &settings.fields {
        match text.strip_prefix('@') {
            Some(path) => fields.extend(fields_of_file(path)?),
            None => fields.push(text.clone()),
        }
    }
    Ok(fields)
}

/// One field in each line. An error does not repeat the line, which may hold a secret.
fn fields_of_file(path: &str) -> Result<Vec<String>, Error> {
    let refuse = |why: String| Error::Settings(format!("cannot read header fields from {path}: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let field = |(number, line): (usize, &str)| match Field::parse(line) {
        Ok(_) => Ok(line.to_owned()),
        Err(_) => Err(refuse(format!("line {} is not written as Name: value", number + 1))),
    };
    lines.map(field).collect()
}

/// Whether the fields of a user have the server close after each response.
pub(super) fn fields_request_close(settings: &HttpClientSettings) -> bool {
    let fields = given_fields(settings).unwrap_or_default();
    fields.iter().filter_map(|text| Field::parse(text).ok()).any(|field| field.requests_close())
}

/// The method: the one that was chosen, or what suits the other settings.
pub(super) fn method(settings: &HttpClientSettings) -> Result<&str, Error> {
    match (&settings.method, settings.head) {
        (None, true) => Ok("HEAD"),
        (None, false) if settings.body.is_some() => Ok("POST"),
        (None, false) => Ok("GET"),
        (Some(method), true) if method != "HEAD" => {
            Err(Error::Settings(format!("--head and --method {method} contradict each other")))
        }
        (Some(method), _) if method == "CONNECT" => {
            Err(Error::Settings("the method CONNECT opens a tunnel, which is no load".to_owned()))
        }
        (Some(method), _) if is_token(method) => Ok(method),
        (Some(method), _) => Err(refused("a method is a word such as PUT", method)),
    }
}

/// A request, before it has the form of a version.
pub(super) struct Message<'a> {
    pub(super) method: &'a str,
    /// The fields, each as `Name: value`.
    pub(super) fields: Vec<String>,
    pub(super) body: &'a [u8],
}

/// A request for a path, to its last byte.
pub(super) fn compose(settings: &HttpClientSettings, path: &str) -> Result<Vec<u8>, Error> {
    let Message { method, fields, body } = message(settings, path)?;
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    for field in fields {
        request.push_str(&field);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    Ok([request.as_bytes(), body].concat())
}

/// What is requested of a path.
///
/// A field that the user gives takes the place of ours; without a value it only removes ours.
pub(super) fn message<'a>(settings: &'a HttpClientSettings, path: &str) -> Result<Message<'a>, Error> {
    if !path.starts_with('/') || path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(refused("a path begins with / and holds neither spaces nor control characters", path));
    }
    let host = format!("Host: {}", settings.host);
    Field::parse(&host)?;
    let given = given_fields(settings)?;
    let given = given.iter().map(|text| Field::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let method = method(settings)?;
    let body = settings.body.as_ref().map_or(&[][..], |body| body.bytes());
    let mut own = vec![host, "User-Agent: osdyno".to_owned()];
    if settings.close {
        if let Some(other) = given.iter().find(|field| field.is("Connection") && !field.requests_close()) {
            let text = format!("{:?} contradicts connections for one request each", other.text);
            return Err(Error::Settings(text));
        }
        own.push("Connection: close".to_owned());
    }
    // A server expects a length where a method has a body, even if it is empty (RFC 9110, section 8.6).
    let has_body = settings.body.is_some() || matches!(method, "POST" | "PUT" | "PATCH");
    if has_body && !given.iter().any(|field| field.is("Transfer-Encoding")) {
        own.push(format!("Content-Length: {}", body.len()));
    }
    let own = own.iter().map(|text| Field::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let is_replaced = |own: &Field<'_>| given.iter().any(|field| field.is(own.name));
    let is_removal = |field: &Field<'_>| field.value.is_empty() && own.iter().any(|own| own.is(field.name));
    let kept = own.iter().filter(|own| !is_replaced(own));
    let fields = kept.chain(given.iter().filter(|field| !is_removal(field)));
    Ok(Message { method, fields: fields.map(|field| field.text.to_owned()).collect(), body })
}

/// RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_mark = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_mark(byte))
}

pub(super) fn refused(why: &str, text: &str) -> Error {
    Error::Settings(format!("{text:?} cannot stand in a request: {why}"))
}
