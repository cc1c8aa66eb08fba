//! The roles of a trial: each is a process of its own, started with `trial ROLE …`.
//!
//! The group `kernel` is measured by a small program of its own (`src/bin/kernel.rs`), linked dynamically and
//! statically: fork(2) copies the process that calls it, so servers, clients and an asynchronous runtime in
//! the same program would be part of what `fork` measures. All other groups are measured by osdyno itself in
//! these roles ([`servers`]).
//!
//! The runner starts a program as supervisor, here or through the agent behind a command prefix. The
//! supervisor starts the worker, which measures into memory that both share, waits for its end, and then
//! replies with the lines of the record. So no measurement is lost in a crash, and nothing is written during
//! measurement.
//!
//! The roles that only describe a system are here: its facts and limits, and causes of doubtful figures.
//!
//! Must never: judge, plan, or write anywhere but on standard output and in its scratch folder.

mod profile;
#[cfg(feature = "servers")]
pub mod servers;
mod supervisor;
mod worker;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use host::{FrameReader, FrameWriter};
use record::{
    Condition, ConditionWeight, Examination, Line, ProcessorBorder, ProcessorKind, Processors, ResourceLimit,
    System, resource,
};
use sys::cpu::BorderKind;
use sys::environment;
use sys::limit::{self, FolderResource, Resource};
use workload::{Group, Workload};

/// The result of a role.
pub type Done = Result<(), Box<dyn Error>>;

/// A further role of a program, by its words; `None` for words that it does not know.
pub type Role = fn(&[&str]) -> Option<Done>;

/// Plays the role that the arguments of the process name: one of a trial of these groups, or a further one.
/// `None` where the arguments are not those of a role.
pub fn play(groups: &[Group], further: Role) -> Option<ExitCode> {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [host::TRIAL, ref role @ ..] = arguments[..] else { return None };
    let done = match role[..] {
        ["supervise"] => supervisor::supervise(groups),
        ["measure"] => worker::measure(groups),
        ["describe"] => describe(),
        ["examine"] => examine(),
        ["clock"] => tell_time(),
        [background::ROLE] => background::hold().map_err(Into::into),
        ["agent", folder] => host::agent(folder).map_err(Into::into),
        ["guard", ref words @ ..] => host::guard(words).map_err(Into::into),
        _ => further(role).unwrap_or_else(|| Err(USAGE.into())),
    };
    Some(end(done))
}

/// Does the work of the first process of a guest, which a kernel starts with words of its own before ours.
pub fn first_process() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    end(match words[..] {
        [ref words @ .., host::INIT] => host::init(words).map_err(Into::into),
        _ => Err(USAGE.into()),
    })
}

/// The workload of that name in these groups.
pub(crate) fn find(groups: &[Group], name: &str) -> Option<&'static Workload> {
    groups.iter().find_map(|group| group.find(name))
}

fn end(done: Done) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The reader may have ended.
            let _ = writeln!(std::io::stderr(), "osdyno trial: {error}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "its roles are started by osdyno: supervise | describe | examine | clock | background | \
     agent FOLDER | guard SECONDS COMMAND";

/// Receives the folder for the workloads' files, and replies with the system.
fn describe() -> Done {
    let Some(scratch) = FrameReader::standard_input().receive::<String>()? else { return Ok(()) };
    let environment = environment::facts(Some(Path::new(&scratch)));
    let warnings = environment::warnings(&environment, &sys::activity::snapshot());
    let (limits, processors) = (limits(Path::new(&scratch)), processors());
    let system = System { environment, warnings, limits, processors, ..System::default() };
    let line = record::format_line(&Line::System(system))?;
    Ok(FrameWriter::standard_output().send_bytes(line.as_bytes())?)
}

/// The limits on n here, once those of the process are raised as in a trial. A resource without a readable
/// limit is absent.
fn limits(scratch: &Path) -> BTreeMap<String, Vec<ResourceLimit>> {
    // A limit that cannot be raised keeps its value.
    let _ = limit::raise_soft_to_hard();
    let of = |&resource: &Resource| limit::bounds(resource).ok().map(|bounds| (resource.name(), bounds));
    let limits = |bounds: Vec<limit::Bound>| bounds.into_iter().map(limit_of).collect();
    let of_folder = [(FolderResource::DiskBytes, resource::DISK), (FolderResource::Inodes, resource::INODES)];
    let of_folder = of_folder.into_iter().filter_map(|(resource, name)| {
        limit::bound_of_folder(resource, scratch).ok().map(|bound| (name, vec![bound]))
    });
    let all = Resource::ALL.iter().filter_map(of).chain(of_folder);
    all.map(|(name, bounds)| (name.to_owned(), limits(bounds))).collect()
}

fn limit_of(bound: limit::Bound) -> ResourceLimit {
    ResourceLimit { name: bound.limit, value: bound.value, usable: bound.usable, advice: bound.advice }
}

/// The processors here. The plan of the run chooses those to which trials and servers are pinned.
fn processors() -> Option<Processors> {
    let online = sys::cpu::topology().map(|topology| topology.cpus.len()).ok().filter(|&count| count > 0);
    let online = u32::try_from(online.unwrap_or_else(sys::cpu::count)).ok()?;
    let usable = sys::cpu::preferred().unwrap_or_default();
    let placed = sys::cpu::placed(sys::cpu::Placement::Spread).unwrap_or_default();
    let border = |border: &sys::cpu::Border| ProcessorBorder {
        after: u32::try_from(border.after).unwrap_or(u32::MAX),
        kind: match border.kind {
            BorderKind::Sibling => ProcessorKind::Sibling,
            BorderKind::Slower => ProcessorKind::Slower,
            BorderKind::Node => ProcessorKind::Node,
        },
    };
    let borders = placed.borders.iter().map(border).collect();
    Some(Processors { online, usable, trial: None, server: None, borders })
}

/// How long the reference operation is repeated.
const STEADINESS: Duration = Duration::from_secs(2);

/// Receives the folder for the workloads' files, and replies with the examination.
fn examine() -> Done {
    let Some(scratch) = FrameReader::standard_input().receive::<String>()? else { return Ok(()) };
    // Before our own work is part of the load, and while all processors that are ours are usable.
    let facts = environment::facts(Some(Path::new(&scratch)));
    let conditions = environment::conditions(&facts, &sys::activity::snapshot());
    // The processor that a trial would be pinned to; where that is impossible, the scheduler chooses.
    if let Some(&cpu) = sys::cpu::preferred().unwrap_or_default().first() {
        let _ = sys::cpu::pin(cpu);
    }
    let steadiness = workload::measure_steadiness(STEADINESS);
    let examination = Examination {
        conditions: conditions.into_iter().map(recorded).collect(),
        steadiness: Some(steadiness),
    };
    Ok(FrameWriter::standard_output().send(&examination)?)
}

/// Replies to each request with the date here, in nanoseconds since 1970, until requests end.
fn tell_time() -> Done {
    let (mut requests, mut replies) = (FrameReader::standard_input(), FrameWriter::standard_output());
    while requests.receive::<()>()?.is_some() {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        replies.send(&u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX))?;
    }
    Ok(())
}

fn recorded(condition: environment::MachineCondition) -> Condition {
    let weight = match condition.weight {
        environment::ConditionSeverity::Unfit => ConditionWeight::Unfit,
        environment::ConditionSeverity::Care => ConditionWeight::Care,
        environment::ConditionSeverity::Note => ConditionWeight::Note,
    };
    Condition { subject: condition.subject.to_owned(), weight, text: condition.text }
}
