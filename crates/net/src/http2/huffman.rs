//! The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B), read four bits at a time, with a table
//! that the compiler makes.

/// The bytes are no code, or no header block. Nothing on the connection can be understood any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Adds the string that these bytes are the code of.
#[inline]
pub(super) fn decode(code: &[u8], to: &mut Vec<u8>) -> Result<(), Broken> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        decode(&encode(&all), &mut decoded).expect("a string");
        assert_eq!(decoded, all);
    }

    #[test]
    fn a_string_ends_with_the_begin_of_the_end_and_no_more() {
        assert_eq!(encode(b"302"), [0x64, 0x02], "as in appendix C.4 of the standard");
        let ends = |code: &[u8]| decode(code, &mut Vec::new()).is_ok();
        assert!(ends(&[]) && ends(&[0x07]), "no padding, three bits");
        assert!(!ends(&[0xff]) && !ends(&[0x07, 0xff]), "eight bits");
        assert!(!ends(&[0x06]), "bits that do not begin the end");
    }
}
