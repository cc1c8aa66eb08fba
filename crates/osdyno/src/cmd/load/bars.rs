//! The distribution of latencies as bars, from one round number to the next.

use ::report::quantity::time;
use ::report::words::percent;
use net::load::Distribution;

/// Lines of a drawing that is read at a glance.
const BARS_MAX: usize = 10;
/// Characters of the longest bar; the text beside it has 25.
const WIDTH: usize = 22;
/// The last character of a bar, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A line for each bar.
pub(super) fn lines(latency: &Distribution) -> Vec<String> {
    let (min, max) = (latency.min_seconds, latency.max_seconds);
    let ends = match ends(min, max, &[1, 2, 5]) {
        ends if ends.len() > BARS_MAX => self::ends(min, max, &[1]),
        ends => ends,
    };
    let until = latency.hdr.counts_until(&ends);
    let before = [0].into_iter().chain(until.iter().copied());
    let counts: Vec<u64> = until.iter().zip(before).map(|(until, before)| until - before).collect();
    let largest = counts.iter().copied().max().unwrap_or(0).max(1);
    let line = |(end, count): (&u64, u64)| {
        let share = match count as f64 / latency.count.max(1) as f64 {
            few if count > 0 && few < 0.0005 => "< 0.1 %".to_owned(),
            share => percent(share),
        };
        let bar = bar(count as f64 / largest as f64, count > 0, WIDTH);
        format!("up to {:>8}  {bar:<WIDTH$}  {share}", time(*end as f64 / 1e9))
    };
    ends.iter().zip(counts).map(line).collect()
}

/// Round numbers of nanoseconds, from the first that is not below the smallest time to the first that is not
/// below the largest.
fn ends(min_seconds: f64, max_seconds: f64, digits: &[u64]) -> Vec<u64> {
    let round = (0..12).flat_map(|power| digits.iter().map(move |digit| digit * 10_u64.pow(power)));
    let mut ends: Vec<u64> = round.filter(|&end| end as f64 / 1e9 >= min_seconds).collect();
    let last = ends.iter().position(|&end| end as f64 / 1e9 >= max_seconds);
    ends.truncate(last.map_or(ends.len(), |last| last + 1));
    ends
}

fn bar(share: f64, is_some: bool, width: usize) -> String {
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(usize::from(is_some));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_round_and_hold_all() {
        assert_eq!(ends(0.000_15, 0.003, &[1, 2, 5]), [200_000, 500_000, 1_000_000, 2_000_000, 5_000_000]);
        assert_eq!(ends(0.000_2, 0.000_2, &[1, 2, 5]), [200_000]);
        assert_eq!(ends(0.0, 0.0, &[1]), [1]);
    }

    #[test]
    fn a_bar_shows_the_smallest_share() {
        assert_eq!(bar(0.0, false, WIDTH), "");
        assert_eq!(bar(1e-9, true, WIDTH), "▏");
        assert_eq!(bar(1.0, true, WIDTH).chars().count(), WIDTH);
        assert_eq!(bar(0.5 / WIDTH as f64, true, WIDTH), "▌");
    }
}
