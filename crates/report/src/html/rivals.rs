//! Rivals in the page: for each kind of series one figure, in which every variant is a line with its name at
//! its end, and a table of how far each is from the best.

use std::io::{self, Write};

use record::Unit;

use super::escape::esc;
use super::scale::{Axis, Kind, cost_label};
use super::svg::{BOTTOM, LEFT, RIGHT, Svg, TOP, within};
use judge::compare::{Comparison, LevelValue, Ranking, RankingEntry, Ratio};

use crate::quantity::Quantity;
use crate::rivals::words;
use crate::sentences;
use crate::words::{count, factor_with_interval, list, things};

/// Colours and dashes in the style sheet; more variants than their product look alike, but have their names.
const COLOURS: usize = 6;
const DASHES: usize = 3;
/// The plot ends here, and the names of its lines stand behind it.
const END: f64 = RIGHT - 84.0;
/// Names are at least so far apart, at the larger type of a narrow screen; and so long.
const APART: f64 = 17.0;
const NAME_MAX: usize = 11;
/// Where an axis spans this factor it is logarithmic.
const LOGARITHMIC_FROM: f64 = 5.0;

/// Writes the figures of one workload on one system; `i` makes their ids unique.
pub(super) fn write(i: usize, rivals: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for unit in [Unit::PerSecond, Unit::Seconds, Unit::None, Unit::Bytes] {
        let rankings: Vec<(usize, &Ranking)> =
            rivals.rankings.iter().enumerate().filter(|(_, ranking)| ranking.unit == unit).collect();
        if !rankings.is_empty() {
            figure(&format!("r{i}"), &rankings, out)?;
        }
    }
    for note in words::notes(rivals) {
        // Names of variants keep their small letters.
        writeln!(out, "<p class=\"says open\">{}.</p>", esc(&note))?;
    }
    writeln!(
        out,
        "<p class=\"remark\">{} A variant that stopped, at a crossed end, is compared at the last level \
         that it reached. A dotted line with hollow points: load generator saturated, not ranked.</p>",
        esc(&sentences::sentence(&words::judged(rivals)))
    )
}

/// The series of one unit: the ratios in words, a plot for each, and the table of ratios.
fn figure(id: &str, rankings: &[(usize, &Ranking)], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = rankings.iter().map(|(_, ranking)| ranking.name.clone()).collect();
    let unit = rankings.first().map_or(Unit::None, |(_, ranking)| ranking.unit);
    let title = sentences::capital(&list(&names));
    writeln!(
        out,
        "<figure class=\"rivals\"><h3>{} <span class=\"remark\">{}</span></h3>",
        esc(&title),
        words::better(unit)
    )?;
    for (_, ranking) in rankings {
        if let Some(sentence) = words::sentence(ranking) {
            let name = if rankings.len() > 1 { format!("{}: ", ranking.name) } else { String::new() };
            writeln!(out, "<p class=\"says\">{}.</p>", esc(&format!("{name}{sentence}")))?;
        }
    }
    writeln!(out, "<div class=\"grid2\">")?;
    for (place, ranking) in rankings {
        let svg = plot(&format!("{id}-{place}"), ranking);
        // One by itself has the name of the figure.
        let title = match rankings.len() {
            1 => String::new(),
            _ => format!("<p class=\"panel\">{}</p>", esc(&sentences::capital(&ranking.name))),
        };
        writeln!(out, "<div>{title}{svg}</div>")?;
    }
    // A single plot has its table beside it.
    if rankings.len() > 1 {
        writeln!(out, "</div>")?;
    }
    table(rankings, out)?;
    if rankings.len() == 1 {
        writeln!(out, "</div>")?;
    }
    writeln!(out, "</figure>")
}

/// All variants of a series over n, with their names at the ends of their lines.
fn plot(id: &str, ranking: &Ranking) -> String {
    let levels = || ranking.standings.iter().flat_map(|standing| &standing.levels);
    let fold = |of: fn(&LevelValue) -> f64| {
        levels().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (x, y) = (fold(|level| level.n as f64), fold(|level| level.value));
    let kind = |(low, high): (f64, f64)| {
        if low > 0.0 && high / low >= LOGARITHMIC_FROM { Kind::Log } else { Kind::Linear }
    };
    let across = match kind(x) {
        Kind::Log => Axis::new(Kind::Log, x.0, x.1, LEFT, END),
        Kind::Linear => Axis::new(Kind::Linear, x.0.min(x.1), x.1, LEFT, END),
    };
    let up = match kind(y) {
        Kind::Log => Axis::new(Kind::Log, y.0 * 0.85, y.1 * 1.15, BOTTOM, TOP),
        Kind::Linear => Axis::new(Kind::Linear, 0.0, y.1 * 1.08, BOTTOM, TOP),
    };
    let up = up.of(ranking.unit);
    let mut svg = Svg::open_to(id, 0.0, END);
    svg.describe(
        &format!("{} of every variant over {}", sentences::capital(&ranking.name), ranking.grows),
        &format!("{}: {}", words::heading(ranking), words::field(ranking)),
    );
    svg.axes(&across, &up, &ranking.grows, |tick| cost_label(tick.value, ranking.unit, &up));
    let drawn: Vec<&RankingEntry> =
        ranking.standings.iter().filter(|standing| !standing.levels.is_empty()).collect();
    // The best is drawn last, over the others.
    drawn.iter().rev().for_each(|standing| line(ranking, standing, (&across, &up), &mut svg));
    names(&drawn, (&across, &up), &mut svg);
    svg.close()
}

/// The classes of a variant in the style sheet.
fn style(place: usize) -> String {
    format!("standing c{} d{}", place % COLOURS, place / COLOURS % DASHES)
}

/// One variant: its line, dotted where the generator was the limit, its levels, and a cross where it stopped.
fn line(ranking: &Ranking, standing: &RankingEntry, (x, y): (&Axis, &Axis), svg: &mut Svg) {
    let at = |level: &LevelValue| (x.place(level.n as f64), within(y, level.value));
    let style = style(standing.place);
    svg.put(format_args!("<g class=\"{style}\">"));
    for pair in standing.levels.windows(2) {
        // Neighbours of one kind are joined at once, below.
        if pair[0].limited || pair[1].limited {
            let ((a, b), (c, d)) = (at(&pair[0]), at(&pair[1]));
            svg.put(format_args!("<path class=\"limited\" d=\"M{a:.1} {b:.1}L{c:.1} {d:.1}\"/>"));
        }
    }
    for run in standing.levels.chunk_by(|a, b| a.limited == b.limited).filter(|run| !run[0].limited) {
        svg.line("median", &run.iter().map(at).collect::<Vec<_>>());
    }
    for level in &standing.levels {
        let (cx, cy) = at(level);
        let limited = if level.limited { ", load generator saturated" } else { "" };
        svg.put(format_args!(
            "<circle class=\"{}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{}\"><title>{}</title></circle>",
            if level.limited { "hollow" } else { "knot" },
            if level.limited { 3.4 } else { 2.2 },
            esc(&format!(
                "{}: {} at {}{limited}",
                words::name(&standing.name),
                ranking.unit.cost(level.value),
                count(level.n)
            ))
        ));
    }
    if let Some(last) = standing.levels.last().filter(|_| words::ends_early(standing)) {
        let (cx, cy) = at(last);
        let said = standing.stops.iter().map(sentences::stop).collect::<Vec<_>>();
        svg.put(format_args!(
            "<path class=\"end\" d=\"M{:.1} {:.1}l9 9m0 -9l-9 9\"><title>{}</title></path>",
            cx - 4.5,
            cy - 4.5,
            esc(&format!("{} {}", words::name(&standing.name), said.join("; ")))
        ));
    }
    svg.put(format_args!("</g>"));
}

/// The names behind the plot, each beside the end of its line or joined with it by a hair.
fn names(drawn: &[&RankingEntry], (x, y): (&Axis, &Axis), svg: &mut Svg) {
    let mut ends: Vec<(&RankingEntry, f64, f64)> = drawn
        .iter()
        .filter_map(|standing| {
            standing.levels.last().map(|l| (*standing, x.place(l.n as f64), within(y, l.value)))
        })
        .collect();
    ends.sort_by(|a, b| a.2.total_cmp(&b.2));
    let wanted: Vec<f64> = ends.iter().map(|end| end.2).collect();
    for ((standing, from, line), to) in ends.iter().zip(apart(&wanted)) {
        let name: String = match words::name(&standing.name) {
            long if long.chars().count() > NAME_MAX => long.chars().take(NAME_MAX - 1).chain(['…']).collect(),
            name => name.to_string(),
        };
        svg.put(format_args!(
            "<g class=\"{}\"><path class=\"hair\" d=\"M{:.1} {line:.1}L{:.1} {line:.1}L{:.1} {to:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            style(standing.place),
            from + 5.0,
            (END + 3.0).max(from + 5.0),
            END + 13.0,
            END + 16.0,
            to + 4.0,
            esc(&name)
        ));
    }
}

/// Places as near to those wanted, which rise, as there is room for: those that crowd are spread around their
/// middle.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let room = (BOTTOM - TOP) / wanted.len().max(2) as f64;
    let apart = APART.min(room);
    // Neighbours that crowd become a group, which has a middle and so many places.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let ends = |(middle, of): (f64, usize)| {
        let half = apart * (of - 1) as f64 / 2.0;
        let middle = middle.clamp(TOP + half, (BOTTOM - half).max(TOP + half));
        (middle - half, middle + half, middle)
    };
    for at in wanted {
        let mut group = (*at, 1);
        while let Some(before) = groups.last().copied() {
            if ends(group).0 - ends(before).1 >= apart - 1e-9 {
                break;
            }
            groups.pop();
            let of = group.1 + before.1;
            group = ((group.0 * group.1 as f64 + before.0 * before.1 as f64) / of as f64, of);
        }
        groups.push(group);
    }
    let places = |group: (f64, usize)| (0..group.1).map(move |i| ends(group).0 + apart * i as f64);
    groups.into_iter().flat_map(places).collect()
}

/// How far each variant is from the best in each series.
fn table(rankings: &[(usize, &Ranking)], out: &mut dyn Write) -> io::Result<()> {
    let Some((_, first)) = rankings.first() else { return Ok(()) };
    writeln!(
        out,
        "<div class=\"scroll\"><table class=\"facts field\"><thead><tr><th></th>{}</tr></thead><tbody>",
        rankings
            .iter()
            .map(|(_, ranking)| format!(
                "<th scope=\"col\">{}{}</th>",
                esc(&words::heading(ranking)),
                below(ranking)
            ))
            .collect::<String>()
    )?;
    for standing in &first.standings {
        let cells = rankings.iter().map(|(_, ranking)| {
            let of = ranking.standings.iter().find(|other| other.place == standing.place);
            format!("<td>{}</td>", of.map(|standing| cell(ranking, standing)).unwrap_or_default())
        });
        writeln!(
            out,
            "<tr><th scope=\"row\">{}{}</th>{}</tr>",
            swatch(standing.place),
            esc(words::name(&standing.name)),
            cells.collect::<String>()
        )?;
    }
    writeln!(out, "</tbody></table></div>")
}

/// What the second line of a cell is.
fn below(ranking: &Ranking) -> String {
    let levels =
        words::levels(ranking).map(|n| format!("<br>mean of {} · place", things(n, "level", "levels")));
    levels.unwrap_or_default()
}

/// `×0.93 (0.90–0.97)`, and below it the mean of all levels and the place.
fn cell(ranking: &Ranking, standing: &RankingEntry) -> String {
    if standing.levels.is_empty()
        && let Some(stop) = standing.stops.first()
    {
        return format!("<span class=\"stop\">{}</span>", esc(&sentences::stop(stop)));
    }
    let mut below: Vec<String> = Vec::new();
    let is_best = ranking.best().is_some_and(|best| best.place == standing.place);
    let above = match &standing.last {
        _ if is_best => ranking.n.and_then(|n| standing.at(n)).map(|value| ranking.unit.cost(value)),
        Some(last) => Some(ratio(ranking, last)),
        None if standing.is_limited() => Some("load generator saturated".into()),
        None if standing.levels.is_empty() => Some("no number".into()),
        None => Some("no level in common".into()),
    };
    if let Some(mean) = &standing.overall {
        let fewer = (words::levels(ranking) != Some(mean.levels)).then(|| format!(" of {}", mean.levels));
        below.push(format!(
            "mean {}{}",
            factor_with_interval(mean.of_values(ranking.unit)),
            fewer.unwrap_or_default()
        ));
    }
    below.extend(standing.rank.map(|rank| crate::ratios::place_of(rank, rank.of)));
    format!(
        "{}<br><span class=\"remark\">{}</span>",
        esc(&above.unwrap_or_else(|| "—".into())),
        esc(&below.join(" · "))
    )
}

fn ratio(ranking: &Ranking, last: &Ratio) -> String {
    let words = factor_with_interval(last.of_values(ranking.unit));
    if ranking.n == Some(last.comparison.n_high) {
        words
    } else {
        format!("{words} at {}", count(last.comparison.n_high))
    }
}

/// The colour and the dashes of a variant.
fn swatch(place: usize) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 28 8\" aria-hidden=\"true\"><g class=\"{}\">\
         <path class=\"median\" d=\"M0 4H28\"/></g></svg>",
        style(place)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_apart_and_inside() {
        for wanted in [
            vec![20.0, 21.0, 22.0, 200.0],
            vec![250.0; 6],
            vec![17.0, 18.0, 250.0, 251.0],
            (0..12).map(|i| 120.0 + f64::from(i)).collect(),
            (0..40).map(|i| 30.0 + f64::from(i)).collect(),
        ] {
            let places = apart(&wanted);
            assert_eq!(places.len(), wanted.len());
            let room = APART.min((BOTTOM - TOP) / wanted.len() as f64);
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= room - 1e-6), "{places:?}");
            assert!(places.iter().all(|at| (TOP - 1e-6..=BOTTOM + 1e-6).contains(at)), "{places:?}");
        }
        assert_eq!(apart(&[40.0, 100.0]), [40.0, 100.0], "who has room stays");
        assert!(apart(&[]).is_empty());
    }
}
