//! Time of cryptographic operations in n threads at once.
//!
//! **Question.** How long do signatures, key agreement, sealing and digests take, which are what TLS, SSH and
//! package managers compute? Do they slow each other down with more threads, and how much do they owe to the
//! instructions of the processor, or to the library?
//!
//! **Method.** For each operation, n threads repeat it through an equal part of the window of time; the value
//! is the mean time of one, and the record has the distribution. `seal` and digests take 16 KiB, a record of
//! TLS. Every signature has a context of its own, as in a program that makes one. Before the time is taken,
//! each operation is proved: a signature verifies, that of a changed text does not, and digests are those of
//! FIPS 180-4. `total` is the sum of one of each, without DSA, and `processor` the processor time of the
//! same. The threads use all processors. Keys are new in each trial; `--set rsa=BITS` (2048) is their length
//! for RSA.
//!
//! `embedded` is the library graviola, the same code on each system; it needs AVX2 and ADX on x86-64.
//! `openssl` is libcrypto of this system, and the fact `software.openssl` has its version. The variants after
//! it take instructions away from it: `openssl-avx2` AVX-512, `openssl-sse4` all from AVX on, `openssl-sse2`
//! all that not every x86-64 has. DSA exists in `openssl` only: no newer library signs with it (FIPS 186-5
//! withdrew it).
//!
//! **Expected answer.** Flat up to one thread for each processor. `seal-aes-gcm` needs more than ten times as
//! long where the instructions for AES are missing.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod embedded;
#[cfg(unix)]
mod openssl;

use std::io;
use std::time::{Duration, Instant};

use sys::clock::Clock;
use workload::resource::{MEMORY, PROCESSORS, THREADS};
use workload::{
    Expect, Need, Operation, Setting, Sizes, Trial, TrialError, Values, Variant, Workload, levels,
};

use crate::work::{Calls, Refused, at_once};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "crypto",
    source: workload::page!("mod.rs"),
    grows: "threads",
    sizes: Sizes::Levels(levels::one_two_five),
    all_processors: true,
    variants: &[
        Variant { name: "embedded", summary: "graviola, a part of osdyno" },
        Variant { name: "openssl", summary: "libcrypto of this system, all instructions of the processor" },
        Variant { name: "openssl-avx2", summary: "the same without AVX-512" },
        Variant { name: "openssl-sse4", summary: "the same with SSE4.2 and AES, without AVX, BMI and SHA" },
        Variant { name: "openssl-sse2", summary: "the same with SSE2 only" },
    ],
    rivals: true,
    settings: &[Setting {
        name: "rsa",
        default: "2048",
        values: Values::OneOf(&["2048", "3072", "4096"]),
        summary: "bits of the keys for RSA",
    }],
    operations: &[
        Operation::phase("total", Expect::Constant, "one of each operation, without DSA"),
        Operation::phase("processor", Expect::Constant, "the processor time of the same"),
        Operation::phase("rsa-sign", Expect::Constant, "one signature of RSA, PKCS #1 with SHA-256"),
        Operation::phase("rsa-verify", Expect::Constant, "verifying one of them"),
        Operation::phase("ecdsa-sign", Expect::Constant, "one signature of ECDSA, P-256 with SHA-256"),
        Operation::phase("ecdsa-verify", Expect::Constant, "verifying one of them"),
        Operation::phase("eddsa-sign", Expect::Constant, "one signature of Ed25519"),
        Operation::phase("eddsa-verify", Expect::Constant, "verifying one of them"),
        Operation::phase("dsa-sign", Expect::Constant, "one signature of DSA, 2048 bits with SHA-256")
            .only(OPENSSL),
        Operation::phase("dsa-verify", Expect::Constant, "verifying one of them").only(OPENSSL),
        Operation::phase("x25519", Expect::Constant, "agreeing on one secret"),
        Operation::phase("seal-aes-gcm", Expect::Constant, "sealing 16 KiB with AES-256-GCM"),
        Operation::phase("seal-chacha20", Expect::Constant, "sealing 16 KiB with ChaCha20-Poly1305"),
        Operation::phase("sha256", Expect::Constant, "SHA-256 of 16 KiB"),
        Operation::phase("sha512", Expect::Constant, "SHA-512 of 16 KiB"),
    ],
    needs: &[Need::new(THREADS, 1), Need::new(MEMORY, 2 << 20), Need::new(PROCESSORS, 1)],
    classic_n: 1,
    run: Ok(run),
    ..Workload::JOB
};

const OPENSSL: &[&str] = &["openssl", "openssl-avx2", "openssl-sse4", "openssl-sse2"];

/// Values that are computed from several operations.
const SUMS: [&str; 2] = ["total", "processor"];

const CLAIM_PROVED: &str = "each operation gave the right result";
const CLAIM_INSTRUCTIONS: &str = "the library read which instructions it may use";

fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let bits = trial.number("rsa")?;
    let variant = trial.variant();
    let failed = TrialError::at(format!("to prepare {variant}"));
    if variant == "embedded" {
        cfg_select! {
            any(target_arch = "x86_64", target_arch = "aarch64") => {
                let library = embedded::Embedded::new(bits).map_err(failed)?;
                return measure(trial, &library, true);
            }
            _ => {
                let missing = sys::Unsupported("graviola is written for x86-64 and aarch64 only");
                return Err(failed(missing.into()));
            }
        }
    }
    cfg_select! {
        unix => {
            let loaded = openssl::load(variant).map_err(failed)?;
            let failed = TrialError::at("to make the keys");
            let library = openssl::OpenSsl::new(&loaded, bits).map_err(failed)?;
            measure(trial, &library, loaded.uses_chosen_instructions())
        }
        _ => { Err(failed(sys::Unsupported("this system has no libcrypto of its own").into())) }
    }
}

fn measure(trial: &mut Trial<'_>, library: &dyn Library, is_as_chosen: bool) -> Result<(), TrialError> {
    let (window, clock, variant) = (trial.window(), trial.clock(), trial.variant());
    let of_library = WORKLOAD.measured().filter(|operation| !SUMS.contains(&operation.name));
    let operations: Vec<&'static str> =
        of_library.filter(|operation| operation.is_of(variant)).map(|operation| operation.name).collect();
    let part = window / operations.len().max(1) as u32;
    trial.job(|threads, job| {
        let (mut total, mut processor) = (0.0, 0.0);
        for &operation in &operations {
            job.level().doing(operation);
            let calls = repeat(library, operation, threads, part, clock)?;
            calls.calls.report(job);
            if !operation.starts_with("dsa-") {
                total += calls.calls.mean_seconds(operation);
                processor += calls.processor_seconds;
            }
        }
        job.value("total", total);
        job.value("processor", processor);
        // A failure has ended the level as an error.
        job.level().check(CLAIM_PROVED, true);
        job.level().check(CLAIM_INSTRUCTIONS, is_as_chosen);
        Ok(())
    })
}

/// The counts of all threads together.
struct Repeated<'a> {
    calls: Calls<'a>,
    /// The processor time of one operation.
    processor_seconds: f64,
}

/// One of those that repeat an operation at once.
struct Thread<'a> {
    calls: Calls<'a>,
    repeat: Repeat<'a>,
    count: u64,
    processor_ns: u64,
}

fn repeat<'a>(
    library: &'a dyn Library,
    operation: &'static str,
    threads: u64,
    part: Duration,
    clock: &'a Clock,
) -> io::Result<Repeated<'a>> {
    let make = |_| -> io::Result<Thread<'a>> {
        let calls = Calls::new(clock, &[operation])?;
        Ok(Thread { calls, repeat: library.prepare(operation)?, count: 0, processor_ns: 0 })
    };
    let mut all = (0..threads).map(make).collect::<io::Result<Vec<_>>>()?;
    let deadline = Instant::now() + part;
    at_once(&mut all, |thread, is_stopped| thread.work(operation, deadline, is_stopped))
        .map_err(|refused| refused.error)?;
    let mut calls = Calls::new(clock, &[operation])?;
    all.iter().for_each(|thread| calls.add_all(&thread.calls));
    let (count, processor_ns) =
        all.iter().fold((0, 0), |sum, thread| (sum.0 + thread.count, sum.1 + thread.processor_ns));
    Ok(Repeated { calls, processor_seconds: processor_ns as f64 / count as f64 * 1e-9 })
}

impl Thread<'_> {
    /// Repeats the operation until the deadline; once at least, and once before the time is taken.
    fn work(
        &mut self,
        operation: &'static str,
        deadline: Instant,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), Refused> {
        (self.repeat)().map_err(Refused::at(operation))?;
        let begun_ns = sys::thread::cpu_ns().map_err(Refused::at(operation))?;
        loop {
            self.calls.begin();
            (self.repeat)().map_err(Refused::at(operation))?;
            self.calls.end(operation);
            self.count += 1;
            if is_stopped() || Instant::now() >= deadline {
                break;
            }
        }
        self.processor_ns = sys::thread::cpu_ns().map_err(Refused::at(operation))? - begun_ns;
        Ok(())
    }
}

/// The bytes that are sealed and digested at once.
const RECORD_BYTES: usize = 16 << 10;

/// The text that is signed, and another one.
const MESSAGE: &[u8; 32] = b"osdyno signs these 32 bytes here";
const OTHER_MESSAGE: &[u8] = b"another message";

/// One operation, ready to be repeated by one thread.
type Repeat<'a> = Box<dyn FnMut() -> io::Result<()> + Send + 'a>;

trait Library: Sync {
    /// The operation of that name for one thread, after a proof that its result is right.
    ///
    /// # Errors
    /// The library's reason; `InvalidData` where a proof failed.
    fn prepare(&self, operation: &str) -> io::Result<Repeat<'_>>;
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} gave a wrong result"))
}

fn proved(what: &str, holds: bool) -> io::Result<()> {
    if holds { Ok(()) } else { Err(wrong(what)) }
}

/// Whether these are the digests of "abc": FIPS 180-4, examples of NIST.
fn is_digest_of_abc(digest: &[u8]) -> bool {
    match digest.len() {
        32 => digest.starts_with(&[0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]),
        64 => digest.starts_with(&[0xdd, 0xaf, 0x35, 0xa1, 0x93, 0x61, 0x7a, 0xba]),
        _ => false,
    }
}

/// As in a protocol: a nonce counts records.
fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce
}
