//! Names of generated recipients. The engine and the DNS that answers it compute them from a number, so that
//! neither keeps a list of the other's. All are in `.test`, which belongs to nobody (RFC 6761, section 6.2).

use std::fmt::{self, Display, Formatter};

/// What every generated domain begins with.
const LABEL: &str = "d";

/// The domain in which all generated names are.
pub const TOP: &str = "test";

/// The name of a generated domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainName(pub u32);

impl Display for DomainName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{LABEL}{}.{TOP}", self.0)
    }
}

impl DomainName {
    /// The number of a generated domain; `None` for any other name. Letters may have either case.
    pub fn parse(name: &str) -> Option<DomainName> {
        let (label, top) = name.strip_suffix('.').unwrap_or(name).split_once('.')?;
        let digits = label.get(..LABEL.len()).filter(|start| start.eq_ignore_ascii_case(LABEL))?;
        let digits = &label[digits.len()..];
        let is_canonical = digits == "0" || !digits.starts_with(['0', '+']);
        (top.eq_ignore_ascii_case(TOP) && is_canonical).then(|| digits.parse().ok()).flatten().map(DomainName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for number in [0, 7, 9112, u32::MAX] {
            assert_eq!(DomainName::parse(&DomainName(number).to_string()), Some(DomainName(number)));
        }
        assert_eq!(DomainName::parse("D12.TEST."), Some(DomainName(12)));
        for other in ["", "d.test", "d01.test", "d+1.test", "d1.example", "x1.test", "d1", "ä1.test"] {
            assert_eq!(DomainName::parse(other), None, "{other}");
        }
    }
}
