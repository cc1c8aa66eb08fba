//! The formats of other benchmarks, each a file of its own and a line in [`ALL`].

mod benchmark_dotnet;
mod criterion_sample;
mod criterion_table;
mod fio;
mod go_bench;
mod go_events;
mod google_benchmark;
mod hyperfine;
mod jmh;
mod k6;
mod lmbench;
mod pgbench;
mod pgbench_log;
mod pytest_benchmark;
mod will_it_scale;

use serde_json::Value;

use crate::outcome::{Taken, Trials};

/// All of them; where two know a file, the first reads it.
pub(crate) const ALL: [&Format; 15] = [
    &google_benchmark::FORMAT,
    &pytest_benchmark::FORMAT,
    &hyperfine::FORMAT,
    &criterion_sample::FORMAT,
    &jmh::FORMAT,
    &benchmark_dotnet::FORMAT,
    &k6::FORMAT,
    &fio::FORMAT,
    &go_events::FORMAT,
    &criterion_table::FORMAT,
    &go_bench::FORMAT,
    &pgbench::FORMAT,
    &pgbench_log::FORMAT,
    &lmbench::FORMAT,
    &will_it_scale::FORMAT,
];

pub(crate) struct Format {
    /// Its name for users.
    pub(crate) name: &'static str,
    /// The meaning of a trial in it.
    pub(crate) trials: Trials,
    pub(crate) form: FormatForm,
}

/// How a format is known, and read.
pub(crate) enum FormatForm {
    /// A JSON document.
    Document { is_this: fn(&Value) -> bool, read: ReadDocument },
    /// Lines of text, of which one is enough.
    Lines { is_this: fn(&str) -> bool, read: ReadLines },
}

/// `Err` describes the content instead of times.
pub(crate) type ReadDocument = fn(&Value, &Place<'_>, &mut Taken) -> Result<(), String>;
pub(crate) type ReadLines = fn(&str, &Place<'_>, &mut Taken);

impl Format {
    const fn document(
        name: &'static str,
        trials: Trials,
        is_this: fn(&Value) -> bool,
        read: ReadDocument,
    ) -> Format {
        Format { name, trials, form: FormatForm::Document { is_this, read } }
    }

    const fn lines(name: &'static str, trials: Trials, is_this: fn(&str) -> bool, read: ReadLines) -> Format {
        Format { name, trials, form: FormatForm::Lines { is_this, read } }
    }
}

/// Where a file lies.
pub(crate) struct Place<'a> {
    /// The path, as it was given.
    pub(crate) path: &'a str,
    /// The content of another file of that name in its folder.
    pub(crate) beside: &'a dyn Fn(&str) -> Option<Vec<u8>>,
}

impl Place<'_> {
    /// The name without folders and extension.
    fn stem(&self) -> &str {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or(self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}
