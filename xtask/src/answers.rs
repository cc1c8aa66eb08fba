//! `cargo xtask answers`: docs/answers.md has the fields of every answer, from the doc comments of its types.
//! tidy fails if the file differs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Field, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Token, Type};

use crate::{AnyError, workspace};

/// The document, from the root of the workspace.
pub(crate) const DOCUMENT: &str = "docs/answers.md";

/// The verbs with the types of their answers.
const ANSWERS: &[(&str, &str)] = &[
    ("run", "RunAnswer"),
    ("compare", "ComparisonAnswer"),
    ("load", "LoadAnswer"),
    ("mail", "MailAnswer"),
    ("doctor", "DoctorAnswer"),
    ("doctor --os", "RecipeAnswer"),
    ("tune", "TuneAnswer"),
    ("tune --undo", "UndoAnswer"),
    ("snoop", "SnoopAnswer"),
    ("blame", "BlameAnswer"),
    ("impact", "ImpactAnswer"),
    ("lab bisect", "BisectAnswer"),
    ("list", "ListAnswer"),
    ("serve", "ServeAnswer"),
    ("dns", "DnsAnswer"),
    ("selftest", "SelftestAnswer"),
];

const HEAD: &str = "\
# Answers: the fields of `--format json`

Written by `cargo xtask answers` from the doc comments of the code. `report` and `judge` have the answer of
`run`. [verdicts.md](verdicts.md) defines the verdicts.

- The fields of an object, or of each object in a list `a[]`, stand below it, further in.
- Units stand in the names, or in `unit` of a series. Shares are fractions.
- A value that does not exist, or is not finite, is `null`.
- An estimate is an object with `value`, `low` and `high`.
- Fields may be added at any time. `schema` rises when a field changes its meaning or goes.
";
/// Columns of a line at the most.
const WIDTH: usize = 118;
/// More values of a type are listed once.
const VALUES_MAX: usize = 6;

/// Writes the document.
///
/// # Errors
/// When a file of Rust cannot be read, an answer has no type of its name, or the document cannot be written.
pub fn run() -> Result<(), AnyError> {
    let root = workspace::root();
    Ok(fs::write(root.join(DOCUMENT), text(&root)?)?)
}

/// The document as it should be.
///
/// # Errors
/// When a file of Rust cannot be read, or an answer has no type of its name.
pub(crate) fn text(root: &Path) -> Result<String, AnyError> {
    let types = types(root)?;
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in ANSWERS {
        count(name, &types, &mut uses);
    }
    let shared: Vec<&String> = uses.iter().filter(|(_, uses)| **uses > 1).map(|(name, _)| name).collect();
    let writer = Writer { types: &types, shared: &shared, listed: RefCell::default() };
    let mut out = HEAD.to_owned();
    for (verb, name) in ANSWERS {
        let found = types.get(*name).ok_or_else(|| format!("no type is called {name}"))?;
        let _ = write!(out, "\n## `osdyno {verb}`\n\n");
        writer.fields(found, 0, &mut out);
    }
    out.push_str("\n## Objects that stand in several places\n");
    for name in &shared {
        let Some(found) = types.get(*name) else { continue };
        let _ = write!(out, "\n### {name}\n\n");
        writer.fields(found, 0, &mut out);
    }
    Ok(out)
}

/// The verb whose whole answer a type is.
fn verb_of(name: &str) -> Option<&'static str> {
    ANSWERS.iter().find(|(_, answer)| *answer == name).map(|(verb, _)| *verb)
}

/// Counts in how many places each type of objects stands, those within it once.
fn count(name: &str, types: &Types, uses: &mut BTreeMap<String, usize>) {
    let Some(Written::Struct { fields, .. }) = types.get(name) else { return };
    for field in fields.iter().filter(|field| !has_word(field, "skip")) {
        let inner = inner(&field.ty).0;
        let is_flat = has_word(field, "flatten");
        let stands_here = match types.get(&inner) {
            Some(Written::Struct { is_recorded, .. }) => is_flat || !is_recorded,
            _ => false,
        };
        if inner == "Interval" || !stands_here || verb_of(&inner).is_some() {
            continue;
        }
        // The fields of a flat object are those of the one that holds it.
        let of_flat = usize::from(!is_flat);
        let known = uses.entry(inner.clone()).or_insert(0);
        *known += of_flat;
        if *known <= 1 {
            count(&inner, types, uses);
        }
    }
}

/// A type that serde writes.
enum Written {
    Struct {
        fields: Vec<Field>,
        /// Whether it is a part of the run file, and record.md has its fields.
        is_recorded: bool,
    },
    /// Its values, and the fields that hold the name of the value and its content.
    Enum { values: Vec<String>, tag: Option<String>, content: Option<String> },
}

type Types = BTreeMap<String, Written>;

fn types(root: &Path) -> Result<Types, AnyError> {
    let (mut types, record) = (Types::new(), root.join("crates/record"));
    let specification = fs::read_to_string(root.join("docs/record.md"))
        .map_err(|error| format!("cannot read docs/record.md: {error}"))?;
    for file in workspace::files(&root.join("crates"), "rs") {
        if !file.components().any(|part| part.as_os_str() == "src") {
            continue;
        }
        let parsed = syn::parse_file(&fs::read_to_string(&file)?);
        let parsed = parsed.map_err(|error| format!("{}: {error}", file.display()))?;
        for item in parsed.items {
            match item {
                Item::Struct(one) if is_written(&one.attrs) => {
                    let Fields::Named(fields) = one.fields else { continue };
                    let fields: Vec<Field> = fields.named.into_iter().collect();
                    let is_named = |field: &Field| {
                        field.ident.as_ref().is_some_and(|name| specification.contains(&format!("`{name}`")))
                    };
                    let is_recorded = file.starts_with(&record) && fields.iter().all(is_named);
                    let written = Written::Struct { fields, is_recorded };
                    types.insert(one.ident.to_string(), written);
                }
                Item::Enum(one) if is_written(&one.attrs) => {
                    let rule = serde(&one.attrs, "rename_all").unwrap_or_default();
                    // The word of another version is no name.
                    let is_named = |variant: &&syn::Variant| {
                        !metas(&variant.attrs).iter().any(|meta| meta.path().is_ident("untagged"))
                    };
                    let value = |variant: &syn::Variant| {
                        let name = renamed(&variant.ident.to_string(), &rule);
                        format!("`{}`", serde(&variant.attrs, "rename").unwrap_or(name))
                    };
                    let written = Written::Enum {
                        values: one.variants.iter().filter(is_named).map(value).collect(),
                        tag: serde(&one.attrs, "tag"),
                        content: serde(&one.attrs, "content"),
                    };
                    types.insert(one.ident.to_string(), written);
                }
                _ => {}
            }
        }
    }
    Ok(types)
}

/// Writes fields as lines.
struct Writer<'a> {
    types: &'a Types,
    /// The types of objects that are written once, at the end.
    shared: &'a [&'a String],
    /// The types whose many values are listed already, each with its field.
    listed: RefCell<BTreeMap<String, String>>,
}

impl Writer<'_> {
    /// A line for each field, those of objects below it, `depth` objects further in.
    fn fields(&self, written: &Written, depth: usize, out: &mut String) {
        let Written::Struct { fields, .. } = written else { return };
        for field in fields.iter().filter(|field| !has_word(field, "skip")) {
            self.field(field, depth, out);
        }
    }

    fn field(&self, field: &Field, depth: usize, out: &mut String) {
        let Some(ident) = &field.ident else { return };
        let is_flat = has_word(field, "flatten");
        let name = serde(&field.attrs, "rename").unwrap_or_else(|| ident.to_string());
        let (inner, lists) = inner(&field.ty);
        // A flat field that is written by a function has its form in a type of that name.
        let is_by_function = is_flat && has_word(field, "serialize_with");
        let form = if is_by_function { format!("{inner}Answer") } else { inner };
        let path = format!("{name}{}", "[]".repeat(lists));
        let meaning = doc(&field.attrs);
        match self.types.get(&form) {
            Some(found @ Written::Struct { .. }) if is_flat => self.fields(found, depth, out),
            Some(Written::Enum { values, tag: Some(tag), content }) if is_flat => {
                line(depth, tag, &meaning, values, out);
                if let Some(content) = content {
                    line(depth, content, "More about it.", &[], out);
                }
            }
            Some(Written::Enum { values, .. }) if values.len() > VALUES_MAX => {
                let mut listed = self.listed.borrow_mut();
                match listed.get(&form) {
                    Some(field) => line(depth, &path, &meaning, &[format!("as in `{field}`")], out),
                    None => line(depth, &path, &meaning, values, out),
                }
                listed.entry(form).or_insert(path);
            }
            Some(Written::Enum { values, .. }) => line(depth, &path, &meaning, values, out),
            Some(Written::Struct { is_recorded: true, .. }) => {
                line(depth, &path, &meaning, &["[record.md](record.md)".into()], out);
            }
            Some(found @ Written::Struct { .. }) if form != "Interval" => {
                if let Some(verb) = verb_of(&form) {
                    let link = format!("as in [`osdyno {verb}`](#osdyno-{})", verb.replace(' ', "-"));
                    line(depth, &path, &meaning, &[link], out);
                } else if self.shared.contains(&&form) {
                    let link = format!("[{form}](#{})", form.to_lowercase());
                    line(depth, &path, &meaning, &[link], out);
                } else {
                    line(depth, &path, &meaning, &[], out);
                    self.fields(found, depth + 1, out);
                }
            }
            Some(Written::Struct { .. }) | None => line(depth, &path, &meaning, &[], out),
        }
    }
}

fn has_word(field: &Field, word: &str) -> bool {
    metas(&field.attrs).iter().any(|meta| meta.path().is_ident(word))
}

/// `- `field`: its meaning: `one`, `other`.`, wrapped.
fn line(depth: usize, path: &str, meaning: &str, values: &[String], out: &mut String) {
    let (mut text, indent) = (format!("- `{path}`"), 2 * depth);
    let meaning = meaning.trim_end_matches('.').replace("`None`", "`null`");
    for part in [meaning, values.join(", ")].into_iter().filter(|part| !part.is_empty()) {
        let _ = write!(text, ": {part}");
    }
    text.push('.');
    out.push_str(&" ".repeat(indent));
    let mut used = indent;
    for (place, word) in text.split_whitespace().enumerate() {
        let wide = word.chars().count();
        if place > 0 && used + 1 + wide > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            used = indent + 2;
        } else if place > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += wide;
    }
    out.push('\n');
}

/// The name of a type without the lists, options and references around it, and the number of lists.
fn inner(of: &Type) -> (String, usize) {
    match of {
        Type::Reference(reference) => inner(&reference.elem),
        Type::Slice(slice) => {
            let (name, lists) = inner(&slice.elem);
            (name, lists + 1)
        }
        Type::Array(array) => {
            let (name, lists) = inner(&array.elem);
            (name, lists + 1)
        }
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return (String::new(), 0) };
            let name = last.ident.to_string();
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return (name, 0) };
            let types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(of) => Some(of),
                _ => None,
            });
            match (name.as_str(), types.last()) {
                ("Vec", Some(of)) => {
                    let (name, lists) = inner(of);
                    (name, lists + 1)
                }
                ("Option" | "Box" | "BTreeMap" | "Cow", Some(of)) => inner(of),
                _ => (name, 0),
            }
        }
        _ => (String::new(), 0),
    }
}

/// The first paragraph of a doc comment.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let lines = lines.filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    lines.join(" ").replace("[`", "`").replace("`]", "`")
}

fn is_written(attributes: &[Attribute]) -> bool {
    let is_it = |attribute: &Attribute| {
        let list = attribute.meta.require_list();
        attribute.path().is_ident("derive")
            && list.is_ok_and(|list| list.tokens.to_string().contains("Serialize"))
    };
    attributes.iter().any(is_it)
}

/// The words of `#[serde(…)]`.
fn metas(attributes: &[Attribute]) -> Vec<Meta> {
    let of_serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let words = of_serde.filter_map(|attribute| {
        attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()
    });
    words.flatten().collect()
}

/// The value of a word of `#[serde(…)]`.
fn serde(attributes: &[Attribute], word: &str) -> Option<String> {
    metas(attributes).iter().find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident(word) => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

/// The name of a value by a rule of serde: `left-alone` for `LeftAlone`.
fn renamed(name: &str, rule: &str) -> String {
    let between = match rule {
        "kebab-case" => "-",
        "snake_case" => "_",
        "lowercase" => "",
        _ => return name.to_owned(),
    };
    let mut out = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && place > 0 {
            out.push_str(between);
        }
        out.extend(letter.to_lowercase());
    }
    out
}
