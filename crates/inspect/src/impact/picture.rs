//! The share of the operating system on every path, as a picture: one line for each path, on a logarithmic
//! axis, because the shares lie six powers of ten apart.

use std::fmt::Write;

use report::html::esc;
use report::words::share_with_interval;
use stats::Interval;

use super::{ImpactAnswer, UserShare};

/// How a picture is laid out.
struct Layout {
    /// Its class and the id of its title.
    class: &'static str,
    width: f64,
    /// Room for names and values beside the axis.
    left: f64,
    right: f64,
    /// The height of a line.
    line: f64,
    /// Every so many powers of ten have a label.
    labelled: i32,
    /// From the middle of a line down to where its points are, and up to its words.
    points: f64,
    words: f64,
}

/// For a page of full width: a line is a name, its points and its shares.
const WIDE: Layout = Layout {
    class: "plot shares-wide",
    width: 1000.0,
    left: 250.0,
    right: 190.0,
    line: 30.0,
    labelled: 1,
    points: 0.0,
    words: -4.0,
};
/// For a narrow screen: name and shares stand above the points.
const NARROW: Layout = Layout {
    class: "plot shares-narrow",
    width: 400.0,
    left: 16.0,
    right: 16.0,
    line: 54.0,
    labelled: 2,
    points: 10.0,
    words: 6.0,
};
const TOP: f64 = 34.0;
/// The class that selects one of both.
pub(super) const STYLE: &str = ".shares-narrow { display: none; }
@media screen and (max-width: 820px) {
  .shares-wide { display: none; } .shares-narrow { display: block; }
  .plot.shares-narrow text { font-size: 13px; } .plot.shares-narrow text.value { text-anchor: end; }
}";
/// The axis begins at a ten-thousandth of a percent.
const LEAST: f64 = 1e-6;

/// A line of the picture: a path, with the shares of the main cost in a response and in a transfer.
struct Strip {
    name: &'static str,
    response: Option<UserShare>,
    transfer: Option<UserShare>,
    is_asked: bool,
}

impl Strip {
    /// The shares that are drawn: of a response, then of a transfer.
    fn shares(&self) -> impl Iterator<Item = Interval> + use<> {
        [self.response, self.transfer].into_iter().flatten().map(|share| share.share)
    }

    fn value(&self) -> f64 {
        self.shares().next().map_or(0.0, |share| share.value)
    }
}

/// The picture, for a wide and for a narrow page; `None` without a cost.
pub(super) fn draw(answer: &ImpactAnswer) -> Option<String> {
    let main = answer.impact.main().filter(|_| answer.path.is_typed);
    let asked = main.map(|main| Strip {
        name: "this path",
        response: main.response,
        transfer: main.transfer,
        is_asked: true,
    });
    let others = answer.other_paths.iter().map(|other| Strip {
        name: other.name,
        response: other.response,
        transfer: other.transfer,
        is_asked: false,
    });
    let mut strips: Vec<Strip> = asked.into_iter().chain(others).collect();
    strips.retain(|strip| strip.shares().next().is_some());
    strips.sort_by(|one, other| other.value().total_cmp(&one.value()));
    let least = strips.iter().flat_map(Strip::shares).map(|share| share.value).min_by(f64::total_cmp)?;
    let low = least.clamp(LEAST, 0.1).log10().floor();
    Some([WIDE, NARROW].map(|layout| Axis { low, layout }.picture(&strips)).concat())
}

/// Shares from left to right, by powers of ten up to all of it.
struct Axis {
    low: f64,
    layout: Layout,
}

impl Axis {
    fn picture(&self, strips: &[Strip]) -> String {
        let Layout { class, width, line, .. } = self.layout;
        let height = TOP + line * strips.len() as f64 + 12.0;
        let mut svg = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\"><title>The share of the \
             operating system in what a user waits for, by path</title>"
        );
        self.draw(&mut svg, height);
        for (place, strip) in strips.iter().enumerate() {
            self.line(&mut svg, strip, TOP + line * (place as f64 + 0.5));
        }
        svg.push_str("</svg>");
        svg
    }

    fn x(&self, share: f64) -> f64 {
        let place = (share.max(LEAST).log10() - self.low) / -self.low;
        let Layout { width, left, right, .. } = self.layout;
        left + place.clamp(0.0, 1.0) * (width - left - right)
    }

    fn draw(&self, svg: &mut String, height: f64) {
        let mut power = self.low as i32;
        while power <= 0 {
            let x = self.x(10f64.powi(power));
            let _ = write!(svg, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{:.1}\"/>", height - 12.0);
            // Counted from 100 %, on a narrow page every second one.
            if power % self.layout.labelled == 0 {
                let y = TOP - 10.0;
                let _ =
                    write!(svg, "<text class=\"x\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", power_of_ten(power));
            }
            power += 1;
        }
    }

    fn line(&self, svg: &mut String, strip: &Strip, y: f64) {
        let class = if strip.is_asked { "c2" } else { "c1" };
        let name = if strip.is_asked { " name" } else { "" };
        let Layout { width, left, right, points, words, .. } = self.layout;
        let is_beside = points == 0.0;
        // Names end where the axis begins, or stand above it.
        let (anchor, x, end) =
            if is_beside { ("y", left - 14.0, width - right + 16.0) } else { ("of-line", 0.0, width) };
        let _ = write!(
            svg,
            "<text class=\"{anchor}{name}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\
             <g class=\"contender {class}\">",
            y - words,
            esc(strip.name)
        );
        for (share, class) in [(strip.transfer, "hollow"), (strip.response, "knot")] {
            let Some(UserShare { share, .. }) = share else { continue };
            let (x, y) = (self.x(share.value), y + points);
            self.whisker(svg, share, y);
            let _ = write!(svg, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
        }
        let words_of: Vec<String> = strip.shares().map(|share| share_with_interval(exact(share))).collect();
        let _ = write!(
            svg,
            "</g><text class=\"value\" x=\"{end:.1}\" y=\"{:.1}\">{}</text>",
            y - words,
            esc(&words_of.join(" · "))
        );
    }

    fn whisker(&self, svg: &mut String, share: Interval, y: f64) {
        if share.low < share.high && share.high.is_finite() {
            let (low, high) = (self.x(share.low), self.x(share.high));
            let _ = write!(svg, "<path class=\"end\" d=\"M{low:.1} {y:.1}H{high:.1}\"/>");
        }
    }
}

/// A share as percent: `10 %`, `0.1 %`.
fn power_of_ten(power: i32) -> String {
    let (percent, digits) = (10f64.powi(power + 2), usize::try_from(-power - 2).unwrap_or(0));
    format!("{percent:.digits$}\u{202f}%")
}

/// Without its interval, which the whisker shows.
fn exact(share: Interval) -> Interval {
    Interval { low: share.value, high: share.value, ..share }
}
