//! The other end of a connection of HTTP/2, for tests: it reads a client's bytes, and sends those of the
//! test.

#![allow(dead_code, reason = "each test needs a part of it")]

use std::collections::VecDeque;

/// The fields about the body of every response.
pub(crate) const BODY: &[u8] = b"hello";

/// The window of a connection, and of each stream until a setting changes it (RFC 9113 §6.9.2).
const WINDOW: i64 = 65_535;

/// A server's end: it takes bytes, and gives requests and the frames to send besides the responses. It opens
/// a window again only when nothing is left of it, so that a client that ignores windows is detected.
pub(crate) struct Peer {
    input: Vec<u8>,
    has_preface: bool,
    /// Requests whose bodies are not complete.
    open: Vec<Asked>,
    /// The frames to send: settings, acknowledgements and windows.
    pub(crate) output: Vec<u8>,
    /// Streams that the client has given up.
    pub(crate) cancelled: Vec<u32>,
    /// How many frames of settings of the client were acknowledged.
    pub(crate) acknowledged: usize,
    /// The bytes that the client may still send on all streams together.
    window: i64,
    /// The bytes that it may send on a new stream.
    stream_window: i64,
    /// By frame of settings that the client has not acknowledged, the window that it announces.
    announced: VecDeque<Option<i64>>,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) stream: u32,
    pub(crate) block: Vec<u8>,
    pub(crate) body_bytes: usize,
    /// The bytes that the client may still send in this stream.
    window: i64,
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

/// A response without a body, with the status 503.
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

/// By frame of settings, the window of streams that it announces (`SETTINGS_INITIAL_WINDOW_SIZE`).
fn announced(mut output: &[u8]) -> VecDeque<Option<i64>> {
    let mut announced = VecDeque::new();
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = output {
        let (payload, behind) = rest.split_at(u32::from_be_bytes([0, *a, *b, *c]) as usize);
        if (*kind, flags & 1) == (4, 0) {
            let window = payload.chunks_exact(6).find(|setting| setting[..2] == [0, 4]);
            announced.push_back(window.map(|setting| {
                i64::from(u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]))
            }));
        }
        output = behind;
    }
    announced
}

impl Peer {
    /// A server with these first bytes, which begin with its settings.
    pub(crate) fn saying(output: Vec<u8>) -> Peer {
        Peer {
            announced: announced(&output),
            output,
            input: Vec::new(),
            has_preface: false,
            open: Vec::new(),
            cancelled: Vec::new(),
            acknowledged: 0,
            window: WINDOW,
            stream_window: WINDOW,
        }
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
                let window = self.stream_window;
                self.open.push(Asked { stream, block: payload.to_vec(), body_bytes: 0, window });
            }
            (0, _) => {
                let bytes = payload.len() as i64;
                self.window -= bytes;
                assert!(self.window >= 0, "{} bytes beyond the window of the connection", -self.window);
                if let Some(one) = self.open.iter_mut().find(|one| one.stream == stream) {
                    one.body_bytes += payload.len();
                    one.window -= bytes;
                    assert!(one.window >= 0, "{} bytes beyond the window of stream {stream}", -one.window);
                }
                self.open_windows();
            }
            (4, 0) => self.output.extend(frame(4, 1, 0, &[])),
            (4, _) => {
                self.acknowledged += 1;
                if let Some(window) = self.announced.pop_front().flatten() {
                    let change = window - self.stream_window;
                    self.stream_window = window;
                    self.open.iter_mut().for_each(|one| one.window += change);
                    self.open_windows();
                }
            }
            (3, _) => {
                self.open.retain(|one| one.stream != stream);
                self.cancelled.push(stream);
            }
            (6, 1) | (7 | 8, _) => {}
            _ => panic!("a client sends no frames of kind {kind}"),
        }
    }

    /// Opens the windows that are used up.
    fn open_windows(&mut self) {
        let mut opened = Vec::new();
        if self.window == 0 {
            self.window = WINDOW;
            opened.push((0, WINDOW));
        }
        for one in self.open.iter_mut().filter(|one| one.window <= 0) {
            opened.push((one.stream, self.stream_window - one.window));
            one.window = self.stream_window;
        }
        for (stream, bytes) in opened {
            self.output.extend(frame(8, 0, stream, &(bytes as u32).to_be_bytes()));
        }
    }
}
