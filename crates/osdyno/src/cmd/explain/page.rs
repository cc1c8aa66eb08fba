//! All pages, in Markdown, for `explain` and the manual pages.

use std::fmt::Write;

use workload::{Direction, Sizes, Workload};

/// A page, and its subject.
pub(in crate::cmd) struct Page {
    /// Empty for a workload; `arch`, `service` or `client`, which may share a name with one.
    pub(in crate::cmd) kind: &'static str,
    pub(in crate::cmd) name: &'static str,
    /// Its subject in a line.
    pub(in crate::cmd) summary: String,
    /// The text, in Markdown; it begins with the summary.
    pub(in crate::cmd) text: String,
}

/// All pages.
pub(in crate::cmd) fn all() -> impl Iterator<Item = Page> {
    let architectures = net::arch::ALL.iter().map(|one| ("arch", one.name, one.summary(), one.page()));
    let services = net::service::ALL.iter().map(|one| ("service", one.name, one.summary(), one.page()));
    let clients = net::client::ALL.iter().map(|one| ("client", one.name, one.summary(), one.page()));
    let others = architectures.chain(services).chain(clients);
    let others = others.map(|(kind, name, summary, text)| Page { kind, name, summary, text });
    runner::workloads().map(of_workload).chain(others)
}

/// The page of the architecture, service or client of that name.
pub(super) fn offered(name: &str) -> Option<Page> {
    let (kind, name) = name.split_once('/').unwrap_or(("", name));
    let is_it = |page: &Page| page.name == name && (kind.is_empty() || page.kind == kind);
    all().filter(|page| !page.kind.is_empty()).find(is_it)
}

/// The page of a workload, from its file and its definition.
pub(super) fn of_workload(workload: &'static Workload) -> Page {
    let mut text = workload.page();
    let _ = write!(text, "\n\nn counts {}{}.\n", workload.grows, levels(workload.sizes));
    let operations = workload.operations.iter().map(|operation| {
        // At levels n always rises; the unit is more useful there.
        let way = match operation.direction {
            _ if operation.reported => operation.unit.name(),
            Direction::Up => "rising",
            Direction::Down => "falling",
        };
        [operation.name.to_owned(), way.to_owned(), operation.summary.to_owned()]
    });
    let way = if workload.operations.iter().any(|operation| operation.reported) { "unit" } else { "n" };
    text += &table(["Measured", way, ""], operations);
    if workload.variants.len() > 1 {
        let variants = workload.variants.iter();
        let variants = variants
            .map(|variant| [format!("{}/{}", workload.name, variant.name), variant.summary.to_owned()]);
        text += &table(["Variant", ""], variants);
    }
    if !workload.settings.is_empty() {
        let settings = workload.settings.iter().map(|setting| {
            let option = format!("--set {}={}", setting.name, setting.default);
            [option, format!("{}: {}", setting.summary, setting.values)]
        });
        text += &table(["Setting", ""], settings);
    }
    if let Err(reason) = workload.run {
        let _ = write!(text, "\nunsupported: {reason}\n");
    }
    if net::arch::find(workload.name).is_ok() {
        let _ =
            write!(text, "\nThe server architecture of that name: osdyno explain arch/{}\n", workload.name);
    }
    Page { kind: "", name: workload.name, summary: workload.summary(), text }
}

fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|{}\n", "---|".repeat(N));
    let rows: String = rows.map(|row| line(&row)).collect();
    format!("\n{}{rule}{rows}", line(&heading.map(str::to_owned)))
}

/// The levels of n, unless it is every n.
fn levels(sizes: Sizes) -> String {
    let Some(some) = sizes.levels(100) else { return String::new() };
    let some: Vec<String> = some.iter().map(u64::to_string).collect();
    format!(", at {} and so on", some.join(", "))
}
