//! The order in which paths are requested: each as often as its weight says, and spread evenly.

use crate::Error;

/// A longer order is more exact than any load can show.
const TURNS_MAX: u64 = 10_000;

/// The places of the paths in their order, which is repeated; without weights each has one turn.
pub(super) fn turns(paths: usize, weights: &[String]) -> Result<Vec<u32>, Error> {
    if weights.is_empty() {
        return Ok((0..paths as u32).collect());
    }
    let weights = parse(weights)?;
    if weights.len() != paths {
        let text = format!("--weights has {} weights for {paths} paths; give one for each", weights.len());
        return Err(Error::Settings(text));
    }
    let divisor = weights.iter().copied().fold(0, greatest_common_divisor);
    let weights: Vec<u64> = weights.iter().map(|weight| weight / divisor).collect();
    let total: u64 = weights.iter().sum();
    if total > TURNS_MAX {
        let text = format!("--weights add up to {total}, and to {TURNS_MAX} at most; use smaller numbers");
        return Err(Error::Settings(text));
    }
    Ok(spread(&weights, total))
}

fn parse(weights: &[String]) -> Result<Vec<u64>, Error> {
    let parts = weights.iter().flat_map(|text| text.split(',')).map(str::trim);
    let weight = |part: &str| part.parse::<u32>().ok().filter(|&weight| weight > 0).map(u64::from);
    let weights =
        parts.map(|part| weight(part).ok_or_else(|| Error::Settings(format!("{part:?} is no weight"))));
    weights.collect()
}

fn greatest_common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

/// Each turn goes to the path that is furthest behind its share.
fn spread(weights: &[u64], total: u64) -> Vec<u32> {
    let mut credits = vec![0_i64; weights.len()];
    let turn = |_| {
        credits.iter_mut().zip(weights).for_each(|(credit, &weight)| *credit += weight as i64);
        let furthest = (0..credits.len()).max_by_key(|&place| (credits[place], std::cmp::Reverse(place)));
        let furthest = furthest.unwrap_or(0);
        credits[furthest] -= total as i64;
        furthest as u32
    };
    (0..total).map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: usize, weights: &str) -> Option<Vec<u32>> {
        turns(paths, &[weights.to_owned()]).ok()
    }

    #[test]
    fn weights_are_shares_that_are_spread() {
        assert_eq!(turns(3, &[]).ok(), Some(vec![0, 1, 2]));
        assert_eq!(of(2, "3,1"), Some(vec![0, 0, 1, 0]));
        assert_eq!(of(2, "300,100"), of(2, "3,1"));
        assert_eq!(of(3, "2,2,2"), Some(vec![0, 1, 2]));
        for wrong in ["1", "1,0", "1,x", "1,2,3", "10000,1", ""] {
            assert_eq!(of(2, wrong), None, "{wrong}");
        }
    }
}
