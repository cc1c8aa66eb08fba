//! Waiting for one ready descriptor among n idle ones: `wait poll|epoll TRIAL N`.
//!
//! A known truth for `cargo xtask truths`: poll(2) looks at every descriptor it is given, epoll_wait(2) only
//! at those that are ready. Before each measurement one more idle eventfd is watched, untimed; the ready one
//! is watched from the beginning and stays ready. Prints `series,trial,n,value`, the value in nanoseconds a
//! call.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [series @ ("poll" | "epoll"), trial, n] => linux::measure(series, trial, n),
        _ => Err("usage: wait poll|epoll TRIAL N".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: epoll is there on Linux only");
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::fmt::Write as _;
    use std::os::fd::OwnedFd;

    use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
    use sys::clock::Clock;

    /// Calls of one measurement: one epoll_wait takes a dozen ticks of a clock of 10 ns.
    const CALLS: u32 = 10;

    /// At once: something is ready.
    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

    pub(super) fn measure(series: &str, trial: &str, n: &str) -> Result<(), Box<dyn Error>> {
        let (trial, n): (u32, usize) = (trial.parse()?, n.parse()?);
        sys::limit::raise_soft_to_hard()?;
        if let Some(cpu) = sys::cpu::preferred()?.first() {
            sys::cpu::pin(*cpu)?;
        }
        let ready = eventfd(1, EventfdFlags::NONBLOCK)?;
        let idle = (0..n).map(|_| eventfd(0, EventfdFlags::NONBLOCK)).collect::<Result<Vec<_>, _>>()?;
        let values = if series == "poll" { with_poll(&ready, &idle)? } else { with_epoll(&ready, &idle)? };
        let mut table = "series,trial,n,value\n".to_owned();
        for (index, nanoseconds) in values.iter().enumerate() {
            writeln!(table, "{series},{trial},{},{nanoseconds:.1}", index + 1)?;
        }
        print!("{table}");
        Ok(())
    }

    fn with_poll(ready: &OwnedFd, idle: &[OwnedFd]) -> Result<Vec<f64>, Box<dyn Error>> {
        let mut watched = Vec::with_capacity(idle.len() + 1);
        watched.push(PollFd::new(ready, PollFlags::IN));
        let clock = Clock::start();
        let mut values = Vec::with_capacity(idle.len());
        for descriptor in idle {
            watched.push(PollFd::new(descriptor, PollFlags::IN));
            let mut found = 0;
            let begun = clock.now();
            for _ in 0..CALLS {
                found += poll(&mut watched, Some(&AT_ONCE))?;
            }
            let ticks = clock.now() - begun;
            if found != CALLS as usize || watched[0].revents() != PollFlags::IN {
                return Err(format!("{CALLS} calls of poll found {found} ready").into());
            }
            values.push(nanoseconds(&clock, ticks));
        }
        Ok(values)
    }

    fn with_epoll(ready: &OwnedFd, idle: &[OwnedFd]) -> Result<Vec<f64>, Box<dyn Error>> {
        let instance = epoll::create(epoll::CreateFlags::empty())?;
        epoll::add(&instance, ready, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        let clock = Clock::start();
        let mut events = Vec::with_capacity(2 * CALLS as usize);
        let mut values = Vec::with_capacity(idle.len());
        for descriptor in idle {
            epoll::add(&instance, descriptor, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
            let begun = clock.now();
            for _ in 0..CALLS {
                epoll::wait(&instance, rustix::buffer::spare_capacity(&mut events), Some(&AT_ONCE))?;
            }
            let ticks = clock.now() - begun;
            if events.len() != CALLS as usize || events.iter().any(|event| { event.data }.u64() != 1) {
                return Err(format!("{CALLS} calls of epoll_wait found {} ready", events.len()).into());
            }
            events.clear();
            values.push(nanoseconds(&clock, ticks));
        }
        Ok(values)
    }

    fn nanoseconds(clock: &Clock, ticks: u64) -> f64 {
        ticks as f64 * clock.seconds_per_tick() * 1e9 / f64::from(CALLS)
    }
}
