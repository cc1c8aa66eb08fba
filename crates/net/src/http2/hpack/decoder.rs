//! Reads the fields of a response (RFC 7541, sections 3 and 6), and their compressed strings: four bits of
//! the Huffman code (section 5.2 and appendix B) at a time, with a table that the compiler makes.

use super::{
    Dynamic, Form, INDEXED, SIZE_UPDATE, STATIC, STRING, TABLE_BYTES, WITH_INDEXING, WITHOUT_INDEXING,
};

/// One direction of a connection.
pub(in crate::http2) struct Decoder {
    table: Dynamic,
    /// Name and value of the field that is read.
    field: Vec<u8>,
}

impl Decoder {
    pub(in crate::http2) fn new() -> Decoder {
        Decoder { table: Dynamic::new(), field: Vec::new() }
    }

    /// Hands on each field of a whole block.
    pub(in crate::http2) fn decode(
        &mut self,
        block: &[u8],
        mut on_field: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Broken> {
        let mut rest = Rest(block);
        let mut may_resize = true;
        while let Some(&first) = rest.0.first() {
            if first & INDEXED.pattern != 0 {
                let (name, value) = self.entry(rest.number(&INDEXED)?)?;
                on_field(name, value);
            } else if first & WITH_INDEXING.pattern != 0 {
                let name_bytes = self.read_field(&mut rest, &WITH_INDEXING)?;
                let (name, value) = self.field.split_at(name_bytes);
                on_field(name, value);
                self.table.insert(name, value);
            } else if first & SIZE_UPDATE.pattern != 0 {
                let size = rest.number(&SIZE_UPDATE)?;
                if !may_resize || size > TABLE_BYTES {
                    return Err(Broken);
                }
                self.table.resize(size);
                continue;
            } else {
                let name_bytes = self.read_field(&mut rest, &WITHOUT_INDEXING)?;
                let (name, value) = self.field.split_at(name_bytes);
                on_field(name, value);
            }
            may_resize = false;
        }
        Ok(())
    }

    fn entry(&self, number: usize) -> Result<(&[u8], &[u8]), Broken> {
        match STATIC.get(number.checked_sub(1).ok_or(Broken)?) {
            Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
            None => self.table.get(number - 1 - STATIC.len()).ok_or(Broken),
        }
    }

    /// Reads a field that is written out, at least its value; how long its name is.
    fn read_field(&mut self, rest: &mut Rest<'_>, form: &Form) -> Result<usize, Broken> {
        let mut field = std::mem::take(&mut self.field);
        field.clear();
        let read = match rest.number(form)? {
            0 => rest.string(&mut field),
            number => self.entry(number).map(|(name, _)| field.extend_from_slice(name)),
        };
        let name_bytes = field.len();
        let read = read.and_then(|()| rest.string(&mut field));
        self.field = field;
        read.map(|()| name_bytes)
    }
}

/// The rest of a block.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// A number behind the pattern of a form (section 5.1); 28 bits are enough for all.
    #[inline]
    fn number(&mut self, form: &Form) -> Result<usize, Broken> {
        let (&first, mut rest) = self.0.split_first().ok_or(Broken)?;
        let most = (1_u8 << form.bits) - 1;
        let mut number = usize::from(first & most);
        if first & most == most {
            let mut shift = 0;
            loop {
                let (&byte, behind) = rest.split_first().ok_or(Broken)?;
                rest = behind;
                if shift > 21 {
                    return Err(Broken);
                }
                number += usize::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
        }
        self.0 = rest;
        Ok(number)
    }

    /// Adds a string (section 5.2).
    #[inline]
    fn string(&mut self, to: &mut Vec<u8>) -> Result<(), Broken> {
        let is_compressed = self.0.first().ok_or(Broken)? & 0x80 != 0;
        let length = self.number(&STRING)?;
        let (string, rest) = self.0.split_at_checked(length).ok_or(Broken)?;
        self.0 = rest;
        if is_compressed {
            return decode_string(string, to);
        }
        to.extend_from_slice(string);
        Ok(())
    }
}

/// The bytes are no header block. Nothing on the connection can be understood any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http2) struct Broken;

/// Bits of the code of each byte, and of the end. Codes of one length are numbers that follow each other.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const END: usize = 256;
const LENGTH_MAX: u8 = 30;
/// The root, and 255 more places where a code is not at its end.
const STATES: usize = 256;

/// The state after four bits.
#[derive(Clone, Copy)]
struct Step {
    state: u8,
    byte: u8,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Nothing,
    Byte,
    Broken,
}

struct Machine {
    steps: [[Step; 16]; STATES],
    /// Whether a string may end there: behind it are at most seven bits of the code of the end.
    may_end: [bool; STATES],
}

static MACHINE: Machine = machine();

/// Two ways from each place: places from 1 on, bytes as `LEAF` and more.
const LEAF: u16 = 1000;

const fn tree() -> [[u16; 2]; STATES] {
    let mut tree = [[0_u16; 2]; STATES];
    let mut places = 1;
    let mut code = 0_u32;
    let mut length = 1;
    while length <= LENGTH_MAX {
        let mut symbol = 0;
        while symbol <= END {
            if LENGTHS[symbol] == length {
                let mut place = 0;
                let mut left = length;
                while left > 1 {
                    left -= 1;
                    let bit = ((code >> left) & 1) as usize;
                    if tree[place][bit] == 0 {
                        tree[place][bit] = places;
                        places += 1;
                    }
                    place = tree[place][bit] as usize;
                }
                tree[place][(code & 1) as usize] = LEAF + symbol as u16;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    tree
}

const fn machine() -> Machine {
    let tree = tree();
    let nothing = Step { state: 0, byte: 0, what: What::Nothing };
    let mut machine = Machine { steps: [[nothing; 16]; STATES], may_end: [false; STATES] };
    let mut state = 0;
    while state < STATES {
        let mut bits = 0;
        while bits < 16 {
            machine.steps[state][bits] = step(&tree, state, bits);
            bits += 1;
        }
        state += 1;
    }
    let (mut place, mut depth) = (0_usize, 0);
    while depth <= 7 {
        machine.may_end[place] = true;
        place = tree[place][1] as usize;
        depth += 1;
    }
    machine
}

/// A code has five bits at least, so that four of them hold the end of one at most.
const fn step(tree: &[[u16; 2]; STATES], state: usize, bits: usize) -> Step {
    let mut step = Step { state: 0, byte: 0, what: What::Nothing };
    let mut place = state;
    let mut left = 4;
    while left > 0 {
        left -= 1;
        let next = tree[place][(bits >> left) & 1];
        if next == LEAF + END as u16 {
            step.what = What::Broken;
            return step;
        }
        if next >= LEAF {
            step.byte = (next - LEAF) as u8;
            step.what = What::Byte;
            place = 0;
        } else {
            place = next as usize;
        }
    }
    step.state = place as u8;
    step
}

/// Adds the string that these bytes are the code of.
#[inline]
fn decode_string(code: &[u8], to: &mut Vec<u8>) -> Result<(), Broken> {
    let mut state = 0_u8;
    for &byte in code {
        for bits in [byte >> 4, byte & 15] {
            let step = MACHINE.steps[usize::from(state)][usize::from(bits)];
            match step.what {
                What::Nothing => {}
                What::Byte => to.push(step.byte),
                What::Broken => return Err(Broken),
            }
            state = step.state;
        }
    }
    if MACHINE.may_end[usize::from(state)] { Ok(()) } else { Err(Broken) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of blocks that are read one after the other; bytes as hexadecimal digits.
    fn read(blocks: &[&str]) -> Result<Vec<String>, Broken> {
        let mut decoder = Decoder::new();
        let mut fields = Vec::new();
        for block in blocks {
            let digits: Vec<u32> = block.chars().filter_map(|digit| digit.to_digit(16)).collect();
            let bytes: Vec<u8> = digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
            decoder.decode(&bytes, |name, value| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                fields.push(format!("{}={}", text(name), text(value)));
            })?;
        }
        Ok(fields)
    }

    /// Appendix C.6 of RFC 7541 in part: compressed responses, one of which uses fields of the one before.
    #[test]
    fn fields_are_read_as_in_the_standard() {
        let date = "date=Mon, 21 Oct 2013 20:13:21 GMT";
        let first = "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
                     2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3";
        let second = "4883 640e ffc1 c0bf";
        let rest = ["cache-control=private", date, "location=https://www.example.com"];
        let expected = [&[":status=302"], &rest[..], &[":status=307"], &rest[..]].concat();
        assert_eq!(read(&[first, second]), Ok(expected.iter().map(|&field| field.to_owned()).collect()));
    }

    #[test]
    fn the_oldest_fields_go_first() {
        // It leaves 64 of the 4096 bytes of the table.
        let large = format!("4001617fa01e{}", "78".repeat(4096 - 64 - 33));
        assert!(read(&[&large, "be"]).is_ok(), "it is there");
        let small = "4001 62 01 79";
        assert!(read(&[&large, small, "be bf"]).is_ok(), "both are there");
        assert_eq!(read(&[&large, small, small, "c0"]), Err(Broken), "the first is gone");
        assert_eq!(read(&[small, "20", "be"]), Err(Broken), "a table of no size holds nothing");
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for block in [
            "80",                        // no field has the number 0
            "be",                        // nor 62 on a new connection
            "00",                        // neither name nor value
            "0001 61",                   // no value
            "0001 61 05 78",             // a value that is cut off
            "7f ffff ffff ffff ff01 00", // a number without end
            "3f e2 1f",                  // a table of 4097 bytes
            "82 20",                     // a new size behind a field
            "0001 61 84 ffff ffff",      // the code of the end
            "0001 61 81 00",             // seven bits of padding that are no ones
        ] {
            assert_eq!(read(&[block]), Err(Broken), "{block}");
        }
    }

    /// The string as code, by the rule that codes of one length follow each other.
    fn encode(text: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for &byte in text {
            let own = (LENGTHS[usize::from(byte)], usize::from(byte));
            let before = |length: u8, symbol: usize| (length, symbol) < own;
            let code: u64 = (0..=END)
                .filter(|&symbol| before(LENGTHS[symbol], symbol))
                .map(|symbol| 1_u64 << (own.0 - LENGTHS[symbol]))
                .sum();
            bits.extend((0..own.0).rev().map(|bit| code >> bit & 1 == 1));
        }
        let byte =
            |bits: &[bool]| (0..8).fold(0, |byte, bit| byte * 2 + u8::from(*bits.get(bit).unwrap_or(&true)));
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn every_byte_has_a_code_and_no_bits_are_left_without_one() {
        let share: f64 = LENGTHS.iter().map(|&length| 0.5_f64.powi(i32::from(length))).sum();
        assert_eq!(share.to_bits(), 1.0_f64.to_bits());
        let all: Vec<u8> = (0..=255).collect();
        let mut decoded = Vec::new();
        decode_string(&encode(&all), &mut decoded).expect("a string");
        assert_eq!(decoded, all);
    }

    #[test]
    fn a_string_ends_with_the_begin_of_the_end_and_no_more() {
        assert_eq!(encode(b"302"), [0x64, 0x02], "as in appendix C.4 of the standard");
        let ends = |code: &[u8]| decode_string(code, &mut Vec::new()).is_ok();
        assert!(ends(&[]) && ends(&[0x07]), "no padding, three bits");
        assert!(!ends(&[0xff]) && !ends(&[0x07, 0xff]), "eight bits");
        assert!(!ends(&[0x06]), "bits that do not begin the end");
    }
}
