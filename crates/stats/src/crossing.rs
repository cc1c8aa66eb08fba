//! Where of two curves the faster becomes the slower.

use crate::interval::Interval;

/// Where the faster of two becomes the slower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Where the ratio is 1, by a line through the logarithms of the ranges of n beside it.
    pub n: f64,
    /// One is faster for certain up to here.
    pub n_low: f64,
    /// And the other from here on.
    pub n_high: f64,
    /// Whether the second is the faster one below and the slower one above.
    pub faster_below: bool,
}

/// Where the ratio lies on one side of 1 for certain, and then on the other; `floor` is what certainty must
/// exceed. All ranges of n hold together, so all crossings do.
///
/// In a range of n whose typical ratio is below 1 the curve may already have crossed at its end, but not yet
/// in its middle: so a crossing lies between the middles of the last certain range before it and the first
/// behind it.
pub(crate) fn crossings(logs: &[(u64, u64, Interval)], floor: f64) -> Vec<Crossing> {
    let side = |(_, _, ratio): &(u64, u64, Interval)| {
        if ratio.low > floor {
            1
        } else if ratio.high < -floor {
            -1
        } else {
            0
        }
    };
    let certain: Vec<usize> = (0..logs.len()).filter(|place| side(&logs[*place]) != 0).collect();
    let turns = certain.windows(2).filter(|pair| side(&logs[pair[0]]) != side(&logs[pair[1]]));
    turns.map(|pair| crossing(&logs[pair[0]..=pair[1]])).collect()
}

/// The crossing within ranges of n of which the first and the last are certain.
fn crossing(logs: &[(u64, u64, Interval)]) -> Crossing {
    let middle =
        |(low, high, _): &(u64, u64, Interval)| (*low as f64).midpoint(*high as f64).max(f64::MIN_POSITIVE);
    let value = |place: usize| logs[place].2.value;
    // Where noise makes several, the one in the middle.
    let turns: Vec<usize> =
        (1..logs.len()).filter(|place| (value(*place - 1) < 0.0) != (value(*place) < 0.0)).collect();
    let place = turns.get(turns.len() / 2).copied().unwrap_or(logs.len() - 1);
    let (before, after) = (value(place - 1), value(place));
    let share = if before == after { 0.5 } else { (before / (before - after)).clamp(0.0, 1.0) };
    let (from, to) = (middle(&logs[place - 1]).ln(), middle(&logs[place]).ln());
    Crossing {
        n: (from + share * (to - from)).exp(),
        n_low: middle(&logs[0]),
        n_high: middle(&logs[logs.len() - 1]),
        faster_below: value(0) < 0.0,
    }
}
