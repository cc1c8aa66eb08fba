//! The progress of a run, on standard error.

use std::collections::BTreeMap;
use std::io;

use ::report::Style;
use ::report::document::Document;
use ::report::document::terminal::Length;
use ::report::words;
use indicatif::ProgressBar;
use judge::Findings;
use record::{EndStatus, Outcome, System};
use runner::{RunEvent, TimeLeft};

use crate::cmd::warn;
use crate::console::{Console, tell};

/// The progress display: one line, only on a terminal.
pub(in crate::cmd) struct Screen {
    bar: ProgressBar,
    names_systems: bool,
    style: Style,
    fleet: FleetProgress,
}

/// The progress of the hosts of a fleet.
#[derive(Default)]
struct FleetProgress {
    /// By system, its host; none without a fleet.
    hosts: BTreeMap<String, String>,
    /// By host, its share that is done, and the seconds that it still takes; `None` where that is not known.
    shares: BTreeMap<String, (f64, Option<f64>)>,
    /// Hosts that have ended.
    ended: usize,
    /// All hosts.
    of: usize,
}

/// Steps of the progress bar.
const BAR_STEPS: u64 = 1000;

impl Screen {
    pub(in crate::cmd) fn new(console: &Console, names_systems: bool) -> Screen {
        let template = "  measuring  {bar:24}  {percent:>3} %   {wide_msg}\n  {prefix}";
        let bar = console.progress(BAR_STEPS, template);
        Screen { bar, names_systems, style: console.style, fleet: FleetProgress::default() }
    }

    pub(in crate::cmd) fn notes(&self, notes: &[String]) {
        for note in notes {
            tell(&format!("  note: {}", ::report::printable(note)));
        }
    }

    pub(in crate::cmd) fn show(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Begun { systems } if systems.iter().any(|system| system.fleet.is_some()) => {
                self.fleet = FleetProgress::new(systems);
                fleet_begins(systems);
            }
            RunEvent::Begun { systems } => begins(systems),
            RunEvent::Trial { item, system, trial, of, done, left } => {
                let name = self.name(item, system);
                let trial = format!("{name} · trial {trial} of {of}");
                match self.fleet.hosts.get(*system).cloned() {
                    None => {
                        let left = left.map(|left| format!(" · {}", time_left(left)));
                        self.bar.set_position((done * BAR_STEPS as f64) as u64);
                        self.say(&format!("{trial}{}", left.unwrap_or_default()));
                    }
                    Some(host) => {
                        let left = left.map(|left| left.time().as_secs_f64());
                        self.fleet.shares.insert(host, (*done, left));
                        self.fleet_moves(&trial);
                    }
                }
            }
            RunEvent::HostEnded { host, status, lost, ended, of } => {
                let is_measured = matches!(status, EndStatus::Complete | EndStatus::Budget);
                self.fleet.end(host, *ended, *of);
                self.bar.suspend(|| match lost {
                    Some(reason) => warn(&format!("{host} is lost: {reason}")),
                    None if !is_measured => {}
                    None => {
                        tell(&::report::printable(&format!("  {host} is measured ({ended} of {of} hosts)")))
                    }
                });
                self.fleet_moves("");
            }
            RunEvent::Decided { findings, variants } => self.found(findings, variants),
            RunEvent::Looked { open, of } => {
                self.bar.set_prefix(::report::printable(&deciding(open, *of)).into_owned());
            }
            RunEvent::Trouble { item, system, trial, outcome } => self.bar.suspend(|| {
                warn(&format!("{} · trial {trial} {}", self.name(item, system), trouble(outcome)));
            }),
        }
    }

    fn say(&self, text: &str) {
        self.bar.set_message(::report::printable(text).into_owned());
    }

    /// How far all hosts are, and the trial that began last.
    fn fleet_moves(&self, trial: &str) {
        let FleetProgress { ended, of, .. } = self.fleet;
        self.bar.set_position((self.fleet.done() * BAR_STEPS as f64) as u64);
        let left = self.fleet.left_seconds().map(::report::quantity::duration);
        let left = left.map_or(String::new(), |left| format!(" · at most {left} left"));
        let trial = if trial.is_empty() { String::new() } else { format!(" · {trial}") };
        self.say(&format!("{ended} of {of} hosts done{left}{trial}"));
    }

    /// Prints the growths that are certain, for a person that waits; the overview has them in their order.
    fn found(&self, findings: &Findings, variants: &[&str]) {
        if self.bar.is_hidden() {
            return;
        }
        let growths = ::report::overview::growth_sentences(findings, |finding| {
            variants.contains(&finding.key.variant.as_str())
        });
        self.bar.suspend(|| {
            let mut document = Document::default();
            growths.iter().for_each(|growth| document.say(format!("  found: {growth}")));
            // A closed standard error is not a failure.
            let _ = document.write(Length::Short, &self.style, &mut io::stderr().lock());
        });
    }

    /// The measured item; and its system, where there are several.
    fn name(&self, item: &runner::Item, system: &str) -> String {
        let system = if self.names_systems { format!(" on {system}") } else { String::new() };
        item.name() + &system
    }

    pub(in crate::cmd) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl FleetProgress {
    fn new(systems: &[System]) -> FleetProgress {
        let host = |system: &System| Some((system.name.clone(), system.fleet.as_ref()?.host.clone()));
        let hosts: BTreeMap<String, String> = systems.iter().filter_map(host).collect();
        let shares: BTreeMap<String, (f64, Option<f64>)> =
            hosts.values().map(|host| (host.clone(), (0.0, None))).collect();
        FleetProgress { ended: 0, of: shares.len(), hosts, shares }
    }

    fn end(&mut self, host: &str, ended: usize, of: usize) {
        self.shares.insert(host.to_owned(), (1.0, Some(0.0)));
        (self.ended, self.of) = (ended, of);
    }

    /// The share of the whole that is done.
    fn done(&self) -> f64 {
        let done: f64 = self.shares.values().map(|(done, _)| done).sum();
        done / self.shares.len().max(1) as f64
    }

    /// The slowest of the hosts decides; nothing is known before each has begun.
    fn left_seconds(&self) -> Option<f64> {
        self.shares.values().try_fold(0.0, |most, (_, left)| Some(f64::max(most, (*left)?)))
    }
}

/// `at most 2 min left`
fn time_left(left: TimeLeft) -> String {
    let time = ::report::quantity::duration(left.time().as_secs_f64());
    let word = if matches!(left, TimeLeft::About(_)) { "about" } else { "at most" };
    format!("{word} {time} left")
}

/// Each system, with the remarks about it.
fn begins(systems: &[System]) {
    for (place, system) in systems.iter().enumerate() {
        let name = if systems.len() > 1 { format!("{} · ", system.name) } else { String::new() };
        tell(&::report::printable(&(name + &machine(system))));
        let is_reported =
            |warning: &&String| systems[..place].iter().any(|earlier| earlier.warnings.contains(warning));
        for warning in system.warnings.iter().filter(|warning| !is_reported(warning)) {
            tell(&format!("  {}", ::report::printable(warning)));
        }
    }
}

/// The machines of a fleet, each with its hosts, and the remarks with theirs.
fn fleet_begins(systems: &[System]) {
    const NAMED_MOST: usize = 4;
    let (mut machines, mut remarks) = (BTreeMap::new(), BTreeMap::new());
    let add = |map: &mut BTreeMap<String, Vec<String>>, text: String, host: &String| {
        let hosts = map.entry(text).or_default();
        hosts.extend((!hosts.contains(host)).then(|| host.clone()));
    };
    for system in systems {
        let Some(place) = &system.fleet else { continue };
        if !system.environment.is_empty() {
            add(&mut machines, machine(system), &place.host);
        }
        system.warnings.iter().for_each(|remark| add(&mut remarks, remark.clone(), &place.host));
    }
    for (text, hosts) in machines.iter().chain(&remarks) {
        let named = hosts.iter().take(NAMED_MOST).cloned();
        let more = hosts.len().saturating_sub(NAMED_MOST);
        let named: Vec<String> = named.chain((more > 0).then(|| format!("{more} more"))).collect();
        tell(&::report::printable(&format!("{}: {text}", words::list(&named))));
    }
}

fn machine(system: &System) -> String {
    ::report::sentences::machine(&format!("osdyno {}", env!("CARGO_PKG_VERSION")), system)
}

/// `9 of 14 decided, open: reap, fork and 3 more`; empty where all are decided.
fn deciding(open: &[&runner::Item], of: usize) -> String {
    const NAMED_MOST: usize = 2;
    let mut names: Vec<String> = open.iter().take(NAMED_MOST).map(|item| item.name()).collect();
    let more = open.len().saturating_sub(NAMED_MOST);
    names.extend((more > 0).then(|| format!("{more} more")));
    let decided = of.saturating_sub(open.len());
    match names.is_empty() {
        true => String::new(),
        false => format!("{decided} of {of} decided, open: {}", ::report::words::list(&names)),
    }
}

fn trouble(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { reason } => format!("failed: {reason}"),
        Outcome::Crashed { n, reason } => format!("crashed at n = {n}: {reason}"),
        Outcome::TimedOut { n } => {
            format!("timed out at n = {n} and was killed; --timeout gives it more time")
        }
        _ => String::new(),
    }
}
