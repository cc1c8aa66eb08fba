//! Output of processes is packed on its way (RFC 1951): the serial line of a guest carries some hundred
//! kilobytes per second, and the lines of a record are digits.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use crate::pipe::CHUNK_BYTES;

/// Fewer bytes are sent as they are.
const PACKED_FROM_BYTES: usize = 1 << 10;

/// The fastest, because the processor of a guest may be emulated.
const LEVEL: u8 = 1;

/// The bytes packed; `None` where that saves nothing.
pub(crate) fn pack(bytes: &[u8]) -> Option<Vec<u8>> {
    let packed = (bytes.len() >= PACKED_FROM_BYTES).then(|| compress_to_vec(bytes, LEVEL))?;
    (packed.len() < bytes.len()).then_some(packed)
}

/// The unpacked bytes. The input comes from a guest and may be anything: more than is read at a time is
/// refused.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    decompress_to_vec_with_limit(packed, CHUNK_BYTES).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_take_half_the_bytes_and_come_back_as_they_were() {
        let digits: String =
            (0..20_000_u32).map(|number| format!("{},", number.wrapping_mul(2_654_435_761))).collect();
        for chunk in digits.as_bytes().chunks(CHUNK_BYTES) {
            let packed = pack(chunk).expect("worth it");
            assert!(packed.len() * 2 < chunk.len() + 4096, "{} of {}", packed.len(), chunk.len());
            assert_eq!(unpack(&packed).expect("packed bytes"), chunk);
        }
    }

    #[test]
    fn little_and_random_bytes_stay_as_they_are() {
        let mut state = 1_u64;
        let random: Vec<u8> = (0..CHUNK_BYTES)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        assert!(pack(&random).is_none());
        assert!(pack(&[b'0'; PACKED_FROM_BYTES - 1]).is_none());
    }

    #[test]
    fn what_cannot_have_been_packed_is_refused() {
        assert!(unpack(b"nonsense").is_none());
        let bomb = compress_to_vec(&vec![0; CHUNK_BYTES + 1], LEVEL);
        assert!(bomb.len() < 1000 && unpack(&bomb).is_none());
    }
}
