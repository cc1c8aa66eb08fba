//! The recipe of another system, in a terminal and for programs.

use std::io::{self, Write};

use ::report::{Style, write_paragraph};
use inspect::doctor::{Recipe, filled_in};
use serde_json::{Value, json};

pub(super) fn write(recipe: &Recipe, n: u64, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("{}: what to raise for {n} connections, by its manual", recipe.title);
    write_paragraph(&title, 2, style, out)?;
    for step in recipe.steps {
        write_paragraph(&format!("  {} · {}", step.limits, step.manual), 4, style, out)?;
        write_paragraph(&format!("    now       {}", filled_in(step.now, n)), 14, style, out)?;
        write_paragraph(&format!("    for good  {}", filled_in(step.lasting, n)), 14, style, out)?;
    }
    if !recipe.of_2001.is_empty() {
        writeln!(out)?;
        write_paragraph("In 2001, and what replaced it", 2, style, out)?;
    }
    for step in recipe.of_2001 {
        write_paragraph(&format!("  {}", step.then), 4, style, out)?;
        write_paragraph(&format!("    → {}", step.today), 6, style, out)?;
    }
    if !recipe.notes.is_empty() {
        writeln!(out)?;
    }
    recipe.notes.iter().try_for_each(|note| write_paragraph(&filled_in(note, n), 2, style, out))
}

pub(super) fn json(recipe: &Recipe, n: u64) -> Value {
    let steps = recipe.steps.iter().map(|step| {
        json!({
            "limits": step.limits,
            "now": filled_in(step.now, n),
            "lasting": filled_in(step.lasting, n),
            "manual": step.manual,
        })
    });
    let of_2001 = recipe.of_2001.iter().map(|step| json!({ "then": step.then, "today": step.today }));
    json!({
        "schema": 1,
        "system": recipe.system,
        "count": n,
        "steps": steps.collect::<Value>(),
        "of_2001": of_2001.collect::<Value>(),
        "notes": recipe.notes.iter().map(|note| filled_in(note, n)).collect::<Value>(),
    })
}
