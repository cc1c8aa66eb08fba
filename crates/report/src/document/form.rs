//! Choices of a reader of pages that are served.

use super::Element;

/// Blocks with choices of a reader, which make the address of another page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The address without its query.
    pub action: String,
    /// Fields above the blocks.
    pub fields: Vec<Field>,
    /// The words of its button.
    pub submit: String,
    /// The blocks. Cells with a choice are part of the form.
    pub blocks: Vec<Element>,
}

/// A field of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The words before it.
    pub label: String,
    /// Its name in the query.
    pub name: String,
    /// Its value now; empty for none.
    pub value: String,
    /// The values to choose from; none for a text.
    pub options: Vec<String>,
}

/// One of several choices of a form, of which one is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The name of the choice in the query.
    pub name: String,
    /// This value of it.
    pub value: String,
    /// The words that a screen reader says in its place.
    pub label: String,
    /// Whether it is made.
    pub is_made: bool,
}

impl From<Form> for Element {
    fn from(form: Form) -> Element {
        Element::Form(form)
    }
}
