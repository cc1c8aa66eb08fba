//! The sending half of a connection: requests, as far as the server allows streams and windows for them.

use std::rc::Rc;

use super::ErrorCode;
use super::connection::Http2Connection;
use super::frame::{self, PAYLOAD_MAX};
use super::hpack::{Indexing, write_size};
use super::stream::{Known, Stream};

/// Bodies are put into the output while it is shorter than this.
const OUTPUT_BODIES: usize = 64 << 10;

impl Http2Connection {
    /// Starts a request, or queues it until the server allows another stream.
    pub fn start(&mut self, token: u32, request: usize) {
        self.waiting.push_back((token, request));
        self.begin_waiting();
    }

    /// The response is not needed any more.
    pub fn cancel(&mut self, token: u32) {
        self.waiting.retain(|&(waiting, _)| waiting != token);
        let found = self.streams.iter().find(|(_, stream)| stream.token == token).map(|(number, _)| number);
        if let Some(number) = found {
            self.reset(number, ErrorCode::CANCEL);
        }
    }

    /// Begins as many of the requests that wait as the server allows.
    #[inline]
    pub(super) fn begin_waiting(&mut self) {
        while self.streams.open() < self.peer.streams_max
            && let Some((token, request)) = self.waiting.pop_front()
        {
            self.begin(token, request);
        }
    }

    #[inline]
    fn begin(&mut self, token: u32, request: usize) {
        let requests = Rc::clone(&self.requests);
        let Some(prepared) = requests.requests.get(request) else { return };
        let number = self.streams.next();
        let end = if prepared.body.is_empty() { frame::END_STREAM } else { 0 };
        if self.peer.table_bytes < self.table_bytes {
            self.write_resized(number, end, request);
        } else {
            let block = prepared.blocks.of_next(&mut self.indexing);
            write_block(&mut self.output, number, end, block);
        }
        self.streams.push(Stream::new(token, request, prepared.is_head, self.peer.window));
        if end == 0 {
            self.bodies.push_back(number);
        }
    }

    /// The first block after the server has made its table smaller must acknowledge that.
    #[cold]
    fn write_resized(&mut self, number: u32, end: u8, request: usize) {
        self.table_bytes = self.peer.table_bytes;
        if self.requests.table_bytes > self.table_bytes {
            self.indexing = Indexing::Never;
        }
        let mut block = Vec::new();
        write_size(&mut block, self.table_bytes);
        block.extend_from_slice(self.requests.requests[request].blocks.of_next(&mut self.indexing));
        write_block(&mut self.output, number, end, &block);
    }

    /// Puts parts of bodies into the output, in turn, as far as there are windows for them.
    pub(super) fn put_bodies(&mut self) {
        let mut blocked = 0;
        while blocked < self.bodies.len() {
            if self.send_window <= 0 || self.output.len() >= OUTPUT_BODIES {
                return;
            }
            let Some(number) = self.bodies.pop_front() else { return };
            let Known::Open(stream) = self.streams.get(number) else { continue };
            let body = &self.requests.requests[stream.request].body;
            let window = self.send_window.min(stream.send_window).max(0) as usize;
            let left = body.len() - stream.body_sent;
            let most = left.min(self.peer.payload_max).min(window).min(OUTPUT_BODIES);
            let is_last = most == left;
            if most > 0 {
                let end = if is_last { frame::END_STREAM } else { 0 };
                let part = &body[stream.body_sent..stream.body_sent + most];
                frame::write(&mut self.output, frame::DATA, end, number, part);
                stream.body_sent += most;
                stream.send_window -= most as i64;
                self.send_window -= most as i64;
            }
            if !is_last {
                self.bodies.push_back(number);
                blocked = if most > 0 { 0 } else { blocked + 1 };
            }
        }
    }

    fn reset(&mut self, number: u32, code: ErrorCode) {
        if self.streams.remove(number).is_some() {
            self.write_reset(number, code);
            self.begin_waiting();
        }
    }

    pub(super) fn write_reset(&mut self, number: u32, code: ErrorCode) {
        frame::write(&mut self.output, frame::RST_STREAM, 0, number, &code.0.to_be_bytes());
    }
}

/// A header block in as many frames as it needs.
#[inline]
fn write_block(to: &mut Vec<u8>, number: u32, end: u8, block: &[u8]) {
    let (first, mut rest) = block.split_at(block.len().min(PAYLOAD_MAX));
    let last = |rest: &[u8]| if rest.is_empty() { frame::END_HEADERS } else { 0 };
    frame::write(to, frame::HEADERS, end | last(rest), number, first);
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(rest.len().min(PAYLOAD_MAX));
        frame::write(to, frame::CONTINUATION, last(behind), number, part);
        rest = behind;
    }
}
