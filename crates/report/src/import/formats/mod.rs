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

use super::format::Format;

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
