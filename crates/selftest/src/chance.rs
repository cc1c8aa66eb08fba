//! Random numbers from a seed that is derived from a name.

use fastrand::Rng;

/// A generator that depends only on the name and the number, not on the order of the work or on the number of
/// threads.
pub(crate) fn rng(seed: u64, name: &str, replicate: u64) -> Rng {
    Rng::with_seed(mix(seed ^ mix(hash(name) ^ mix(replicate))))
}

/// FNV-1a (Fowler, Noll and Vo; RFC 9923).
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Standard normal: the polar method (Marsaglia and Bray, SIAM Review 6, 1964).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.f64() - 1.0, 2.0 * rng.f64() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// Student's t with three degrees of freedom.
pub(crate) fn student3(rng: &mut Rng) -> f64 {
    let square: f64 = (0..3).map(|_| normal(rng).powi(2)).sum();
    normal(rng) / (square / 3.0).sqrt()
}

/// Uniform and never 0.
pub(crate) fn open(rng: &mut Rng) -> f64 {
    1.0 - rng.f64()
}
