//! The records in the ring of an event (perf_event_open(2), "MMAP layout").

use super::Sample;

const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// What begins part of a chain of callers.
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
/// All such marks are above this.
const CONTEXT_MAX: u64 = -4095_i64 as u64;

/// Hands over the samples of all whole records in `bytes`, and returns how many the kernel says that it lost.
pub fn parse_records(bytes: &[u8], on_sample: &mut dyn FnMut(Sample<'_>)) -> u64 {
    let (mut rest, mut lost) = (bytes, 0);
    while let Some((kind, body, behind)) = record(rest) {
        match kind {
            SAMPLE => sample(body, on_sample),
            LOST => lost = u64::saturating_add(lost, body.get(1).copied().unwrap_or(0)),
            _ => {}
        }
        rest = behind;
    }
    lost
}

/// The first record: its kind, its body in words, and what is behind it.
fn record(bytes: &[u8]) -> Option<(u32, Vec<u64>, &[u8])> {
    let (header, _) = bytes.split_first_chunk::<8>()?;
    let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
    let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let body = bytes.get(8..size)?;
    let words = body.chunks_exact(8).map(|word| {
        let mut whole = [0; 8];
        whole.copy_from_slice(word);
        u64::from_ne_bytes(whole)
    });
    Some((kind, words.collect(), &bytes[size..]))
}

/// A sample: time, the values of the group, the chain of callers.
fn sample(words: Vec<u64>, on_sample: &mut dyn FnMut(Sample<'_>)) {
    let Some((&time_ns, rest)) = words.split_first() else { return };
    let Some((values, rest)) = counted(rest) else { return };
    let Some((chain, _)) = counted(rest) else { return };
    let (mut kernel, mut user) = (&chain[..0], &chain[..0]);
    let mut from = 0;
    while let Some(length) = chain[from..].iter().position(|&address| address >= CONTEXT_MAX) {
        let mark = chain[from + length];
        let begin = from + length + 1;
        let end = chain[begin..].iter().position(|&address| address >= CONTEXT_MAX);
        let part = &chain[begin..end.map_or(chain.len(), |end| begin + end)];
        match mark {
            CONTEXT_KERNEL => kernel = part,
            CONTEXT_USER => user = part,
            _ => {}
        }
        from = begin;
    }
    // The first value is that of the event which samples.
    on_sample(Sample { time_ns, kernel, user, counters: values.get(1..).unwrap_or_default() });
}

/// So many words as the first one says, and the rest.
fn counted(words: &[u64]) -> Option<(&[u64], &[u64])> {
    let (&count, rest) = words.split_first()?;
    rest.split_at_checked(usize::try_from(count).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * words.len() as u16;
        let header = [&kind.to_ne_bytes()[..], &0_u16.to_ne_bytes(), &size.to_ne_bytes()].concat();
        header.into_iter().chain(words.iter().flat_map(|word| word.to_ne_bytes())).collect()
    }

    #[test]
    fn chains_are_divided_at_their_marks() {
        let chain = [6, CONTEXT_KERNEL, 0xffff_8001, 0xffff_8002, CONTEXT_USER, 0x40, 0x50];
        let words = [&[11, 2, 1000, 3][..], &chain].concat();
        let stream =
            [bytes(SAMPLE, &words), bytes(LOST, &[1, 4]), bytes(SAMPLE, &[5, 1, 1, 2, CONTEXT_USER, 9])];
        let mut seen = Vec::new();
        let lost = parse_records(&stream.concat(), &mut |sample| {
            let Sample { time_ns, kernel, user, counters } = sample;
            seen.push((time_ns, kernel.to_vec(), user.to_vec(), counters.to_vec()));
        });
        assert_eq!(lost, 4);
        let first = (11, vec![0xffff_8001, 0xffff_8002], vec![0x40, 0x50], vec![3]);
        assert_eq!(seen, [first, (5, vec![], vec![9], vec![])]);
    }

    #[test]
    fn what_is_said_to_be_lost_is_counted_without_overflow() {
        let stream = [bytes(LOST, &[1, u64::MAX]), bytes(LOST, &[1, 4])].concat();
        assert_eq!(parse_records(&stream, &mut |sample| panic!("{sample:?}")), u64::MAX);
    }

    #[test]
    fn what_is_no_record_is_no_sample_and_no_panic() {
        let cases: [&[u64]; 5] = [&[], &[1], &[1, u64::MAX], &[1, 1, 5], &[1, 0, 9, CONTEXT_USER]];
        for words in cases {
            parse_records(&bytes(SAMPLE, words), &mut |sample| panic!("{sample:?} of {words:?}"));
        }
        parse_records(&[9, 0, 0, 0, 0, 0, 3, 0, 1], &mut |sample| panic!("{sample:?}"));
        parse_records(&[0; 16], &mut |sample| panic!("{sample:?}"));
    }
}
