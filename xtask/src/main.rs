//! `cargo xtask VERB`: the commands of developers and CI.

use std::process::ExitCode;

use xtask::{
    answers, bench, check_systems, docs, link_systems, obtain, pictures, readme, release, test, tidy, truths,
};

const HELP: &str = "\
cargo xtask test                     all tests that need this machine alone
cargo xtask verify                   the rest: other systems and programs, releases, selftest, documents
cargo xtask tidy                     the rules of the house that the compiler does not know
cargo xtask docs                     the manual of the code, and the commands in the documents
cargo xtask check-systems [NAME]…    types and lints for systems that are not at hand; targets, crates, or all
cargo xtask link-systems [TARGET]…   osdyno for systems that are not at hand; --release first optimizes it
cargo xtask other-systems            all systems that no test runs: linked where that is possible, or checked
cargo xtask wine                     a newer Wine for the tests of Windows, in target/wine
cargo xtask mail-servers             mail servers for the tests of `mail`, in target/mail-servers
cargo xtask pypi                     Ansible, DuckDB and axe-core for tests, in target/python
cargo xtask bench [PART]             osdyno's figures against bare C: classics, objects, cores; fleets; or all
cargo xtask release [--verify]       what is installed without Rust, in target/dist; --verify builds it twice
cargo xtask truths                   what is known of real kernels, measured here, against the verdicts
cargo xtask answers                  docs/answers.md, from the doc comments of the types of answers
cargo xtask pictures                 the pictures in docs/pictures, drawn by osdyno of simulated sweeps
cargo xtask readme                   blocks of documents that show runs of docs/runs; measures missing ones
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbs: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match verbs[..] {
        ["test"] => test::test(),
        ["verify"] => test::verify(),
        ["tidy"] => tidy::run(),
        ["docs"] => docs::run(),
        ["wine"] => obtain::wine(),
        ["mail-servers"] => obtain::mail_servers(),
        ["pypi"] => obtain::pypi(),
        ["bench"] => bench::run(None),
        ["bench", part @ ("classics" | "objects" | "cores" | "fleets")] => bench::run(Some(part)),
        ["answers"] => answers::run(),
        ["pictures"] => pictures::run(),
        ["readme"] => readme::run(),
        ["release"] => release::run(false),
        ["release", "--verify"] => release::run(true),
        ["truths"] => truths::run(),
        ["other-systems"] => test::other_systems(),
        ["check-systems", ref names @ ..] => check_systems::run(names),
        ["link-systems", "--release", ref targets @ ..] => link_systems::run(true, targets).map(drop),
        ["link-systems", ref targets @ ..] => link_systems::run(false, targets).map(drop),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("error: no such verb: {}\n\n{HELP}", verbs.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
