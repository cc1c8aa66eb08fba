//! The table that `runtest.py` of will-it-scale prints: operations per second of all tasks together, as
//! processes and as threads. The time of one operation of one task is judged: it is flat where the tasks do
//! not hinder each other. Each figure is of processes of its own.

use super::{Format, Place};
use crate::name::{Kind, Name};
use crate::outcome::{Taken, Trials};

pub(super) const FORMAT: Format = Format::lines("table of will-it-scale", Trials::Processes, is_this, read);

const HEADER: &str = "tasks,processes,processes_idle,threads,threads_idle,linear";

fn is_this(line: &str) -> bool {
    line.trim() == HEADER
}

fn read(text: &str, place: &Place<'_>, taken: &mut Taken) {
    let mut is_table = false;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        if is_this(line) {
            is_table = true;
        } else if !is_table {
            taken.other_lines += 1;
        } else if let Err(reason) = row(line, place.stem(), taken) {
            taken.bad_lines.push((number, reason));
        }
    }
}

fn row(line: &str, test: &str, taken: &mut Taken) -> Result<(), String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let &[tasks, processes, _, threads, _, _] = fields.as_slice() else {
        return Err(format!("it has {} fields where the header has 6", fields.len()));
    };
    let tasks: u64 = tasks.parse().map_err(|_| format!("the tasks are \"{tasks}\" and no whole number"))?;
    if tasks == 0 {
        // The line from which a plot begins.
        taken.computed += 2;
        return Ok(());
    }
    for (kind, rate) in [("processes", processes), ("threads", threads)] {
        let name = Name { text: format!("{test} {kind}"), ..Name::default() };
        let name = name.with(Kind::Parameter, "tasks", tasks);
        match rate.parse::<f64>() {
            Ok(rate) if rate > 0.0 => taken.take(name, [Ok(tasks as f64 / rate)]),
            Ok(_) => taken.pass_over(&name.text, "it was not measured"),
            Err(_) => taken.leave_out(&name.text, format!("its rate is \"{rate}\"")),
        }
    }
    Ok(())
}
