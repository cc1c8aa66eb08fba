//! `cargo xtask answers`: docs/answers.md has the fields of every answer, from the doc comments of its types.
//! tidy fails if the file differs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::iter;
use std::path::Path;

use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Token, Type, TypeArray,
    TypeSlice,
};

use crate::{AnyError, workspace};

/// The document, from the root of the workspace.
pub(crate) const DOCUMENT: &str = "docs/answers.md";

/// The verbs with the types of their answers.
const ANSWERS: &[(&str, &str)] = &[
    ("run", "RunAnswer"),
    ("compare", "ComparisonAnswer"),
    ("compare of fleets", "FleetAnswer"),
    ("load", "LoadAnswer"),
    ("mail", "MailAnswer"),
    ("doctor", "DoctorAnswer"),
    ("doctor --os", "RecipeAnswer"),
    ("hosts", "HostsAnswer"),
    ("tune", "TuneAnswer"),
    ("tune --undo", "UndoAnswer"),
    ("snoop", "SnoopAnswer"),
    ("blame", "BlameAnswer"),
    ("impact", "ImpactAnswer"),
    ("lab bisect", "BisectAnswer"),
    ("list", "ListAnswer"),
    ("history", "HistoryAnswer"),
    ("history --check", "CheckAnswer"),
    ("history list", "RunListAnswer"),
    ("merge", "MergeAnswer"),
    ("serve", "ServeAnswer"),
    ("dns", "AuthorityCounts"),
    ("selftest", "SelftestAnswer"),
    ("selftest --years", "YearsAnswer"),
];

/// The beginning of the document.
const HEAD: &str = include_str!("answers_head.txt");
/// Fields whose names say enough here; their sentences are for readers of the code.
const CLEAR: &str = include_str!("clear_fields.txt");
/// The fields of an answer are a block.
const FENCE: &str = "```text";
/// Columns of a line at the most.
const WIDTH: usize = 118;
/// A type with more values has a part of its own, if it stands in several places.
const VALUES_MAX: usize = 2;

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
    let reader = Reader { types: &types, shared: &shared };
    let mut parts = Vec::new();
    for (verb, name) in ANSWERS {
        let found = types.get(*name).ok_or_else(|| format!("no type is called {name}"))?;
        parts.push(reader.line(format!("osdyno {verb}"), found));
    }
    let mut objects = Line::new("Objects of many answers");
    objects.fields = shared.iter().map(|name| reader.line((*name).clone(), &types[*name])).collect();
    parts.push(objects);

    let mut meanings = Meanings::new();
    parts.iter().for_each(|part| part.count(&mut meanings));
    let common = common(&meanings);
    let mut out = format!("{HEAD}{FENCE}\n");
    let line = |(name, (kind, meaning)): (&&str, &Meaning)| Line {
        kind: (*kind).to_owned(),
        meaning: (*meaning).to_owned(),
        ..Line::new(*name)
    };
    write_lines(&common.iter().map(line).collect::<Vec<_>>(), 0, &Common::new(), &mut out);
    for part in &parts {
        let _ = write!(out, "```\n\n## {}\n\n{FENCE}\n", part.name);
        write_lines(&part.fields, 0, &common, &mut out);
    }
    Ok(out + "```\n")
}

/// The verb whose whole answer a type is.
fn verb_of(name: &str) -> Option<&'static str> {
    ANSWERS.iter().find(|(_, answer)| *answer == name).map(|(verb, _)| *verb)
}

/// Counts in how many places each type stands that may have a part of the document, those within it once.
fn count(name: &str, types: &Types, uses: &mut BTreeMap<String, usize>) {
    let Some(Written::Struct { fields, .. }) = types.get(name) else { return };
    for field in fields.iter().filter(|field| !has_word(field, "skip")) {
        let inner = inner(&field.ty).0;
        let is_flat = has_word(field, "flatten");
        let may_have_part = match types.get(&inner) {
            Some(Written::Struct { is_recorded, .. }) => is_flat || !is_recorded,
            Some(Written::Enum { values, .. }) => !is_flat && values.len() > VALUES_MAX,
            None => false,
        };
        if !may_have_part || verb_of(&inner).is_some() {
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
                    types.insert(one.ident.to_string(), Written::Struct { fields, is_recorded });
                }
                Item::Enum(one) if is_written(&one.attrs) => {
                    let rule = serde(&one.attrs, "rename_all").unwrap_or_default();
                    // The word of another version is no name.
                    let is_named = |variant: &&syn::Variant| {
                        !metas(&variant.attrs).iter().any(|meta| meta.path().is_ident("untagged"))
                    };
                    let value = |variant: &syn::Variant| {
                        let name = renamed(&variant.ident.to_string(), &rule);
                        serde(&variant.attrs, "rename").unwrap_or(name)
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
    // The beginning of the document has an estimate.
    types.remove("Interval");
    Ok(types)
}

/// A field, or a part of the document.
#[derive(Default)]
struct Line {
    name: String,
    /// `?` where it may be `null`, `+` where it may be missing.
    mark: &'static str,
    /// Its values, or the name of its object.
    kind: String,
    meaning: String,
    fields: Vec<Line>,
}

/// The kind of a field, and its sentence.
type Meaning<'a> = (&'a str, &'a str);

/// In how many places a name has each of its meanings.
type Meanings<'a> = BTreeMap<&'a str, BTreeMap<Meaning<'a>, usize>>;

/// The meanings that stand once, at the beginning.
type Common<'a> = BTreeMap<&'a str, Meaning<'a>>;

/// The most frequent meaning of each name, if it stands in several places and no field has the name alone.
fn common<'a>(meanings: &Meanings<'a>) -> Common<'a> {
    let most = |of: &BTreeMap<Meaning<'a>, usize>| {
        let (meaning, places) = of.iter().max_by_key(|(_, places)| **places)?;
        (*places > 1 && !of.contains_key(&("", ""))).then_some(*meaning)
    };
    meanings.iter().filter_map(|(name, of)| Some((*name, most(of)?))).collect()
}

impl Line {
    fn new(name: impl Into<String>) -> Self {
        Line { name: name.into(), ..Line::default() }
    }

    /// Counts all within that have no fields. A sentence about two fields needs both beside it.
    fn count<'a>(&'a self, meanings: &mut Meanings<'a>) {
        for (place, line) in self.fields.iter().enumerate() {
            let is_of_two = self.fields.get(place + 1).is_some_and(Line::is_explained_before);
            if line.fields.is_empty() && !line.is_explained_before() && !is_of_two {
                let places = meanings.entry(&line.name).or_default();
                *places.entry((&line.kind, &line.meaning)).or_insert(0) += 1;
            }
            line.count(meanings);
        }
    }

    /// Whether the sentence of the field before is about both.
    fn is_explained_before(&self) -> bool {
        self.meaning.starts_with("See ")
    }

    fn is_common(&self, common: &Common) -> bool {
        common.get(&*self.name) == Some(&(&*self.kind, &*self.meaning))
    }

    /// Whether others may stand in its line.
    fn is_short(&self, common: &Common) -> bool {
        let is_plain = self.meaning.is_empty() && !self.kind.contains(' ');
        self.fields.is_empty() && (is_plain || self.is_common(common))
    }

    /// `name?=kind`; the beginning of the document has the kind of a common one.
    fn words(&self, common: &Common) -> String {
        let Line { name, mark, kind, .. } = self;
        let is_bare = kind.is_empty() || self.is_common(common);
        if is_bare { format!("{name}{mark}") } else { format!("{name}{mark}={kind}") }
    }
}

/// Reads types as lines.
struct Reader<'a> {
    types: &'a Types,
    /// The types that have a part of their own, at the end.
    shared: &'a [&'a String],
}

impl Reader<'_> {
    /// A line with the values or the fields of a type.
    fn line(&self, name: String, of: &Written) -> Line {
        match of {
            Written::Struct { fields, .. } => {
                let fields = fields.iter().filter(|field| !has_word(field, "skip"));
                let fields = fields.flat_map(|field| self.field(field)).collect();
                Line { fields, ..Line::new(name) }
            }
            Written::Enum { values, .. } => {
                let between = if values.len() > 5 { " | " } else { "|" };
                Line { kind: values.join(between), ..Line::new(name) }
            }
        }
    }

    /// The line of a field; those of a flat one are several.
    fn field(&self, field: &Field) -> Vec<Line> {
        let Some(ident) = &field.ident else { return Vec::new() };
        let is_flat = has_word(field, "flatten");
        let (inner, lists) = inner(&field.ty);
        // A flat field that is written by a function has its form in a type of that name.
        let is_by_function = is_flat && has_word(field, "serialize_with");
        let form = if is_by_function { format!("{inner}Answer") } else { inner };
        let found = self.types.get(&form);
        let name = serde(&field.attrs, "rename").unwrap_or_else(|| ident.to_string());
        let mut meaning = doc(&field.attrs);
        if CLEAR.split_whitespace().any(|clear| clear == name) || only_repeats(&meaning, &name) {
            meaning.clear();
        }
        let name = format!("{name}{}", "[]".repeat(lists));
        let of_kind = |kind: &str| Line { kind: kind.to_owned(), ..Line::new("") };
        let line = match found {
            None => Line::new(""),
            Some(Written::Enum { values, tag: Some(tag), content }) if is_flat => {
                let tag = Line { kind: values.join(" | "), ..Line::new(tag) };
                let content = content.iter().map(Line::new);
                return iter::once(tag).chain(content).collect();
            }
            Some(found) if is_flat => return self.line(name, found).fields,
            Some(Written::Struct { is_recorded: true, .. }) => of_kind("record.md"),
            Some(found) => match verb_of(&form) {
                Some(verb) => of_kind(verb),
                None if self.shared.contains(&&form) => of_kind(&form),
                None => self.line(String::new(), found),
            },
        };
        let mark = match &field.ty {
            _ if has_word(field, "skip_serializing_if") => "+",
            Type::Path(path) if path.path.segments.iter().any(|part| part.ident == "Option") => "?",
            _ => "",
        };
        // A sentence may name all values.
        let is_named = |value: &str| meaning.contains(&format!("`{value}`"));
        let kind = if line.kind.split('|').map(str::trim).all(is_named) { String::new() } else { line.kind };
        vec![Line { name, mark, kind, meaning: meaning.replace('`', ""), fields: line.fields }]
    }
}

/// Writes lines, `depth` objects further in. Fields that need no sentence, or share one, stand in one line.
fn write_lines(lines: &[Line], depth: usize, common: &Common, out: &mut String) {
    let stand_together = |line: &Line, next: &Line| {
        next.is_explained_before() || line.is_short(common) && next.is_short(common)
    };
    for group in lines.chunk_by(stand_together) {
        let names: Vec<String> = group.iter().map(|line| line.words(common)).collect();
        let meaning = match &group[0] {
            line if line.is_short(common) || line.meaning.is_empty() => String::new(),
            line => format!(": {}", line.meaning),
        };
        write_wrapped(depth, &format!("{}{meaning}", names.join(" ")), out);
        write_lines(&group[0].fields, depth + 1, common, out);
    }
}

/// Words that add nothing to the name of a field.
const FILLERS: [&str; 14] =
    ["", "a", "be", "how", "in", "is", "it", "its", "many", "name", "names", "of", "the", "was"];

/// Whether a sentence says no more than the name of its field.
fn only_repeats(sentence: &str, name: &str) -> bool {
    let words = sentence.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    let mut words = words.filter(|word| !FILLERS.contains(&&**word));
    words.all(|word| name.split('_').any(|part| part == word))
}

fn has_word(field: &Field, word: &str) -> bool {
    metas(&field.attrs).iter().any(|meta| meta.path().is_ident(word))
}

/// Writes a text, `depth` objects further in, in lines of at most `WIDTH` columns.
fn write_wrapped(depth: usize, text: &str, out: &mut String) {
    let (indent, mut used) = (depth, 0);
    for word in text.split_whitespace() {
        let wide = word.chars().count();
        let margin = match used {
            0 => " ".repeat(indent),
            _ if used + 1 + wide > WIDTH => format!("\n{}", " ".repeat(indent + 4)),
            _ => " ".to_owned(),
        };
        used = if margin == " " { used + 1 } else { margin.trim_start_matches('\n').len() } + wide;
        out.push_str(&margin);
        out.push_str(word);
    }
    if used > 0 {
        out.push('\n');
    }
}

/// The name of a type without the lists, options and references around it, and the number of lists.
fn inner(of: &Type) -> (String, usize) {
    match of {
        Type::Reference(reference) => inner(&reference.elem),
        Type::Slice(TypeSlice { elem, .. }) | Type::Array(TypeArray { elem, .. }) => {
            let (name, lists) = inner(elem);
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

/// The first paragraph of a doc comment, without its period.
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
    let text = lines.join(" ").replace("[`", "`").replace("`]", "`");
    text.trim_end_matches('.').replace("`None`", "`null`")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_repeats_its_name_is_left_out() {
        assert!(only_repeats("The sent bytes", "sent_bytes"));
        assert!(!only_repeats("Bytes that were sent to it", "sent_bytes"));
    }

    #[test]
    fn fields_that_share_a_sentence_or_need_none_stand_in_one_line() {
        let lines = [("n", "Its n"), ("low", "Ends"), ("high", "See low"), ("a", ""), ("b", "")];
        let lines = lines.map(|(name, meaning)| Line { meaning: meaning.into(), ..Line::new(name) });
        let mut out = String::new();
        write_lines(&lines, 1, &Common::from([("n", ("", "Its n"))]), &mut out);
        assert_eq!(out, " n\n low high: Ends\n a b\n");
    }
}
