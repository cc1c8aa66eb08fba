//! OpenMetrics 1.0: gauges for Prometheus, and for the textfile collector of its node exporter.
//!
//! A metric family has a unit, and its name ends in that; samples of a family stand together; label values
//! escape `\`, `"` and line feeds; the last line is `# EOF` (openmetrics.io, sections "Metric Family" and
//! "ABNF"). A line `# UNIT` is a comment to the older format of Prometheus, which the collector reads.

use std::io::{self, Write};

use record::Unit;
use stats::Decision;

use super::{BuildResults, OutputFormat, SeriesFigure};

pub(super) const FORMAT: OutputFormat =
    OutputFormat { name: "openmetrics", summary: "gauges for Prometheus and its textfile collector", write };

/// The families of values: unit, its name there, and the help text.
pub(crate) const UNITS: [(Unit, &str, &str); 5] = [
    (Unit::Seconds, "cost_seconds", "Cost of one operation."),
    (Unit::PerSecond, "rate_per_second", "Operations per second."),
    (Unit::Bytes, "size_bytes", "Size."),
    (Unit::BytesPerSecond, "throughput_bytes_per_second", "Bytes per second."),
    (Unit::None, "value", "Values without a unit."),
];

fn write(results: &BuildResults, out: &mut dyn Write) -> io::Result<()> {
    for (unit, name, help) in UNITS {
        let figures: Vec<&SeriesFigure> =
            results.figures.iter().filter(|one| one.unit == unit && one.value.value.is_finite()).collect();
        type End = (&'static str, fn(&SeriesFigure) -> f64, &'static str);
        let ends: [End; 3] = [
            ("", |one| one.value.value, "Estimate."),
            ("low_", |one| one.value.low, "Low end of the interval."),
            ("high_", |one| one.value.high, "High end of the interval."),
        ];
        for (end, value, which) in ends {
            let samples = figures.iter().filter(|one| value(one).is_finite());
            let samples = samples.map(|one| {
                let n = one.n.to_string();
                (labels(&[("series", &one.series), ("system", &one.system), ("n", &n)]), value(one))
            });
            family(&format!("osdyno_{end}{name}"), unit_of(name), &format!("{help} {which}"), samples, out)?;
        }
    }
    let ratio = results.changes.iter().filter(|one| one.ratio.value.is_finite()).map(|one| {
        let of = [("series", &*one.series), ("system", &*one.system), ("baseline", &*one.baseline)];
        (labels(&of), one.ratio.value)
    });
    family("osdyno_cost_ratio", "ratio", "Cost divided by that of the baseline.", ratio, out)?;
    for (name, decision) in [("failed", Decision::Certain), ("undecided", Decision::Undecided)] {
        let samples = results.gated().map(|(claim, one)| {
            let of = [("claim", &*claim.claim), ("series", &*one.series), ("system", &*one.system)];
            (labels(&of), f64::from(u8::from(one.decision == decision)))
        });
        let help = format!("Whether the claim about the series is {name}.");
        family(&format!("osdyno_gate_{name}"), "", &help, samples, out)?;
    }
    writeln!(out, "# EOF")
}

/// The unit of a family, which its name ends in.
pub(crate) fn unit_of(name: &str) -> &str {
    ["seconds", "bytes"].into_iter().find(|unit| name.ends_with(&format!("_{unit}"))).unwrap_or_default()
}

/// Writes a family of metrics, unless it is empty.
pub(crate) fn family(
    name: &str,
    unit: &str,
    help: &str,
    samples: impl Iterator<Item = (String, f64)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut samples = samples.peekable();
    if samples.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "# TYPE {name} gauge")?;
    if !unit.is_empty() {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    writeln!(out, "# HELP {name} {help}")?;
    samples.try_for_each(|(labels, value)| writeln!(out, "{name}{labels} {value:e}"))
}

/// The labels of a sample.
pub(crate) fn labels(labels: &[(&str, &str)]) -> String {
    let escaped = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let all: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    format!("{{{}}}", all.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tests::written;

    #[test]
    fn names_are_legal_families_stand_together_and_the_end_is_marked() {
        let text = written(FORMAT);
        assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
        let mut families: Vec<&str> = Vec::new();
        let mut samples: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| *line != "# EOF") {
            let name = match line.strip_prefix("# ") {
                Some(line) => line.split(' ').nth(1).expect("a name"),
                None => line.split('{').next().expect("a name"),
            };
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
            assert!(
                name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_letter),
                "{line}"
            );
            if let Some(unit) = line.strip_prefix("# UNIT ") {
                assert!(name.ends_with(&format!("_{}", unit.split(' ').nth(1).expect("a unit"))), "{line}");
            }
            if line.starts_with("# TYPE ") {
                assert!(!families.contains(&name), "{name} comes twice");
                families.push(name);
            }
            assert_eq!(families.last(), Some(&name), "{line} stands with another family");
            if !line.starts_with('#') {
                let (labels, value) = line.rsplit_once(' ').expect("a value");
                assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
                samples.push(labels.to_owned());
            }
        }
        let count = samples.len();
        samples.sort();
        samples.dedup();
        assert!(count > 15 && samples.len() == count, "{text}");
    }

    #[test]
    fn labels_are_escaped_and_values_are_in_base_units() {
        let text = written(FORMAT);
        let bind = r#"osdyno_cost_seconds{series="bind",system="a \"b\" \\ <c>\n",n="10"} 1.25e-6"#;
        assert!(text.contains(bind), "{text}");
        assert!(text.contains(r#"osdyno_gate_failed{claim="slower:5%",series="bind",system="head"} 1e0"#));
    }
}
