//! The recipients of a delivery, in one text and grouped by domain, and the names of generated ones.
//!
//! A recipient takes its address, a place in the text and a place in the order of its domain: 30 bytes for an
//! address of 22, so that millions can wait.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write as _};
use std::ops::Range;

use net::smtp::Mailbox;
use serde::{Deserialize, Serialize};

/// How many recipients each domain has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DomainSizes {
    /// The k-th domain has 1/k as many as the first, as the lists of real senders roughly have (Zipf's law).
    #[default]
    Zipf,
    /// All have the same number.
    Uniform,
}

/// A list that is computed from a few numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct GeneratedList {
    /// Recipients, all distinct.
    pub recipients: u32,
    /// Domains over which they are spread; each has at least one of them.
    pub domains: u32,
    /// How many each has.
    pub sizes: DomainSizes,
    /// Decides the order of the list.
    pub seed: u64,
}

impl GeneratedList {
    /// Recipients of each domain, the largest first.
    fn domain_sizes(&self) -> Vec<u32> {
        let domains = self.domains.clamp(1, self.recipients.max(1));
        let weight = |rank: u32| match self.sizes {
            DomainSizes::Zipf => 1.0 / f64::from(rank + 1),
            DomainSizes::Uniform => 1.0,
        };
        let total: f64 = (0..domains).map(weight).sum();
        // One for each domain, and the others by weight: sums of shares, rounded, lose and add none.
        let others = f64::from(self.recipients.saturating_sub(domains));
        let (mut share, mut given) = (0.0, 0);
        let mut size_of = |rank| {
            share += weight(rank) / total;
            let until = (share * others).round() as u32;
            let size = 1 + until.saturating_sub(given);
            given = given.max(until);
            size
        };
        (0..domains).map(&mut size_of).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recipient<'a> {
    /// Its address, as it was given.
    pub(crate) address: &'a str,
    /// The number of its domain.
    pub(crate) domain: u32,
}

/// All recipients. Their numbers are their places in the list that was given.
#[derive(Debug, Default)]
pub struct Recipients {
    text: String,
    /// For each recipient where its address ends in the text.
    ends: Vec<u32>,
    /// For each recipient its domain.
    domain_of: Vec<u32>,
    /// The numbers of recipients, domain by domain.
    order: Vec<u32>,
    /// For each domain where it ends in the order.
    order_ends: Vec<u32>,
    /// Those with invalid addresses; no domain has them.
    broken: Vec<u32>,
}

/// The text of a list: UTF-8, or UTF-16 with a byte order mark, as editors of Windows write it. The mark is
/// no part of it. Invalid UTF-8 becomes a character that no address has, and is reported.
pub fn list_text(bytes: &[u8]) -> Cow<'_, str> {
    let utf16 = |rest: &[u8], of_pair: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest.chunks_exact(2).map(|pair| of_pair([pair[0], pair[1]])).collect();
        Cow::Owned(String::from_utf16_lossy(&units))
    };
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes),
    }
}

/// The domain number of recipients without one.
const NO_DOMAIN: u32 = u32::MAX;

impl Recipients {
    /// A generated list, in an order that the seed decides.
    pub fn generate(list: &GeneratedList) -> Recipients {
        let sizes = list.domain_sizes();
        let of_domain = |(domain, &size): (usize, &u32)| (0..size).map(move |user| (domain as u32, user));
        let mut members: Vec<(u32, u32)> = sizes.iter().enumerate().flat_map(of_domain).collect();
        members.truncate(list.recipients as usize);
        fastrand::Rng::with_seed(list.seed).shuffle(&mut members);
        let mut recipients = Recipients::default();
        for (domain, user) in members {
            // Writing to a text cannot fail.
            let _ = write!(recipients.text, "user{user}@{}", DomainName(domain));
            recipients.ends.push(recipients.text.len() as u32);
            recipients.domain_of.push(domain);
        }
        recipients.group(sizes.len());
        recipients
    }

    /// A list of addresses in the order given. Domains are the same where they differ in case only. Invalid
    /// addresses are kept apart, so that they can be reported.
    pub fn from_addresses<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Recipients {
        let mut recipients = Recipients::default();
        let mut domains: HashMap<String, u32> = HashMap::new();
        for address in addresses {
            let next = domains.len() as u32;
            let domain = match Mailbox::parse(address) {
                // That character shows that the list was not UTF-8: no address has it.
                Ok(mailbox) if !address.contains(char::REPLACEMENT_CHARACTER) => {
                    *domains.entry(mailbox.domain().to_lowercase()).or_insert(next)
                }
                _ => {
                    recipients.broken.push(recipients.ends.len() as u32);
                    NO_DOMAIN
                }
            };
            recipients.domain_of.push(domain);
            recipients.text.push_str(address);
            recipients.ends.push(recipients.text.len() as u32);
        }
        recipients.group(domains.len());
        recipients
    }

    /// A list of a user's: one address a line. Blank lines, and those that begin with `#`, are comments.
    pub(crate) fn from_list(bytes: &[u8]) -> Recipients {
        let text = list_text(bytes);
        let lines = text.lines().map(str::trim);
        Recipients::from_addresses(lines.filter(|line| !line.is_empty() && !line.starts_with('#')))
    }

    /// Sorts the recipients by domain, keeping their order within each.
    fn group(&mut self, domains: usize) {
        let mut ends = vec![0_u32; domains];
        for &domain in &self.domain_of {
            if let Some(end) = ends.get_mut(domain as usize) {
                *end += 1;
            }
        }
        let mut end = 0;
        for count in &mut ends {
            end += *count;
            *count = end;
        }
        let mut next: Vec<u32> = std::iter::once(0).chain(ends.iter().copied()).collect();
        self.order = vec![0; end as usize];
        for (number, &domain) in self.domain_of.iter().enumerate() {
            if domain != NO_DOMAIN {
                let place = &mut next[domain as usize];
                self.order[*place as usize] = number as u32;
                *place += 1;
            }
        }
        self.order_ends = ends;
    }

    /// Leaves the others out of their domains, like finished ones. Numbers stay the same.
    pub(crate) fn retain(&mut self, is_open: impl Fn(u32) -> bool) {
        let (mut start, mut kept) = (0, 0);
        for end in &mut self.order_ends {
            for place in start..*end as usize {
                let number = self.order[place];
                if is_open(number) {
                    self.order[kept] = number;
                    kept += 1;
                }
            }
            start = *end as usize;
            *end = kept as u32;
        }
        self.order.truncate(kept);
        self.broken.retain(|&number| is_open(number));
    }

    /// Those that are in a domain, and so can be delivered to.
    pub fn waiting(&self) -> usize {
        self.order.len()
    }

    /// All addresses, in the order of their numbers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len() as u32).filter_map(|number| Some(self.get(number)?.address))
    }

    /// The numbers of invalid addresses.
    pub(crate) fn broken(&self) -> &[u32] {
        &self.broken
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many domains they have.
    pub fn domains(&self) -> usize {
        self.order_ends.len()
    }

    /// The recipient with that number, if there is one.
    pub(crate) fn get(&self, number: u32) -> Option<Recipient<'_>> {
        let number = number as usize;
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let address = self.text.get(start as usize..end as usize)?;
        Some(Recipient { address, domain: self.domain_of[number] })
    }

    /// Where the recipients of a domain are in the order.
    pub(crate) fn of_domain(&self, domain: u32) -> Range<u32> {
        let domain = domain as usize;
        let start = domain.checked_sub(1).map_or(0, |before| self.order_ends[before]);
        start..self.order_ends.get(domain).copied().unwrap_or(start)
    }

    /// The number of the recipient at that place of the order.
    pub(crate) fn at(&self, place: u32) -> u32 {
        self.order[place as usize]
    }

    /// The address of a domain's first recipient; a domain has one at least.
    pub(crate) fn first_of_domain(&self, domain: u32) -> &str {
        let first = self.of_domain(domain).next().and_then(|place| self.get(self.at(place)));
        first.map_or("", |recipient| recipient.address)
    }

    /// Bytes that the whole list takes.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.ends.capacity() + self.domain_of.capacity() + self.order.capacity();
        self.text.capacity() + size_of::<u32>() * (numbers + self.order_ends.capacity())
    }
}

/// The beginning of every generated domain.
const LABEL: &str = "d";

/// The domain of all generated names; it is reserved (RFC 6761, section 6.2).
pub(crate) const TOP: &str = "test";

/// The name of a generated domain. The engine and the DNS server compute it from a number, so that neither
/// keeps a list of the other's.
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
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn list(recipients: u32, domains: u32, sizes: DomainSizes) -> Recipients {
        Recipients::generate(&GeneratedList { recipients, domains, sizes, seed: 7 })
    }

    #[test]
    fn the_list_of_2001() {
        let recipients = list(200_000, 9_113, DomainSizes::Zipf);
        assert_eq!((recipients.len(), recipients.domains()), (200_000, 9_113));
        let addresses = (0..200_000).filter_map(|number| recipients.get(number));
        let distinct: HashSet<&str> = addresses.map(|recipient| recipient.address).collect();
        assert_eq!(distinct.len(), 200_000);
        // One of its own, and 190,887 / (1 + 1/2 + … + 1/9113) of the others.
        assert_eq!(recipients.of_domain(0).len(), 19_691);
        assert!(recipients.bytes() < 200_000 * 60, "{} bytes", recipients.bytes());
    }

    #[test]
    fn an_order_comes_from_its_seed() {
        let first = |seed| {
            let sizes = DomainSizes::Uniform;
            let list = GeneratedList { recipients: 100, domains: 10, sizes, seed };
            Recipients::generate(&list).get(0).map(|recipient| recipient.address.to_owned())
        };
        assert_eq!(first(1), first(1));
        assert!((2..20).any(|seed| first(seed) != first(1)));
    }

    #[test]
    fn domains_of_a_list_that_was_given() {
        let recipients = Recipients::from_addresses([
            "a@One.test",
            "b@two.test",
            "no domain",
            "c@one.TEST",
            "d@x\r\nRSET",
        ]);
        assert_eq!((recipients.len(), recipients.domains()), (5, 2));
        assert_eq!(recipients.broken(), [2, 4]);
        let of_first: Vec<u32> = recipients.of_domain(0).map(|place| recipients.at(place)).collect();
        assert_eq!(of_first, [0, 3]);
        assert_eq!(recipients.get(5), None);
    }

    #[test]
    fn a_list_is_read_as_people_write_it() {
        let text = "# two friends\r\nkim@alpha.test\r\n\r\n  # and\n lee@beta.test \n#kim@gone.test";
        let utf16 = |of: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(of).collect::<Vec<u8>>();
        for bytes in [
            text.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            [&b"\xff\xfe"[..], &utf16(u16::to_le_bytes)].concat(),
            [&b"\xfe\xff"[..], &utf16(u16::to_be_bytes)].concat(),
        ] {
            let list = Recipients::from_list(&bytes);
            assert_eq!(list.addresses().collect::<Vec<_>>(), ["kim@alpha.test", "lee@beta.test"]);
        }
        // An invalid address, reported as such.
        assert_eq!(Recipients::from_list(b"\xff@a.test\nkim@a.test\n").broken(), [0]);
    }

    proptest! {
        #[test]
        fn every_recipient_has_one_place(count in 1_u32..2000, domains in 1_u32..300, zipf: bool) {
            let sizes = if zipf { DomainSizes::Zipf } else { DomainSizes::Uniform };
            let recipients = list(count, domains, sizes);
            prop_assert_eq!(recipients.len() as u32, count);
            prop_assert_eq!(recipients.domains() as u32, domains.min(count));
            let mut seen = vec![false; recipients.len()];
            for domain in 0..recipients.domains() as u32 {
                prop_assert!(!recipients.of_domain(domain).is_empty());
                for place in recipients.of_domain(domain) {
                    let number = recipients.at(place);
                    prop_assert_eq!(recipients.get(number).map(|one| one.domain), Some(domain));
                    prop_assert!(!std::mem::replace(&mut seen[number as usize], true));
                }
            }
            prop_assert!(seen.into_iter().all(|seen| seen));
        }
    }

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
