//! The attributes of an event: `struct perf_event_attr` of linux/perf_event.h, as far as Linux 4.8 has it.

use std::time::Duration;

use super::CounterKind;

/// The fields of a sample, in their order.
pub(super) const SAMPLE: u64 = SAMPLE_THREAD | SAMPLE_TIME | SAMPLE_READ | SAMPLE_CALLCHAIN;
const SAMPLE_THREAD: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_READ: u64 = 1 << 4;
const SAMPLE_CALLCHAIN: u64 = 1 << 5;

/// A value for each member of the group.
const READ_GROUP: u64 = 1 << 3;

const SOFTWARE: u32 = 1;
/// Time on a processor, by a timer of high resolution.
const CPU_CLOCK: u64 = 0;

const DISABLED: u64 = 1;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Records of executed programs, distinguished from mere changes of a thread's name.
const COMMANDS: u64 = 1 << 9 | 1 << 24;
/// Records of mappings whose code may be executed, each with its file (`mmap` and `mmap2`).
const MAPPINGS: u64 = 1 << 8 | 1 << 23;
/// Records of forks and ends.
const TASKS: u64 = 1 << 13;
/// All records end with thread and time, as samples begin with them.
const TIMED: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;

/// The layout of the kernel; fields without a name are zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    event: u64,
    period: u64,
    sample: u64,
    read: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    more_event: [u64; 2],
    branches: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    registers: u64,
    auxiliary_watermark: u32,
    stack_frames: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112, "PERF_ATTR_SIZE_VER5");

impl Attributes {
    /// Samples of stacks, one for each period that the thread was on a processor.
    pub(super) fn of_samples(period: Duration) -> Attributes {
        Attributes {
            kind: SOFTWARE,
            event: CPU_CLOCK,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            sample: SAMPLE,
            flags: DISABLED | EXCLUDE_HYPERVISOR | USE_CLOCK,
            ..Attributes::counting()
        }
    }

    /// The same for a processor, whatever runs there, with records that identify the process.
    pub(super) fn of_processor(period: Duration) -> Attributes {
        let samples = Attributes::of_samples(period);
        Attributes { flags: samples.flags | EXCLUDE_IDLE | COMMANDS | MAPPINGS | TASKS | TIMED, ..samples }
    }

    /// A counter that is read with each sample. All events of a group have the same clock.
    pub(super) fn of_counter(counter: &CounterKind) -> Attributes {
        Attributes {
            kind: counter.kind,
            event: counter.event,
            flags: EXCLUDE_HYPERVISOR | USE_CLOCK,
            ..Attributes::counting()
        }
    }

    fn counting() -> Attributes {
        Attributes {
            size: size_of::<Attributes>() as u32,
            read: READ_GROUP,
            clock: libc::CLOCK_MONOTONIC_RAW,
            ..Attributes::default()
        }
    }
}
