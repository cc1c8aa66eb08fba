//! The share of the operating system on every path, as a picture: one line for each path, on a logarithmic
//! axis, because the shares lie six powers of ten apart.

use std::fmt::Write;

use ::report::html::esc;
use ::report::words::share_with_interval;
use inspect::impact::{Impact, UserShare};
use stats::Interval;

use super::answer::Answer;

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 190.0;
const LINE: f64 = 30.0;
const TOP: f64 = 34.0;
/// The axis begins at a ten-thousandth of a percent.
const LEAST: f64 = 1e-6;

/// A line of the picture.
struct Strip<'a> {
    name: &'a str,
    impact: &'a Impact,
    is_asked: bool,
}

/// The picture; `None` without a cost.
pub(super) fn draw(answer: &Answer) -> Option<String> {
    let asked = Strip { name: "this path", impact: &answer.impact, is_asked: true };
    let asked = answer.has_path.then_some(asked);
    let known = answer.elsewhere.iter().map(|(name, impact)| Strip { name, impact, is_asked: false });
    let mut strips: Vec<Strip<'_>> = asked.into_iter().chain(known).collect();
    strips.retain(|strip| share(strip).is_some());
    strips.sort_by(|one, other| value(other).total_cmp(&value(one)));
    let least =
        strips.iter().flat_map(|strip| shares(strip)).map(|share| share.value).min_by(f64::total_cmp)?;
    let axis = Axis { low: least.clamp(LEAST, 0.1).log10().floor() };
    let height = TOP + LINE * strips.len() as f64 + 12.0;
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"shares\">\
         <title id=\"shares\">The share of the operating system in what a user waits for, by path</title>"
    );
    axis.draw(&mut svg, height);
    for (place, strip) in strips.iter().enumerate() {
        line(&mut svg, &axis, strip, TOP + LINE * (place as f64 + 0.5));
    }
    svg.push_str("</svg>");
    Some(svg)
}

/// Shares from left to right, by powers of ten up to all of it.
struct Axis {
    low: f64,
}

impl Axis {
    fn x(&self, share: f64) -> f64 {
        let place = (share.max(LEAST).log10() - self.low) / -self.low;
        LEFT + place.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    fn draw(&self, svg: &mut String, height: f64) {
        let mut power = self.low as i32;
        while power <= 0 {
            let share = 10f64.powi(power);
            let x = self.x(share);
            let label = share_with_interval(Interval { value: share, low: share, high: share });
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{:.1}\"/>\
                 <text class=\"x\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                height - 12.0,
                TOP - 10.0,
                esc(&trimmed(&label))
            );
            power += 1;
        }
    }
}

/// Powers of ten without decimals that say nothing: `10 %`, `0.1 %`.
fn trimmed(label: &str) -> String {
    let Some((number, unit)) = label.split_once('\u{202f}') else { return label.to_owned() };
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}\u{202f}{unit}")
}

fn line(svg: &mut String, axis: &Axis, strip: &Strip<'_>, y: f64) {
    let class = if strip.is_asked { "c2" } else { "c1" };
    let _ = write!(
        svg,
        "<text class=\"y{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text><g class=\"contender {class}\">",
        if strip.is_asked { " name" } else { "" },
        LEFT - 14.0,
        y + 4.0,
        esc(strip.name)
    );
    let Some(main) = strip.impact.main() else { return };
    if let Some(UserShare { share, .. }) = main.transfer {
        whisker(svg, axis, share, y);
        let _ =
            write!(svg, "<circle class=\"hollow\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>", axis.x(share.value));
    }
    if let Some(UserShare { share, .. }) = main.response {
        whisker(svg, axis, share, y);
        let _ =
            write!(svg, "<circle class=\"knot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>", axis.x(share.value));
    }
    svg.push_str("</g>");
    let words: Vec<String> = shares(strip).map(|share| share_with_interval(exact(share))).collect();
    let _ = write!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        WIDTH - RIGHT + 16.0,
        y + 4.0,
        esc(&words.join(" · "))
    );
}

fn whisker(svg: &mut String, axis: &Axis, share: Interval, y: f64) {
    if share.low < share.high && share.high.is_finite() {
        let (low, high) = (axis.x(share.low), axis.x(share.high));
        let _ = write!(svg, "<path class=\"end\" d=\"M{low:.1} {y:.1}H{high:.1}\"/>");
    }
}

/// Without its interval, which the whisker shows.
fn exact(share: Interval) -> Interval {
    Interval { low: share.value, high: share.value, ..share }
}

/// What is drawn: of a response, then of a transfer.
fn shares(strip: &Strip<'_>) -> impl Iterator<Item = Interval> + use<> {
    let main = strip.impact.main();
    let of = |share: Option<UserShare>| share.map(|share| share.share);
    let both = main.map(|main| [of(main.response), of(main.transfer)]);
    both.into_iter().flatten().flatten()
}

fn share(strip: &Strip<'_>) -> Option<Interval> {
    shares(strip).next()
}

fn value(strip: &Strip<'_>) -> f64 {
    share(strip).map_or(0.0, |share| share.value)
}
