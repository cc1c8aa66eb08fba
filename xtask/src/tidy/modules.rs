//! The modules of a crate: which file each one is, which names it has, and where a path leads.
//!
//! Names are followed through `use` and `pub use`, so that a path through a facade leads to the file with the
//! definition and not to the facade.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::house::{House, Source};

/// Re-exports of re-exports end; a path that follows more of them than this is taken to end where it is.
const HOPS_MAX: usize = 6;

/// A path such as `["load", "engine"]`, from the crate's root.
pub(super) type ModulePath = Vec<String>;

/// One module and its names.
#[derive(Default)]
pub(super) struct Module {
    /// Indices into [`Crate::files`]; several where each system has its own file for the module.
    pub(super) files: Vec<usize>,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// A name, and the absolute path it stands for.
    aliases: BTreeMap<String, Vec<ModulePath>>,
    globs: Vec<ModulePath>,
}

/// All modules of one crate.
pub(super) struct Crate<'a> {
    pub(super) files: Vec<&'a Source>,
    modules: BTreeMap<ModulePath, Module>,
}

impl<'a> Crate<'a> {
    /// The crate with this root file, code for tests left out.
    pub(super) fn read(house: &'a House, root: &'a Source) -> Crate<'a> {
        let mut found = Crate { files: Vec::new(), modules: BTreeMap::new() };
        found.add_file(house, root, Vec::new(), true);
        found
    }

    /// The module that a file is, and the first of the files that are this module on one system or another.
    pub(super) fn of_file(&self, file: usize) -> (ModulePath, usize) {
        // Of a file with modules inside, the outermost: paths are in order.
        let mut holders = self.modules.iter().filter(|(_, module)| module.files.contains(&file));
        let found = holders.next().map(|(path, module)| (path.clone(), module.files[0]));
        found.unwrap_or((Vec::new(), file))
    }

    fn add_file(&mut self, house: &'a House, source: &'a Source, at: ModulePath, is_root: bool) {
        let Some(tree) = source.tree() else { return };
        let file = self.files.len();
        self.files.push(source);
        let folder = source.path.parent().unwrap_or(Path::new("")).to_owned();
        let beside = is_root || source.path.ends_with("mod.rs");
        let children =
            if beside { folder.clone() } else { folder.join(source.path.file_stem().unwrap_or_default()) };
        self.add_items(house, file, &tree.items, at, &Folders { own: folder, children });
    }

    fn add_items(
        &mut self,
        house: &'a House,
        file: usize,
        items: &[syn::Item],
        at: ModulePath,
        folders: &Folders,
    ) {
        let module = self.modules.entry(at.clone()).or_default();
        if !module.files.contains(&file) {
            module.files.push(file);
        }
        for item in items {
            if is_test(attributes(item)) {
                continue;
            }
            match item {
                syn::Item::Mod(child) => self.add_child(house, file, child, &at, folders),
                syn::Item::Use(import) if import.leading_colon.is_some() => {}
                syn::Item::Use(import) => self.add_import(&import.tree, &at),
                _ => {
                    if let (Some(name), Some(module)) = (name(item), self.modules.get_mut(&at)) {
                        module.items.insert(name);
                    }
                }
            }
        }
    }

    fn add_child(
        &mut self,
        house: &'a House,
        file: usize,
        child: &syn::ItemMod,
        at: &ModulePath,
        folders: &Folders,
    ) {
        let name = child.ident.to_string();
        if let Some(module) = self.modules.get_mut(at) {
            module.children.insert(name.clone());
        }
        let path: ModulePath = at.iter().cloned().chain([name.clone()]).collect();
        if let Some((_, items)) = &child.content {
            let inside =
                Folders { own: folders.children.join(&name), children: folders.children.join(&name) };
            self.add_items(house, file, items, path, &inside);
            return;
        }
        let named: Vec<PathBuf> =
            child.attrs.iter().filter_map(path_attribute).map(|p| folders.own.join(p)).collect();
        let usual =
            [folders.children.join(format!("{name}.rs")), folders.children.join(&name).join("mod.rs")];
        let places = if named.is_empty() { usual.to_vec() } else { named };
        for source in house.rust.iter().filter(|source| places.contains(&source.path)) {
            self.add_file(house, source, path.clone(), false);
        }
    }

    pub(super) fn add_import(&mut self, tree: &syn::UseTree, at: &ModulePath) {
        for (name, path) in leaves(tree) {
            let Some(absolute) = self.absolute(&path, at) else { continue };
            let Some(module) = self.modules.get_mut(at) else { continue };
            match name {
                Some(name) => module.aliases.entry(name).or_default().push(absolute),
                None => module.globs.push(absolute),
            }
        }
    }

    /// The path from the crate's root, if it begins with one of the words or with a child of the module.
    fn absolute(&self, path: &[String], at: &ModulePath) -> Option<ModulePath> {
        let mut base = at.clone();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            // Whether it is a child or another crate is known when all modules are read.
            _ => {}
        }
        Some([base, rest.to_vec()].concat())
    }

    /// The files that a path, used in a module, leads to: those of the definition it names. Nothing if it
    /// leads out of the crate, and nothing for a module, of which nothing is used yet.
    pub(super) fn resolve(&self, path: &[String], at: &ModulePath) -> Vec<usize> {
        let is_relative = |word: &String| ["crate", "self", "super"].contains(&word.as_str());
        let is_word = path.first().is_some_and(is_relative);
        // The value `self`, and a visibility.
        if path.iter().all(is_relative) {
            return Vec::new();
        }
        let Some(absolute) = self.absolute(path, at) else { return Vec::new() };
        if is_word || path.first().is_some_and(|first| self.has(at, first, HOPS_MAX)) {
            self.follow(&absolute, HOPS_MAX).unwrap_or_default()
        } else {
            Vec::new()
        }
    }

    fn has(&self, at: &ModulePath, name: &str, hops: usize) -> bool {
        self.modules.get(at).is_some_and(|module| {
            module.children.contains(name)
                || module.items.contains(name)
                || module.aliases.contains_key(name)
                || hops > 0 && module.globs.iter().any(|glob| self.has(glob, name, hops - 1))
        })
    }

    /// Nothing where the path names no item; no file where it names a module.
    fn follow(&self, path: &[String], hops: usize) -> Option<Vec<usize>> {
        let mut at: ModulePath = Vec::new();
        for (index, name) in path.iter().enumerate() {
            let module = self.modules.get(&at)?;
            // A function may have the name of a module; a path goes on in the module.
            let goes_on = index + 1 < path.len() && module.children.contains(name);
            if module.items.contains(name) && !goes_on {
                return Some(module.files.clone());
            }
            if module.children.contains(name) {
                at.push(name.clone());
                continue;
            }
            let hops = hops.checked_sub(1)?;
            let rest = &path[index + 1..];
            let named = module.aliases.get(name).into_iter().flatten().cloned();
            let from_globs =
                module.globs.iter().map(|glob| [glob.as_slice(), std::slice::from_ref(name)].concat());
            let mut targets = named.chain(from_globs).map(|target| [target.as_slice(), rest].concat());
            return targets.find_map(|target| self.follow(&target, hops));
        }
        Some(Vec::new())
    }
}

/// Where the files of a module's children are, and what its `path` attributes start from.
struct Folders {
    own: PathBuf,
    children: PathBuf,
}

/// The leaves of `use a::{b, c::{self, d as e}, f::*}`: a name, or none for a glob, and its path.
pub(super) fn leaves(tree: &syn::UseTree) -> Vec<(Option<String>, ModulePath)> {
    match tree {
        syn::UseTree::Path(path) => {
            let head = path.ident.to_string();
            let below = leaves(&path.tree).into_iter().map(|(name, rest)| {
                let is_self = rest.len() == 1 && rest[0] == "self";
                let rest = if is_self { Vec::new() } else { rest };
                let name = if name.as_deref() == Some("self") { Some(head.clone()) } else { name };
                (name, [vec![head.clone()], rest].concat())
            });
            below.collect()
        }
        syn::UseTree::Name(name) => vec![(Some(name.ident.to_string()), vec![name.ident.to_string()])],
        syn::UseTree::Rename(both) => vec![(Some(both.rename.to_string()), vec![both.ident.to_string()])],
        syn::UseTree::Glob(_) => vec![(None, Vec::new())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

/// Whether attributes say that what follows is compiled for tests only.
pub(super) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let of_cfg = |list: &syn::MetaList| {
            let words: Vec<String> = list.tokens.to_string().split_whitespace().map(str::to_owned).collect();
            words.first().is_some_and(|word| word == "test") || words.concat().starts_with("all(test")
        };
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && attribute.meta.require_list().is_ok_and(of_cfg)
    })
}

fn path_attribute(attribute: &syn::Attribute) -> Option<String> {
    let is_path = attribute.path().is_ident("path") || attribute.path().is_ident("cfg_attr");
    let text = match &attribute.meta {
        syn::Meta::NameValue(pair) if is_path => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => return Some(path.value()),
            _ => return None,
        },
        syn::Meta::List(list) if is_path => list.tokens.to_string(),
        _ => return None,
    };
    text.split_once("path = \"")?.1.split('"').next().map(str::to_owned)
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
