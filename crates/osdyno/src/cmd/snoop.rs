//! `osdyno snoop`: the architecture of a running server, without its source.

use std::time::Duration;

use ::report::document::terminal::Length;
use inspect::snoop::{
    Collector, Holder, ListeningPlace, ObservedServer, ProbeMode, ServerAnswer, SnoopAnswer, SnoopError,
    Stage,
};
use record::units::{self, Unreadable};

use super::{Done, Format, print_answer, warn};
use crate::console::{Console, Failure, completion};

/// Connections that are held first, where more are wanted.
const LEVELS: &[u64] = &[1, 20, 200];
/// After the connections have closed, idle processes get so long to end.
const ENDING: Duration = Duration::from_millis(800);

const EXAMPLES: &str = "\
Examples:
  osdyno snoop -p 812                the server that process 812 is, or belongs to
  osdyno snoop --port 80 --load 200  the server on port 80, while 1, 20 and 200 connections are held
  osdyno snoop --all-listening       every server of this machine

Without --load nothing is sent to the server. Only root sees the servers of other users.";

/// Recognize the architecture of a running server, without its source: fork, prefork, thread, epoll and
/// others, with the evidence, how sure that is, and what it predicts under load
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Hold connections to the server, 1, 20 and 200, and see how it grows; N of them at most
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "200",
          value_parser = clap::value_parser!(u64).range(1..=5000))]
    load: Option<u64>,
    /// How long the server is observed; with --load at each level
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    duration: Duration,
    /// Print the connections and waits of each process
    #[arg(short, long)]
    verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The server.
#[derive(Clone, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The server that this process is, or belongs to
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// The server that listens on this TCP port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Every server that listens on a TCP port
    #[arg(long)]
    all_listening: bool,
}

fn parse_duration(text: &str) -> Result<Duration, Unreadable> {
    let duration = units::time(text)?;
    let is_sensible = (Duration::from_millis(50)..=Duration::from_secs(60)).contains(&duration);
    if is_sensible { Ok(duration) } else { Err(Unreadable::new(text, "a time from 50ms to 60s is possible")) }
}

pub(crate) fn snoop(args: &Args, console: &Console) -> Done {
    let (servers, warnings) = look_at_all(args)?;
    for warning in &warnings {
        warn(warning);
    }
    let is_complete = warnings.is_empty() && servers.iter().all(|one| one.recognition.is_some());
    let answer = SnoopAnswer { schema: 1, servers, is_list: args.which.all_listening };
    print_answer(&answer, SnoopAnswer::document, Length::of(args.verbose), args.format, console)?;
    Ok(completion(is_complete))
}

/// The answers, and warnings about servers that are missing.
fn look_at_all(args: &Args) -> Result<(Vec<ServerAnswer>, Vec<String>), Failure> {
    let mut warnings = Vec::new();
    let servers = match (args.which.pid, args.which.port) {
        (Some(pid), _) => vec![ObservedServer::of_process(pid)?],
        (None, Some(port)) => vec![ObservedServer::at_port(port)?],
        (None, None) => {
            let (servers, hidden) = ObservedServer::all()?;
            warnings.extend(hidden.into_iter().map(|port| SnoopError::HiddenListener(port).to_string()));
            servers
        }
    };
    let mut answers = Vec::new();
    for server in servers {
        let name = format!("{} ({})", server.root, server.name);
        match look_at(args, server) {
            Ok(one) => answers.push(one),
            // One of many may end, or be unreadable for this user.
            Err(failure) if args.which.all_listening => warnings.push(format!("{name}: {failure}")),
            Err(failure) => return Err(failure),
        }
    }
    Ok((answers, warnings))
}

impl From<SnoopError> for Failure {
    fn from(error: SnoopError) -> Failure {
        match error {
            SnoopError::NoProcess { .. }
            | SnoopError::OfKernel { .. }
            | SnoopError::NotListening { .. }
            | SnoopError::NoListener(_) => Failure::Usage(error.to_string()),
            SnoopError::Load(error) => error.into(),
            _ => Failure::Refused(error.to_string()),
        }
    }
}

fn look_at(args: &Args, server: ObservedServer) -> Result<ServerAnswer, Failure> {
    let Some(most) = args.load else {
        let mut collector = Collector::new(server.clone());
        collector.look(Stage::Found, args.duration)?;
        return Ok(ServerAnswer::new(server, &collector, None));
    };
    if !server.is_in_our_network {
        let text = format!(
            "process {} is in another network namespace, which connections of this one do not reach; start \
             osdyno there with: nsenter -t {} -n",
            server.root, server.root
        );
        return Err(Failure::Refused(text));
    }
    let place = server.places.first().cloned().ok_or(SnoopError::Ended)?;
    // Its other ports have nothing to do with these connections.
    let server = server.at(&place)?;
    let mut collector = Collector::new(server.clone());
    collector.look(Stage::Found, args.duration)?;
    let mode = hold(args, &place, most, &mut collector)?;
    std::thread::sleep(ENDING);
    collector.look(Stage::After, args.duration / 4)?;
    Ok(ServerAnswer::new(server, &collector, Some(mode)))
}

/// Holds more and more connections, and looks at the server with each number of them.
fn hold(
    args: &Args,
    place: &ListeningPlace,
    most: u64,
    collector: &mut Collector,
) -> Result<ProbeMode, Failure> {
    let mut holder = Holder::new(place)?;
    let levels = LEVELS.iter().copied().filter(|level| *level < most).chain([most]);
    for level in levels {
        let held = holder.grow_to(level as usize)?;
        let held = holder.in_another_mode(held, || collector.connections())?;
        collector.look(Stage::Held(held as u64), args.duration)?;
        if (held as u64) < level {
            warn(&format!("only {held} of {level} connections could be made; the answer is from these"));
            break;
        }
    }
    Ok(holder.mode())
}
