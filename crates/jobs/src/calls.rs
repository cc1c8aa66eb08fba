//! The calls of a job that are measured one by one: the mean of each, and its distribution.

use std::io;

use net::load::Times;
use sys::clock::Clock;
use workload::JobRecorder;
use workload::server::record_times;

/// The times of the calls of one job at one level, by the names of their operations.
#[derive(Debug)]
pub(crate) struct Calls<'a> {
    clock: &'a Clock,
    /// When the present call began.
    begun: u64,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    name: &'static str,
    ticks: u64,
    /// The object of a call: one file each, or a whole folder.
    units: u64,
    times: Times,
}

impl<'a> Calls<'a> {
    /// No calls yet, of these operations.
    pub(crate) fn new(clock: &'a Clock, names: &[&'static str]) -> io::Result<Calls<'a>> {
        let call = |&name: &&'static str| -> io::Result<Call> {
            let times = Times::new().map_err(io::Error::other)?;
            Ok(Call { name, ticks: 0, units: 0, times })
        };
        Ok(Calls { clock, begun: clock.now(), calls: names.iter().map(call).collect::<io::Result<_>>()? })
    }

    /// A call begins now: earlier work belongs to none.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.begun = self.clock.now();
    }

    /// A call ends, and the next one begins.
    #[inline]
    pub(crate) fn end(&mut self, name: &'static str) {
        self.end_of(name, 1);
    }

    /// A call ends that served this many units.
    #[inline]
    pub(crate) fn end_of(&mut self, name: &'static str, units: u64) {
        self.add(name, self.clock.now() - self.begun, units);
        self.begin();
    }

    /// A call took that long, or several did together, for this many units.
    #[inline]
    pub(crate) fn add(&mut self, name: &'static str, ticks: u64, units: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.name == name) {
            call.ticks += ticks;
            call.units += units;
            call.times.record((ticks as f64 * self.clock.seconds_per_tick() * 1e9) as u64);
        }
    }

    /// Adds all calls of another thread to those of the same name.
    pub(crate) fn add_all(&mut self, other: &Calls<'_>) {
        for call in &mut self.calls {
            for added in other.calls.iter().filter(|added| added.name == call.name) {
                call.ticks += added.ticks;
                call.units += added.units;
                call.times.add(&added.times);
            }
        }
    }

    /// The clock, in ticks.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The mean seconds for each unit; not a number where there was no call.
    pub(crate) fn mean_seconds(&self, name: &str) -> f64 {
        let mean = |call: &Call| call.ticks as f64 / call.units as f64 * self.clock.seconds_per_tick();
        self.calls.iter().find(|call| call.name == name).map_or(f64::NAN, mean)
    }

    /// Reports the means and records the distributions, of all calls that there were.
    pub(crate) fn report(&self, job: &mut JobRecorder<'_, '_>) {
        for call in self.calls.iter().filter(|call| call.units > 0) {
            job.value(call.name, self.mean_seconds(call.name));
            record_times(call.name, &call.times, job.level());
        }
    }
}
