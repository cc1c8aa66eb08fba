//! The other end of a connection of HTTP/2, for tests: it understands what a client sends, and says what a
//! test wants.

#![allow(dead_code, reason = "each test needs a part of it")]

/// What is said of the body of every response.
pub(crate) const BODY: &[u8] = b"hello";

/// A server's end: it takes bytes, and gives requests and what has to be sent besides the responses.
#[derive(Default)]
pub(crate) struct Peer {
    input: Vec<u8>,
    has_preface: bool,
    /// Requests whose bodies are not complete.
    open: Vec<Asked>,
    /// What has to be sent: settings, acknowledgements and windows.
    pub(crate) output: Vec<u8>,
    /// Streams that the client has given up.
    pub(crate) cancelled: Vec<u32>,
    /// What the client has said in its settings has been acknowledged so often.
    pub(crate) acknowledged: usize,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) stream: u32,
    pub(crate) block: Vec<u8>,
    pub(crate) body_bytes: usize,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A whole response: its status, a field that enters the table, the length of the body, and the body.
pub(crate) fn response(stream: u32, body: &[u8]) -> Vec<u8> {
    [head(stream, body.len()), frame(0, 1, stream, body)].concat()
}

pub(crate) fn head(stream: u32, length: usize) -> Vec<u8> {
    let digits = length.to_string();
    let length = [&[0x0f, 0x0d, digits.len() as u8], digits.as_bytes()].concat();
    frame(1, 4, stream, &[b"\x88\x40\x01x\x01y", length.as_slice()].concat())
}

/// A response without a body, of which the status is 503.
pub(crate) fn busy(stream: u32) -> Vec<u8> {
    frame(1, 5, stream, b"\x08\x03503")
}

pub(crate) fn go_away(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

/// A setting.
pub(crate) fn settings(name: u16, value: u32) -> Vec<u8> {
    frame(4, 0, 0, &[&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
}

impl Peer {
    /// A server whose first words are these; they begin with its settings.
    pub(crate) fn saying(output: Vec<u8>) -> Peer {
        Peer { output, ..Peer::default() }
    }

    /// The requests that are complete now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Asked> {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        self.input.extend_from_slice(bytes);
        if !self.has_preface {
            if self.input.len() < PREFACE.len() {
                return Vec::new();
            }
            assert!(self.input.starts_with(PREFACE), "a client begins with its preface");
            self.input.drain(..PREFACE.len());
            self.has_preface = true;
        }
        let mut complete = Vec::new();
        while let [a, b, c, kind, flags, s, t, u, v, ..] = self.input[..] {
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if self.input.len() < 9 + length {
                break;
            }
            let payload: Vec<u8> = self.input.drain(..9 + length).skip(9).collect();
            self.on_frame(kind, flags, u32::from_be_bytes([s, t, u, v]), &payload);
            if matches!(kind, 0 | 1) && flags & 1 != 0 {
                let place = self.open.iter().position(|one| one.stream == u32::from_be_bytes([s, t, u, v]));
                complete.extend(place.map(|place| self.open.remove(place)));
            }
        }
        complete
    }

    fn on_frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match (kind, flags & 1) {
            (1, _) => {
                assert_eq!(flags & 4, 4, "its fields are in one frame");
                self.open.push(Asked { stream, block: payload.to_vec(), body_bytes: 0 });
            }
            (0, _) => {
                if let Some(one) = self.open.iter_mut().find(|one| one.stream == stream) {
                    one.body_bytes += payload.len();
                }
                let bytes = (payload.len() as u32).to_be_bytes();
                self.output.extend(frame(8, 0, 0, &bytes));
                self.output.extend(frame(8, 0, stream, &bytes));
            }
            (4, 0) => self.output.extend(frame(4, 1, 0, &[])),
            (4, _) => self.acknowledged += 1,
            (3, _) => {
                self.open.retain(|one| one.stream != stream);
                self.cancelled.push(stream);
            }
            (6, 1) | (7 | 8, _) => {}
            _ => panic!("a client sends no frames of kind {kind}"),
        }
    }
}
