//! Folded stacks, one a line: the label of the series and its functions, the outermost first, joined by
//! semicolons; then the samples at low and at high n. difffolded.pl prints them in this form, and
//! flamegraph.pl reads it as a difference.

use std::io::{self, Write};

use super::BlameAnswer;

/// Writes the stacks of all series.
///
/// # Errors
/// Those of `out`.
pub fn write(blame: &BlameAnswer, out: &mut dyn Write) -> io::Result<()> {
    for series in &blame.series {
        for (names, [low, high]) in &series.stacks {
            let names = [&series.label].into_iter().chain(names).map(|name| word(name));
            writeln!(out, "{} {low} {high}", names.collect::<Vec<_>>().join(";"))?;
        }
    }
    Ok(())
}

/// A name without the characters that separate names.
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
