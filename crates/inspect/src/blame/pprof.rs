//! A profile for pprof: `profile.proto` of github.com/google/pprof, in gzip. Values are nanoseconds
//! for a million operations, so that short operations have whole numbers.

use std::collections::HashMap;

use super::{BlameAnswer, CallTree};

const OPERATIONS: f64 = 1e6;

/// Fields of the messages.
mod field {
    pub(super) const SAMPLE_TYPE: u64 = 1;
    pub(super) const SAMPLE: u64 = 2;
    pub(super) const LOCATION: u64 = 4;
    pub(super) const FUNCTION: u64 = 5;
    pub(super) const STRING: u64 = 6;
    pub(super) const COMMENT: u64 = 13;
    pub(super) const DEFAULT_SAMPLE_TYPE: u64 = 14;
}

/// The profile of all series, each a label of its samples.
pub fn profile(blame: &BlameAnswer) -> Vec<u8> {
    let mut profile = Writer::default();
    // The first text must be empty.
    profile.text("");
    let nanoseconds = profile.text("nanoseconds");
    let types = ["low", "high", "growth"].map(|name| profile.text(name));
    for kind in types {
        let mut value = Message::default();
        value.number(1, kind);
        value.number(2, nanoseconds);
        profile.message.bytes(field::SAMPLE_TYPE, &value.0);
    }
    let label = profile.text("series");
    for series in &blame.series {
        let name = profile.text(&series.label);
        let mut path = Vec::new();
        profile.samples(&series.tree, &mut path, (label, name));
    }
    let comment = profile.text("processor time of osdyno blame, in nanoseconds for 1000000 operations");
    profile.message.number(field::COMMENT, comment);
    profile.message.number(field::DEFAULT_SAMPLE_TYPE, types[2]);
    gzip(&profile.finish())
}

#[derive(Default)]
struct Writer {
    message: Message,
    texts: Vec<String>,
    text_places: HashMap<String, u64>,
    /// By name and file.
    functions: HashMap<(String, String), u64>,
}

impl Writer {
    /// The place of a text in the table of all.
    fn text(&mut self, text: &str) -> u64 {
        if let Some(&place) = self.text_places.get(text) {
            return place;
        }
        let place = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.text_places.insert(text.to_owned(), place);
        place
    }

    /// Adds the time of each function by itself, at each place from which it is called.
    fn samples(&mut self, tree: &CallTree, path: &mut Vec<u64>, label: (u64, u64)) {
        let calls = |side: usize| tree.calls.iter().map(|call| call.seconds[side]).sum::<f64>();
        let own = [0, 1].map(|side| ((tree.seconds[side] - calls(side)) * OPERATIONS * 1e9).round() as i64);
        if own != [0, 0] && !path.is_empty() {
            let mut sample = Message::default();
            // The innermost comes first.
            sample.numbers(1, path.iter().rev().copied());
            sample.numbers(2, [own[0], own[1], own[1] - own[0]].map(i64::cast_unsigned).into_iter());
            let mut labelled = Message::default();
            labelled.number(1, label.0);
            labelled.number(2, label.1);
            sample.bytes(3, &labelled.0);
            self.message.bytes(field::SAMPLE, &sample.0);
        }
        for call in &tree.calls {
            path.push(self.function(call));
            self.samples(call, path, label);
            path.pop();
        }
    }

    /// The number of a function, which is that of its location too.
    fn function(&mut self, call: &CallTree) -> u64 {
        let key = (call.name.clone(), call.module.clone());
        if let Some(&number) = self.functions.get(&key) {
            return number;
        }
        let number = self.functions.len() as u64 + 1;
        self.functions.insert(key, number);
        let (name, file) = (self.text(&call.name), self.text(&call.module));
        let (mut function, mut location, mut line) =
            (Message::default(), Message::default(), Message::default());
        function.number(1, number);
        function.number(2, name);
        function.number(4, file);
        line.number(1, number);
        location.number(1, number);
        location.bytes(4, &line.0);
        self.message.bytes(field::FUNCTION, &function.0);
        self.message.bytes(field::LOCATION, &location.0);
        number
    }

    fn finish(mut self) -> Vec<u8> {
        for text in &self.texts {
            self.message.bytes(field::STRING, text.as_bytes());
        }
        self.message.0
    }
}

/// A message in the encoding of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Packed.
    fn numbers(&mut self, field: u64, numbers: impl Iterator<Item = u64>) {
        let mut packed = Message::default();
        numbers.for_each(|number| packed.varint(number));
        self.bytes(field, &packed.0);
    }
}

/// The format of gzip(1), RFC 1952.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    const LEVEL: u8 = 6;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(miniz_oxide::deflate::compress_to_vec(bytes, LEVEL));
    out.extend(crc32fast::hash(bytes).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_seven_bits_at_a_time() {
        let mut message = Message::default();
        message.number(1, 300);
        message.numbers(2, [1, 128].into_iter());
        assert_eq!(message.0, [8, 0xac, 2, 18, 3, 1, 0x80, 1]);
    }
}
