//! `osdyno load`: asks a server as fast as it answers, or at a rate, and says what it takes.

mod target;
mod text;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use net::client::{Ask, echo, http};
use net::load::{Level, Load, Plan, Progress, Schedule, Settings, Sources};
use signal_hook::consts::{SIGINT, SIGTERM};

use self::target::Target;
use super::{Done, warn};
use crate::console::{Console, tell};
use crate::failure::{Failure, INTERRUPTED};

const EXAMPLES: &str = "\
Examples:
  osdyno load http://127.0.0.1:8080/index.html           50 connections for 10 s, as fast as they are answered
  osdyno load -c 200 -d 30s http://127.0.0.1:8080/       200 connections, 30 s
  osdyno load -r 5000 http://127.0.0.1:8080/             5000 requests a second, whatever the server does
  osdyno load --levels 1,10,100,1000 http://[::1]:8080/  one after the other
  osdyno load --client busy 127.0.0.1:2525               a new connection each, answered with 450 and a close";

/// Load a server: as fast as it answers, or at a rate that is fixed in advance
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// http://host:port/path, or host:port with --client busy or echo
    #[arg(value_name = "URL|ADDR")]
    target: String,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 50)]
    connections: usize,
    /// How long to measure
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = humantime::parse_duration)]
    duration: Duration,
    /// Stop after so many requests, if that comes first
    #[arg(short = 'n', long, value_name = "N")]
    requests: Option<u64>,
    /// Requests a second, at times fixed in advance; latency counts from these. As fast as answered if left out
    #[arg(short, long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<f64>,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("a rate is a number above 0".to_owned()),
    }
}

pub(crate) fn load(args: &Args, console: &Console) -> Done {
    let target = Target::parse(&args.target, false)?;
    let ask = Ask::Http(http::Settings {
        host: target.host.clone(),
        paths: vec![target.path.clone().unwrap_or_default()],
        ..http::Settings::default()
    });
    let settings = Settings::new(target.address, ask);
    let load = Load {
        connections: args.connections,
        rate: args.rate,
        duration: args.duration,
        requests: args.requests,
        ..Load::default()
    };
    let plan = Plan { settings: settings.clone(), loads: vec![load] };
    let levels =
        net::load::drive(&plan, &mut net::load::unwatched).map_err(|e| Failure::Refused(e.to_string()))?;
    let mut out = BufWriter::new(io::stdout().lock());
    for level in &levels {
        text::write_level(level, &settings, &mut out)?;
    }
    out.flush()?;
    let _ = console;
    Ok(ExitCode::SUCCESS)
}
