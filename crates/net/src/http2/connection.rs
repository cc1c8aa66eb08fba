//! One connection of a client: the state that all of its streams share.

use std::collections::VecDeque;
use std::rc::Rc;

use super::frame::{
    self, FrameHeader, HEADER_BYTES, OWN_WINDOW, PAYLOAD_MAX, PeerSettings, WINDOW, WINDOW_MAX, write_own,
};
use super::hpack::{Decoder, Indexing, TABLE_BYTES};
use super::stream::{Head, Known, Progress, Streams};
use super::{ErrorCode, Http2Fault, Requests, ResponsePart};

/// A connection: received bytes go in, bytes to send come out, and the parts of each response are handed on
/// with the token of their request.
pub struct Http2Connection {
    pub(super) requests: Rc<Requests>,
    pub(super) output: Vec<u8>,
    /// The beginning of a frame.
    pieces: Vec<u8>,
    pub(super) peer: PeerSettings,
    has_settings: bool,
    decoder: Decoder,
    /// The beginning of a header block.
    block: Option<Block>,
    pub(super) indexing: Indexing,
    /// The size of the table that this end has announced.
    pub(super) table_bytes: usize,
    pub(super) streams: Streams,
    /// Tokens and requests for which the server allows no stream yet.
    pub(super) waiting: VecDeque<(u32, usize)>,
    /// Streams whose bodies are not sent to their end.
    pub(super) bodies: VecDeque<u32>,
    pub(super) send_window: i64,
    /// Bytes received for which the server has no new window yet.
    received: i64,
    /// The last stream that the server will respond to.
    last: Option<u32>,
}

struct Block {
    stream: u32,
    is_end: bool,
    bytes: Vec<u8>,
}

const BLOCK_MAX: usize = 64 << 10;
/// A server that causes more replies than this and does not read them is hostile.
const OUTPUT_MAX: usize = 1 << 20;
/// Streams have no greater number.
const NUMBER_MAX: u32 = 1 << 30;

type Checked = Result<(), ErrorCode>;

impl Http2Connection {
    /// A new connection, whose first bytes wait to be sent.
    pub fn new(requests: Rc<Requests>) -> Http2Connection {
        let mut output = Vec::new();
        write_own(&mut output);
        let uses_table = requests.table_bytes > 0;
        Http2Connection {
            requests,
            output,
            pieces: Vec::new(),
            peer: PeerSettings::default(),
            has_settings: false,
            decoder: Decoder::new(),
            block: None,
            indexing: if uses_table { Indexing::Begins } else { Indexing::Never },
            table_bytes: TABLE_BYTES,
            streams: Streams::default(),
            waiting: VecDeque::new(),
            bodies: VecDeque::new(),
            send_window: WINDOW,
            received: 0,
            last: None,
        }
    }

    /// Whether another request may be started.
    pub fn takes_requests(&self) -> bool {
        self.last.is_none() && self.streams.next() < NUMBER_MAX
    }

    /// Takes no more requests.
    pub(crate) fn retire(&mut self) {
        self.last.get_or_insert(u32::MAX);
    }

    /// Tells the server that no more requests come.
    pub fn go_away(&mut self, code: ErrorCode) {
        let payload = [[0; 4], code.0.to_be_bytes()].concat();
        frame::write(&mut self.output, frame::GOAWAY, 0, 0, &payload);
    }

    /// The output.
    pub fn output(&mut self) -> &[u8] {
        if !self.bodies.is_empty() {
            self.put_bodies();
        }
        &self.output
    }

    /// So many bytes of the output have left.
    pub fn sent(&mut self, bytes: usize) {
        self.output.drain(..bytes);
    }

    /// Takes input, cut anywhere.
    ///
    /// # Errors
    /// The fault that ends the connection, and all requests on it.
    pub fn on_input(
        &mut self,
        mut input: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Result<(), Http2Fault> {
        while !self.pieces.is_empty() && !input.is_empty() {
            let header = FrameHeader::parse(&self.pieces);
            let wanted = HEADER_BYTES + header.map_or(0, |header| header.length) - self.pieces.len();
            let (taken, rest) = input.split_at(wanted.min(input.len()));
            self.pieces.extend_from_slice(taken);
            input = rest;
            if let Some(header) = self.checked_header(&self.pieces)?
                && self.pieces.len() == HEADER_BYTES + header.length
            {
                let pieces = std::mem::take(&mut self.pieces);
                self.on_frame(header, &pieces[HEADER_BYTES..], to)?;
                self.pieces = pieces;
                self.pieces.clear();
            }
        }
        while let Some(header) = self.checked_header(input)? {
            let Some((frame, rest)) = input.split_at_checked(HEADER_BYTES + header.length) else { break };
            self.on_frame(header, &frame[HEADER_BYTES..], to)?;
            input = rest;
        }
        self.pieces.extend_from_slice(input);
        Ok(())
    }

    /// The header of a frame, if it is there and may be.
    fn checked_header(&self, bytes: &[u8]) -> Result<Option<FrameHeader>, Http2Fault> {
        let Some(header) = FrameHeader::parse(bytes) else { return Ok(None) };
        let is_first = (header.kind, header.stream) == (frame::SETTINGS, 0) && !header.has(frame::ACK);
        if !self.has_settings && !is_first {
            return Err(Http2Fault::NotSpoken);
        }
        if header.length > PAYLOAD_MAX {
            return Err(Http2Fault::Violated(ErrorCode::FRAME_SIZE_ERROR));
        }
        Ok(Some(header))
    }

    #[inline]
    fn on_frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Result<(), Http2Fault> {
        let checked = match header.kind {
            frame::CONTINUATION => self.on_continuation(header, payload, to),
            _ if self.block.is_some() => Err(ErrorCode::PROTOCOL_ERROR),
            frame::DATA => self.on_data(header, payload, to),
            frame::HEADERS => self.on_headers(header, payload, to),
            frame::SETTINGS => self.on_settings(header, payload),
            frame::WINDOW_UPDATE => self.on_window_update(header, payload, to),
            frame::PING => self.on_ping(header, payload),
            frame::RST_STREAM => self.on_reset(header, payload, to),
            frame::GOAWAY => self.on_go_away(header, payload, to),
            frame::PRIORITY if payload.len() != 5 => Err(ErrorCode::FRAME_SIZE_ERROR),
            // The client's settings forbid it.
            frame::PUSH_PROMISE => Err(ErrorCode::PROTOCOL_ERROR),
            _ => Ok(()),
        };
        checked.map_err(|code| {
            self.go_away(code);
            Http2Fault::Violated(code)
        })
    }

    #[inline]
    fn on_data(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let size = payload.len() as i64;
        self.received += size;
        if self.received > OWN_WINDOW / 2 {
            give_window(&mut self.output, 0, &mut self.received);
        }
        let data = without_padding(header, payload)?;
        let stream = match self.streams.get(header.stream) {
            Known::Open(stream) => stream,
            Known::Closed => return Ok(()),
            Known::Idle => return Err(ErrorCode::PROTOCOL_ERROR),
        };
        stream.received += size;
        if stream.received > OWN_WINDOW / 2 {
            give_window(&mut self.output, header.stream, &mut stream.received);
        }
        let progress = stream.on_data(data, header.has(frame::END_STREAM), to);
        self.on_progress(header.stream, progress, to);
        Ok(())
    }

    fn on_headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let mut part = without_padding(header, payload)?;
        if header.has(frame::HAS_PRIORITY) {
            part = part.get(5..).ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
        }
        if matches!(self.streams.get(header.stream), Known::Idle) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let is_end = header.has(frame::END_STREAM);
        if header.has(frame::END_HEADERS) {
            return self.on_block(header.stream, is_end, part, to);
        }
        self.block = Some(Block { stream: header.stream, is_end, bytes: part.to_vec() });
        Ok(())
    }

    fn on_continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let block = self.block.as_mut().filter(|block| block.stream == header.stream);
        let block = block.ok_or(ErrorCode::PROTOCOL_ERROR)?;
        // Frames without a byte would never make it longer.
        if payload.is_empty() || block.bytes.len() + payload.len() > BLOCK_MAX {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        block.bytes.extend_from_slice(payload);
        match self.block.take_if(|_| header.has(frame::END_HEADERS)) {
            Some(block) => self.on_block(block.stream, block.is_end, &block.bytes, to),
            None => Ok(()),
        }
    }

    /// A whole header block, which is read even without a request that waits for it: later ones build on it.
    fn on_block(
        &mut self,
        stream: u32,
        is_end: bool,
        block: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let mut head = Head::default();
        let decoded = self.decoder.decode(block, |name, value| head.on_field(name, value));
        decoded.map_err(|_| ErrorCode::COMPRESSION_ERROR)?;
        if let Known::Open(open) = self.streams.get(stream) {
            let progress = open.on_head(head, is_end, to);
            self.on_progress(stream, progress, to);
        }
        Ok(())
    }

    #[inline]
    fn on_progress(
        &mut self,
        number: u32,
        progress: Result<Progress, ErrorCode>,
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) {
        let (code, part) = match progress {
            Ok(Progress::Open) => return,
            Ok(Progress::Complete) => (ErrorCode::NO_ERROR, ResponsePart::End),
            Ok(Progress::Short) => (ErrorCode::NO_ERROR, ResponsePart::Cut(None)),
            Err(code) => (code, ResponsePart::Cut(Some(Http2Fault::Violated(code)))),
        };
        let Some(stream) = self.streams.remove(number) else { return };
        // A server may respond before it has the whole request, which then has to end too.
        if code != ErrorCode::NO_ERROR || stream.body_sent < self.requests.requests[stream.request].body.len()
        {
            self.write_reset(number, code);
        }
        to(stream.token, part);
        self.begin_waiting();
    }

    fn on_settings(&mut self, header: FrameHeader, payload: &[u8]) -> Checked {
        if header.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if header.has(frame::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(ErrorCode::FRAME_SIZE_ERROR) };
        }
        let window = self.peer.window;
        self.peer.read(payload, !self.has_settings)?;
        self.has_settings = true;
        let change = self.peer.window - window;
        for (_, stream) in self.streams.iter() {
            stream.send_window += change;
            if stream.send_window > WINDOW_MAX {
                return Err(ErrorCode::FLOW_CONTROL_ERROR);
            }
        }
        self.reply(frame::SETTINGS, &[])?;
        self.begin_waiting();
        Ok(())
    }

    fn on_ping(&mut self, header: FrameHeader, payload: &[u8]) -> Checked {
        match (header.stream, payload.len()) {
            (0, 8) if header.has(frame::ACK) => Ok(()),
            (0, 8) => self.reply(frame::PING, payload),
            (0, _) => Err(ErrorCode::FRAME_SIZE_ERROR),
            _ => Err(ErrorCode::PROTOCOL_ERROR),
        }
    }

    fn reply(&mut self, kind: u8, payload: &[u8]) -> Checked {
        if self.output.len() > OUTPUT_MAX {
            return Err(ErrorCode::ENHANCE_YOUR_CALM);
        }
        frame::write(&mut self.output, kind, frame::ACK, 0, payload);
        Ok(())
    }

    fn on_window_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let bytes: [u8; 4] = payload.try_into().map_err(|_| ErrorCode::FRAME_SIZE_ERROR)?;
        let more = i64::from(frame::number(bytes));
        let window = match (header.stream, self.streams.get(header.stream)) {
            (0, _) => &mut self.send_window,
            (_, Known::Open(stream)) => &mut stream.send_window,
            (_, Known::Closed) => return Ok(()),
            (_, Known::Idle) => return Err(ErrorCode::PROTOCOL_ERROR),
        };
        *window += more;
        let code = match more {
            0 => ErrorCode::PROTOCOL_ERROR,
            _ if *window > WINDOW_MAX => ErrorCode::FLOW_CONTROL_ERROR,
            _ => return Ok(()),
        };
        if header.stream == 0 {
            return Err(code);
        }
        self.on_progress(header.stream, Err(code), to);
        Ok(())
    }

    fn on_reset(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let bytes: [u8; 4] = payload.try_into().map_err(|_| ErrorCode::FRAME_SIZE_ERROR)?;
        if matches!(self.streams.get(header.stream), Known::Idle) {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        if let Some(stream) = self.streams.remove(header.stream) {
            let fault = Http2Fault::Reset(ErrorCode(u32::from_be_bytes(bytes)));
            to(stream.token, ResponsePart::Cut(Some(fault)));
            self.begin_waiting();
        }
        Ok(())
    }

    fn on_go_away(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        to: &mut impl FnMut(u32, ResponsePart<'_>),
    ) -> Checked {
        let &[a, b, c, d, w, x, y, z, ..] = payload else { return Err(ErrorCode::FRAME_SIZE_ERROR) };
        if header.stream != 0 {
            return Err(ErrorCode::PROTOCOL_ERROR);
        }
        let (last, code) = (frame::number([a, b, c, d]), ErrorCode(u32::from_be_bytes([w, x, y, z])));
        self.last = Some(last);
        let part = match code {
            ErrorCode::NO_ERROR => ResponsePart::Unprocessed,
            code => ResponsePart::Cut(Some(Http2Fault::GoneAway(code))),
        };
        for (token, _) in std::mem::take(&mut self.waiting) {
            to(token, part);
        }
        let behind: Vec<u32> =
            self.streams.iter().map(|(number, _)| number).filter(|&number| number > last).collect();
        for number in behind {
            if let Some(stream) = self.streams.remove(number) {
                to(stream.token, part);
            }
        }
        Ok(())
    }
}

/// Lets the server send as many bytes again as have come.
#[cold]
fn give_window(to: &mut Vec<u8>, stream: u32, received: &mut i64) {
    let bytes = std::mem::take(received) as u32;
    frame::write(to, frame::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
}

/// The content of a frame without its padding (section 6.1).
#[inline]
fn without_padding(header: FrameHeader, payload: &[u8]) -> Result<&[u8], ErrorCode> {
    if !header.has(frame::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(ErrorCode::FRAME_SIZE_ERROR)?;
    let end = rest.len().checked_sub(usize::from(padding)).ok_or(ErrorCode::PROTOCOL_ERROR)?;
    Ok(&rest[..end])
}
