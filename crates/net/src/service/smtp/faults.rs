//! The refusals of a server that could accept: faults, by chance or because the address requests one, and a
//! greylist of the recipients of earlier attempts, in memory that all processes of a server share.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use record::units;
use sys::memory::Shared;

use crate::Error;
use crate::smtp::Command;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Connect,
    Ehlo,
    StartTls,
    Mail,
    Rcpt,
    Data,
    Message,
    Rset,
    Quit,
}

impl Step {
    /// The step of a command, if it has faults.
    pub(super) fn from_command(command: &Command<'_>) -> Option<Step> {
        match command {
            Command::Ehlo(_) | Command::Helo(_) => Some(Step::Ehlo),
            Command::Mail { .. } => Some(Step::Mail),
            Command::Rcpt(_) => Some(Step::Rcpt),
            Command::Data => Some(Step::Data),
            Command::Rset => Some(Step::Rset),
            Command::Quit => Some(Step::Quit),
            Command::StartTls => Some(Step::StartTls),
            Command::Bdat { .. } | Command::Noop | Command::Vrfy(_) | Command::Help | Command::Unknown => {
                None
            }
        }
    }
}

const STEPS: [(&str, Step); 9] = [
    ("connect", Step::Connect),
    ("ehlo", Step::Ehlo),
    ("starttls", Step::StartTls),
    ("mail", Step::Mail),
    ("rcpt", Step::Rcpt),
    ("data", Step::Data),
    ("message", Step::Message),
    ("rset", Step::Rset),
    ("quit", Step::Quit),
];

/// The action that takes the place of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// This reply; 421 closes the connection.
    Reply(u16),
    /// The connection is closed without one.
    Drop,
    /// The connection is reset.
    Reset,
    /// The reply comes so much later.
    Delay(Duration),
}

impl Fault {
    /// The code of its reply, or 0.
    pub(super) fn code(self) -> u16 {
        if let Fault::Reply(code) = self { code } else { 0 }
    }
}

#[derive(Clone, Debug)]
struct Rule {
    step: Step,
    domain: Option<String>,
    fault: Fault,
    /// From 0 to 1.
    odds: f64,
}

/// Faults that chance chooses from.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(Vec<Rule>);

impl Faults {
    /// Each is `STEP[@DOMAIN] ACTION PERCENT`.
    pub(super) fn parse(texts: &[String]) -> Result<Faults, Error> {
        let rules = texts.iter().map(|text| {
            rule(text).ok_or_else(|| {
                let steps = STEPS.map(|(name, _)| name).join(", ");
                Error::Settings(format!(
                    "{text:?} is no fault: it has the form 'STEP ACTION PERCENT', such as 'rcpt@d1.test 450 \
                     5%'; STEP is one of {steps}, ACTION a code from 400 to 599, drop, reset, or a time such \
                     as 500ms or 2s; connect and starttls have no DOMAIN"
                ))
            })
        });
        rules.collect::<Result<_, _>>().map(Faults)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a later fault depends on the domain of a recipient.
    pub(super) fn are_of_domains(&self) -> bool {
        let follows = |step| matches!(step, Step::Data | Step::Message | Step::Rset | Step::Quit);
        self.0.iter().any(|rule| rule.domain.is_some() && follows(rule.step))
    }

    /// The fault of this step, if there is one. The domains are those of the recipients.
    #[inline]
    pub(super) fn choose<D: AsRef<str>>(
        &self,
        step: Step,
        domains: &[D],
        random: &mut fastrand::Rng,
    ) -> Option<Fault> {
        let concerns = |rule: &&Rule| {
            let has = |own: &String| domains.iter().any(|domain| own.eq_ignore_ascii_case(domain.as_ref()));
            rule.step == step && rule.domain.as_ref().is_none_or(has)
        };
        let mut rules = self.0.iter().filter(concerns);
        rules.find(|rule| random.f64() < rule.odds).map(|rule| rule.fault)
    }
}

fn rule(text: &str) -> Option<Rule> {
    let mut words = text.split_whitespace();
    let (place, fault, percent) = (words.next()?, words.next()?, words.next()?);
    let (step, domain) = match place.split_once('@') {
        Some((step, domain)) => (step, Some(domain.to_owned())),
        None => (place, None),
    };
    let step = STEPS.iter().find(|(name, _)| name.eq_ignore_ascii_case(step))?.1;
    let fault = match fault {
        "drop" => Fault::Drop,
        "reset" => Fault::Reset,
        text => match time(text) {
            Some(time) => Fault::Delay(time),
            None => Fault::Reply(text.parse().ok().filter(|code| (400..600).contains(code))?),
        },
    };
    let odds = units::percent(percent).ok()?;
    // Before a client has named a domain, there is none.
    let has_domain = !matches!(step, Step::Connect | Step::StartTls);
    let is_allowed = odds <= 1.0 && (domain.is_none() || has_domain);
    (is_allowed && words.next().is_none()).then_some(Rule { step, domain, fault, odds })
}

/// No reply comes later than that: clients wait for five minutes (RFC 5321, section 4.5.3.2).
const DELAY_MAX: Duration = Duration::from_secs(600);

fn time(text: &str) -> Option<Duration> {
    units::time(text).ok().filter(|time| *time <= DELAY_MAX)
}

/// The domain that a command has.
#[inline]
pub(super) fn domain_of<'a>(command: &'a Command<'_>) -> &'a str {
    match command {
        Command::Rcpt(recipient) => recipient.domain(),
        Command::Mail { sender: Some(sender), .. } => sender.domain(),
        Command::Ehlo(name) | Command::Helo(name) => name.get(),
        _ => "",
    }
}

/// The fault that a local part requests.
pub(super) fn asked_for(local: &str) -> Option<Fault> {
    let name = local.split('+').next().unwrap_or_default();
    let fault = match name {
        "tempfail" => Fault::Reply(451),
        "permfail" => Fault::Reply(550),
        "busy" => Fault::Reply(421),
        "drop" => Fault::Drop,
        "reset" => Fault::Reset,
        _ if name.starts_with("delay-") => Fault::Delay(time(&name["delay-".len()..])?),
        _ => {
            let (code, rest) = name.split_at_checked(3)?;
            let is_code = code.bytes().all(|byte| byte.is_ascii_digit());
            let code = code.parse().ok().filter(|code| (400..600).contains(code))?;
            return (is_code && (rest.is_empty() || rest.starts_with('-'))).then_some(Fault::Reply(code));
        }
    };
    Some(fault)
}

/// Places, each for a client, a sender and a recipient: half a mark of these, half the time when they came.
const PLACES: usize = 1 << 20;

/// Places among which one is found, or the oldest is forgotten.
const PLACES_TOGETHER: usize = 4;

/// The recipients that are known, and the time that they must have waited.
pub(super) struct Greylist {
    memory: Shared,
    wait_ticks: u32,
}

impl Greylist {
    /// An empty one, or that of the process with this descriptor.
    pub(super) fn open(wait: Duration, inherited: Option<i32>) -> io::Result<Greylist> {
        let memory = match inherited {
            Some(descriptor) => Shared::join(descriptor, PLACES)?,
            None => Shared::create(PLACES)?,
        };
        Ok(Greylist { memory, wait_ticks: u32::try_from(wait.as_millis() / TICK_MS).unwrap_or(u32::MAX) })
    }

    /// The descriptor with which another process opens it.
    pub(super) fn inheritable(&self) -> Option<i32> {
        self.memory.inheritable()
    }

    /// Whether the recipient is refused for now.
    pub(super) fn puts_off(&self, client: Option<IpAddr>, sender: &str, recipient: &str) -> bool {
        // The same in every process.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((client, sender, recipient));
        !is_known(self.memory.slots(), hash, ticks(), self.wait_ticks)
    }
}

const TICK_MS: u128 = 100;

/// Of a clock that all processes share; it comes round once in 13 years.
fn ticks() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_millis() / TICK_MS) as u32
}

/// Whether it came for the first time at least `wait` ticks ago. If it never came, it is kept.
fn is_known(places: &[AtomicU64], hash: u64, now: u32, wait: u32) -> bool {
    let begin = (hash as usize).wrapping_mul(PLACES_TOGETHER) % places.len().max(1);
    // No mark is 0, which is an empty place.
    let mark = ((hash >> 32) as u32).max(1);
    let places = places.iter().cycle().skip(begin).take(PLACES_TOGETHER);
    let age = |kept: u64| if kept == 0 { u32::MAX } else { now.wrapping_sub(kept as u32) };
    let mut oldest: Option<(&AtomicU64, u64)> = None;
    for place in places {
        let kept = place.load(Ordering::Relaxed);
        if (kept >> 32) as u32 == mark {
            return age(kept) >= wait;
        }
        if oldest.is_none_or(|(_, before)| age(before) < age(kept)) {
            oldest = Some((place, kept));
        }
    }
    if let Some((place, kept)) = oldest {
        let own = u64::from(mark) << 32 | u64::from(now);
        // If another process was faster, this one comes again once more.
        let _ = place.compare_exchange(kept, own, Ordering::Relaxed, Ordering::Relaxed);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_or_refused() {
        let parsed = |text: &str| Faults::parse(&[text.to_owned()]).is_ok();
        assert!(
            ["rcpt 450 5%", "RCPT@d1.test drop 0.5", "connect 421 100%", "mail 20ms 1", "data@d 9s 1"]
                .into_iter()
                .chain(["ehlo@d 450 1", "mail@d 450 1", "quit@d drop 1", "rset@d 450 1", "message@d 450 1"])
                .all(parsed)
        );
        for text in ["", "rcpt", "rcpt 450", "rcpt 250 5%", "rcpt 450 101%", "rcpt 450 -1", "connect@d 421 1"]
        {
            assert!(!parsed(text), "{text}");
        }
        assert!(!parsed("rcpt 11m 1") && !parsed("rcpt 601s 1") && !parsed("starttls@d 450 1"));
        assert!(!parsed("rcpt 450 NaN") && !parsed("rcpt 450 1 2") && !parsed("vrfy 450 1"));
    }

    #[test]
    fn chance_is_as_likely_as_it_was_told_to_be() {
        let texts = ["rcpt@d1.test 550 100%", "rcpt 450 25%"].map(str::to_owned);
        let (faults, mut random) = (Faults::parse(&texts).unwrap(), fastrand::Rng::with_seed(3));
        assert_eq!(faults.choose(Step::Rcpt, &["D1.test"], &mut random), Some(Fault::Reply(550)));
        assert_eq!(faults.choose(Step::Mail, &[""], &mut random), None);
        let hits =
            (0..10_000).filter(|_| faults.choose(Step::Rcpt, &["d2.test"], &mut random).is_some()).count();
        assert!((2300..2700).contains(&hits), "{hits}");
    }

    #[test]
    fn a_local_part_asks_for_a_reply() {
        assert_eq!(asked_for("450"), Some(Fault::Reply(450)));
        assert_eq!(asked_for("551-go-away+7"), Some(Fault::Reply(551)));
        assert_eq!(asked_for("tempfail+1"), Some(Fault::Reply(451)));
        assert_eq!(asked_for("drop"), Some(Fault::Drop));
        assert_eq!(asked_for("delay-20ms+1"), Some(Fault::Delay(Duration::from_millis(20))));
        for local in ["user", "4501", "250", "+45", "600", "ж1", "dropped", "delay-", "delay-1h", ""] {
            assert_eq!(asked_for(local), None, "{local}");
        }
    }

    #[test]
    fn what_has_waited_is_known() {
        let places: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        for (now, hash, expected) in [
            (u32::MAX - 3, 7 << 32, false),
            (u32::MAX, 7 << 32, false),
            (u32::MAX, 8 << 32, false),
            // The clock comes round.
            (5, 7 << 32, false),
            (6, 7 << 32, true),
            (6, 8 << 32, false),
            (9, 8 << 32, true),
        ] {
            assert_eq!(is_known(&places, hash, now, 10), expected, "{hash:x} at {now}");
        }
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let places: Vec<AtomicU64> = (0..PLACES_TOGETHER).map(|_| AtomicU64::new(0)).collect();
        for number in 1..=5_u32 {
            assert!(!is_known(&places, u64::from(number) << 32, number, 1));
        }
        for number in 2..=5 {
            assert!(is_known(&places, number << 32, 10, 1), "{number}");
        }
        assert!(!is_known(&places, 1 << 32, 10, 1));
    }

    #[test]
    fn another_process_knows_the_same() {
        let Ok(greylist) = Greylist::open(Duration::ZERO, None) else {
            println!("skipped: this system has no memory that is shared");
            return;
        };
        let client = Some(IpAddr::from([127, 0, 0, 1]));
        assert!(greylist.puts_off(client, "a@b", "c@d") && !greylist.puts_off(client, "a@b", "c@d"));
        assert!(greylist.puts_off(client, "", "c@d") && greylist.puts_off(None, "a@b", "c@d"));
    }
}
