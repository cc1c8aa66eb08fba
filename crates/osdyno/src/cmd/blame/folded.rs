//! Folded stacks, one a line: the label of the series and its functions, the outermost first, joined by
//! semicolons; then the samples at low and at high n. It is what difffolded.pl prints and flamegraph.pl reads
//! as a difference.

use std::io::{self, Write};

use inspect::blame::Blame;

pub(super) fn write(blame: &Blame, out: &mut dyn Write) -> io::Result<()> {
    for series in &blame.series {
        for (names, [low, high]) in &series.stacks {
            let names = [&series.label].into_iter().chain(names).map(|name| word(name));
            writeln!(out, "{} {low} {high}", names.collect::<Vec<_>>().join(";"))?;
        }
    }
    Ok(())
}

/// A name without what separates names.
fn word(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(word("operator new(unsigned long); x\n"), "operator_new(unsigned_long)__x_");
    }
}
