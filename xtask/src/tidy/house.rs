//! The files of a workspace, read once for all rules, and the findings of rules.

use std::cell::OnceCell;
use std::fmt;
use std::path::{Path, PathBuf};

use super::code;
use crate::workspace;

/// The folder of the lists for rules, each beside its rule.
const LISTS: &str = "xtask/src/tidy";

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The file, from the root of the workspace.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: usize,
    /// The fault.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.what)
    }
}

/// All files that rules read.
pub(super) struct House {
    pub(super) root: PathBuf,
    pub(super) rust: Vec<Source>,
    pub(super) documents: Vec<Source>,
    pub(super) manifests: Vec<Source>,
    lists: Vec<Source>,
}

/// One file.
pub(super) struct Source {
    /// From the root of the workspace.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The text with comments and the contents of strings blanked out, line for line; Rust only.
    pub(super) code: String,
    folded: OnceCell<String>,
    own_code: OnceCell<String>,
    tree: OnceCell<Option<syn::File>>,
}

impl Source {
    pub(super) fn new(path: impl Into<PathBuf>, text: &str) -> Source {
        let path = path.into();
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let code = if is_rust { code::only(text) } else { String::new() };
        let (folded, own_code, tree) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Source { path, text: text.to_owned(), code, folded, own_code, tree }
    }

    /// The syntax tree, parsed when a rule first asks for it. Nothing where the file is not valid Rust, which
    /// the compiler reports better than a rule could.
    pub(super) fn tree(&self) -> Option<&syn::File> {
        self.tree.get_or_init(|| syn::parse_file(&self.text).ok()).as_ref()
    }

    /// The text in small letters, for rules about words.
    pub(super) fn folded(&self) -> &str {
        self.folded.get_or_init(|| self.text.to_lowercase())
    }

    /// The code without re-exports and lines that only declare a module.
    pub(super) fn own_code(&self) -> &str {
        self.own_code.get_or_init(|| {
            let statements = self.code.split_inclusive(';');
            statements.filter(|statement| !is_passed_on(statement.trim_start())).collect()
        })
    }

    pub(super) fn finding(&self, line: usize, what: impl Into<String>) -> Breach {
        Breach { file: self.path.clone(), line, what: what.into() }
    }

    /// Lines of the text from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The crate's folder: `crates/sys`, `xtask`.
    pub(super) fn home(&self) -> PathBuf {
        let depth = if self.path.starts_with("crates") { 2 } else { 1 };
        self.path.components().take(depth).collect()
    }

    /// Whether the file is part of the library or program itself, and of no test, bench, example or build
    /// script.
    pub(super) fn ships(&self) -> bool {
        let is_test = self.path.iter().any(|part| part == "tests" || part == "tests.rs");
        self.path.starts_with(self.home().join("src")) && !is_test
    }

    pub(super) fn is_below(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

impl House {
    pub(super) fn read(root: &Path) -> House {
        let read = |folder: &str, extension: &str| {
            let sources = workspace::files(&root.join(folder), extension).into_iter().filter_map(|path| {
                let text = std::fs::read_to_string(&path).ok()?;
                Some(Source::new(path.strip_prefix(root).unwrap_or(&path), &text))
            });
            sources.collect::<Vec<_>>()
        };
        let all = |extension| {
            let mut sources = Vec::new();
            for folder in ["crates", "xtask", "fuzz"] {
                sources.extend(read(folder, extension));
            }
            sources.retain(|source| !source.path.components().any(|part| part.as_os_str() == "fixtures"));
            sources
        };
        House {
            root: root.to_owned(),
            rust: all("rs"),
            documents: read("", "md"),
            manifests: all("toml"),
            lists: read(LISTS, "txt"),
        }
    }

    /// A list for a rule, such as `retired.txt`.
    pub(super) fn list(&self, name: &str) -> Option<&Source> {
        self.lists.iter().find(|list| list.path == Path::new(LISTS).join(name))
    }

    /// A house of these files, for the tests of rules.
    #[cfg(test)]
    pub(super) fn with(files: &[(&str, &str)]) -> House {
        let with = |extension: &str| {
            let own =
                files.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|e| e == extension));
            own.map(|(path, text)| Source::new(path, text)).collect()
        };
        House {
            root: PathBuf::new(),
            rust: with("rs"),
            documents: with("md"),
            manifests: with("toml"),
            lists: with("txt"),
        }
    }
}

/// Whether a statement only passes on names: `pub(crate) use a::b;`, `mod a;`.
fn is_passed_on(statement: &str) -> bool {
    let last = statement.lines().rfind(|line| !line.trim_start().starts_with('#')).unwrap_or(statement);
    let is_export = statement.starts_with("pub") && statement.contains(" use ") && !statement.contains("fn ");
    is_export
        || (statement.ends_with(';') && !statement.contains('{') && code::words(last, "mod").next().is_some())
}

/// Whether attributes say that an item is compiled for tests only.
pub(super) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string().contains("test"),
        syn::Meta::NameValue(_) => false,
    })
}

/// The attributes, the visibility and the name of an item. Modules and imports have none of their own.
pub(super) fn named(item: &syn::Item) -> Option<(&[syn::Attribute], &syn::Visibility, &syn::Ident)> {
    let (attributes, visibility, name) = match item {
        syn::Item::Const(item) => (&item.attrs, &item.vis, &item.ident),
        syn::Item::Enum(item) => (&item.attrs, &item.vis, &item.ident),
        syn::Item::Fn(item) => (&item.attrs, &item.vis, &item.sig.ident),
        syn::Item::Static(item) => (&item.attrs, &item.vis, &item.ident),
        syn::Item::Struct(item) => (&item.attrs, &item.vis, &item.ident),
        syn::Item::Trait(item) => (&item.attrs, &item.vis, &item.ident),
        syn::Item::Type(item) => (&item.attrs, &item.vis, &item.ident),
        _ => return None,
    };
    Some((attributes.as_slice(), visibility, name))
}
