//! Files and functions are short enough to be read in one go.

use syn::visit::Visit;

use super::house::{Breach, House, Source};
use super::ratchet::{Count, hold};

const FILE_MAX: usize = 500;
const FUNCTION_MAX: usize = 70;

pub(super) fn check(house: &House) -> Vec<Breach> {
    let files: Vec<Count> = house.rust.iter().map(of_file).collect();
    let functions: Vec<Count> = house.rust.iter().flat_map(functions).collect();
    let mut findings = hold(house, "file", FILE_MAX, &files);
    findings.extend(hold(house, "function", FUNCTION_MAX, &functions));
    findings
}

fn of_file(source: &Source) -> Count {
    let value = source.text.lines().count();
    let what = format!("the file has {value} lines; {FILE_MAX} is the most");
    Count { key: source.path.display().to_string(), value, findings: vec![source.finding(1, what)] }
}

fn functions(source: &Source) -> Vec<Count> {
    let mut seen = Functions { source, counts: Vec::new() };
    if let Some(tree) = source.tree() {
        seen.visit_file(tree);
    }
    seen.counts
}

struct Functions<'a> {
    source: &'a Source,
    counts: Vec<Count>,
}

impl Functions<'_> {
    /// From the line with `fn` to that of the closing brace; what is above, a reader can skip.
    fn take(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (first, last) = (signature.fn_token.span.start().line, body.brace_token.span.close().end().line);
        let (name, value) = (&signature.ident, last + 1 - first);
        let what = format!("{name} has {value} lines; {FUNCTION_MAX} is the most");
        let key = format!("{}::{name}", self.source.path.display());
        self.counts.push(Count { key, value, findings: vec![self.source.finding(first, what)] });
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.take(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.take(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.take(&item.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        check(&House::of(&[("crates/a/src/b.rs", text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_function_ends_with_its_brace() {
        let body = |lines: usize| format!("{{\n{}}}\n", "    g();\n".repeat(lines - 2));
        assert_eq!(found(&format!("/// Said\n/// at\n/// length.\nfn f() {}", body(FUNCTION_MAX))), [""; 0]);
        for head in ["fn f() ", "impl A { fn f() ", "trait A { fn f() ", "mod tests { fn f() "] {
            let end = if head.contains('{') { "}" } else { "" };
            let long = format!("use b;\n{head}{}{end}", body(FUNCTION_MAX + 1));
            assert_eq!(found(&long), ["crates/a/src/b.rs:2: f has 71 lines; 70 is the most"], "{head}");
        }
    }

    #[test]
    fn every_line_of_a_file_counts() {
        assert_eq!(found(&"// x\n".repeat(FILE_MAX)), [""; 0]);
        assert_eq!(found(&"// x\n".repeat(FILE_MAX + 1)).len(), 1);
    }
}
