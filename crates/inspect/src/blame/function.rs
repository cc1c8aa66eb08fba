//! Functions and their shares of a growth.

use record::{Frame, Profile, Stack};
use stats::Interval;

/// A function, and how much of a growth is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionShare {
    /// Its name, or its module in brackets where that is all that is known.
    pub name: String,
    /// Where it is: `kernel`, a module of the kernel in brackets, or a file.
    pub module: String,
    /// Its share of the growth by itself.
    pub own: Interval,
    /// With all functions that it calls.
    pub whole: Interval,
    /// Processor time in it by itself, for one operation, where the operation is cheap and where it is
    /// expensive.
    pub own_seconds: [f64; 2],
    /// The same with what it calls.
    pub whole_seconds: [f64; 2],
}

/// The name under which a function is counted.
pub(super) fn name(frame: &Frame) -> String {
    if !frame.function.is_empty() {
        return frame.function.clone();
    }
    let file = frame.module.rsplit('/').next().unwrap_or_default();
    match file.strip_prefix('[') {
        Some(_) => file.to_owned(),
        None => format!("[{file}]"),
    }
}

/// A stack as names and modules, the outermost first. Neighbours of the same name without a function are one:
/// of a stripped program all that is known is that it is there.
pub(super) fn path<'a>(profile: &'a Profile, stack: &'a Stack) -> Vec<(String, &'a str)> {
    let named = profile.functions(stack).rev();
    let mut path: Vec<(String, &str)> = named.map(|frame| (name(frame), frame.module.as_str())).collect();
    path.dedup_by(|one, other| one == other && one.0.starts_with('['));
    path
}
