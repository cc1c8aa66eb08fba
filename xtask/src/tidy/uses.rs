//! Which file of a crate names the definitions of which others.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::modules::{Crate, ModulePath, is_test, leaves};

/// For each file the files whose definitions it names. Files that are the same module on different systems
/// count as the first of them.
pub(super) fn edges(modules: &Crate<'_>) -> Vec<BTreeSet<usize>> {
    let mut edges = vec![BTreeSet::new(); modules.files.len()];
    for (file, source) in modules.files.iter().enumerate() {
        let Some(tree) = source.tree() else { continue };
        let (at, own) = modules.of_file(file);
        let mut names = Names { modules, at, found: BTreeSet::new() };
        names.visit_file(tree);
        let others = names.found.into_iter().map(|file| modules.of_file(file).1);
        edges[own].extend(others.filter(|other| *other != own));
    }
    edges
}

struct Names<'a> {
    modules: &'a Crate<'a>,
    at: ModulePath,
    found: BTreeSet<usize>,
}

impl Names<'_> {
    fn take(&mut self, path: &[String]) {
        self.found.extend(self.modules.resolve(path, &self.at));
    }

    /// What a macro is called with is no syntax tree; its paths are words between `::`.
    fn take_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.take(&std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                other => {
                    self.take(&std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.take_tokens(group.stream());
                    }
                }
            }
        }
        self.take(&path);
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_test(&item.attrs) || item.content.is_none() {
            return;
        }
        self.at.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.at.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_own = matches!(item.vis, syn::Visibility::Inherited);
        if is_own && item.leading_colon.is_none() && !is_test(&item.attrs) {
            for (name, path) in leaves(&item.tree) {
                if name.is_some() {
                    self.take(&path);
                }
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let words: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // `::report` is another crate, whatever modules there are.
        if path.leading_colon.is_none() {
            self.take(&words);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.take_tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }
}
