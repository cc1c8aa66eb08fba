//! Arguments that a shell completes although any text may stand there: names beside globs and words.

use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// Takes any text, and suggests some; clap needs suggestions that live as long as the program.
#[derive(Clone)]
pub(super) struct Suggested(&'static LazyLock<Vec<String>>);

/// Workloads with their variants, and groups.
pub(super) fn workloads() -> Suggested {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let groups = runner::GROUPS.iter().map(|group| group.name.to_owned());
        sorted(groups.chain(["all".to_owned()]).chain(names_of_workloads()).collect())
    });
    Suggested(&NAMES)
}

/// All names with a page.
pub(super) fn pages() -> Suggested {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| sorted(names_of_pages()));
    Suggested(&NAMES)
}

/// Names in their order, each once: an architecture and a workload may share theirs.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// All names with a page: workloads, architectures, services, clients and methods of commands.
pub(super) fn names_of_pages() -> Vec<String> {
    let of_kind = |kind: &'static str| {
        move |name: &'static str| [name.to_owned(), format!("{kind}/{name}")].into_iter()
    };
    let architectures = net::arch::ALL.iter().map(|one| one.name).flat_map(of_kind("arch"));
    let services = net::service::ALL.iter().map(|one| one.name).flat_map(of_kind("service"));
    let clients = net::client::ALL.iter().map(|one| one.name).flat_map(of_kind("client"));
    let methods = super::explain::verdicts::methods().map(str::to_owned);
    names_of_workloads().chain(architectures).chain(services).chain(clients).chain(methods).collect()
}

fn names_of_workloads() -> impl Iterator<Item = String> {
    runner::workloads().flat_map(|workload| {
        let variants = workload.variants.iter().filter(|variant| !variant.name.is_empty());
        let variants = variants.map(|variant| format!("{}/{}", workload.name, variant.name));
        variants.chain([workload.name.to_owned()]).collect::<Vec<_>>()
    })
}

impl TypedValueParser for Suggested {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}
