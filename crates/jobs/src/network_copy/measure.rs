//! One copy after the other, phase by phase, and the proof of the last one.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use sys::file;
use workload::server::web_folder;
use workload::{Trial, TrialError};

use super::client::{Client, Server};
use super::http::Http;
use super::openssh::OpenSsh;
use crate::calls::Calls;
use crate::content::Content;
use crate::instance::fresh_folder;

const MIB: usize = 1 << 20;

/// The phases of a copy that are timed, where the protocol has them.
const PHASES: [&str; 7] = ["connect", "authenticate", "open", "transfer", "receive", "write", "close"];

const CLAIM: &str = "the copy was equal to the file of the server";

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let (served, folder) = (web_folder(trial), trial.scratch().join("network-copy"));
    let measured = measure(trial, &served, &folder);
    // The error is that of the trial.
    let _ = (fs::remove_dir_all(&served), fs::remove_dir_all(&folder));
    measured
}

fn measure(trial: &mut Trial<'_>, served: &Path, folder: &Path) -> Result<(), TrialError> {
    let attempted = || format!("to write the files of the server in {}", served.display());
    prepare(served, folder, &trial.levels(), trial.seed()).map_err(TrialError::at(attempted()))?;
    let mut server = start(trial, served, folder)?;
    let (window, clock, seed) = (trial.window(), trial.clock(), trial.seed());
    trial.job(|mib, job| {
        job.level().doing("copy");
        let mut copying = Copying::prepare(&*server, folder, mib, Calls::new(clock, &PHASES)?)?;
        let begun = Instant::now();
        loop {
            copying.once().map_err(|error| server.cause(error))?;
            if begun.elapsed() >= window {
                break;
            }
        }
        let calls = &copying.calls;
        calls.report(job);
        let for_each_copy = ["connect", "authenticate", "open", "close"].map(|name| calls.mean_seconds(name));
        let for_each_copy: f64 = for_each_copy.into_iter().filter(|seconds| seconds.is_finite()).sum();
        job.value("total", calls.mean_seconds("transfer") + for_each_copy / mib as f64);
        let held = is_whole(&copying.path, mib, seed)?;
        job.level().check(CLAIM, held);
        Ok(())
    })?;
    server.stop(trial)
}

fn start(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<Box<dyn Server>, TrialError> {
    match trial.variant() {
        "smb" => smb(trial, served, folder),
        "sftp" => Ok(Box::new(OpenSsh::start(trial, served, folder)?)),
        _ => Ok(Box::new(Http::start(trial)?)),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn smb(trial: &Trial<'_>, served: &Path, folder: &Path) -> Result<Box<dyn Server>, TrialError> {
    Ok(Box::new(super::samba::Samba::start(trial, served, folder)?))
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn smb(_: &Trial<'_>, _: &Path, _: &Path) -> Result<Box<dyn Server>, TrialError> {
    let reason = sys::Unsupported("the client's cryptography is written for x86_64 and aarch64 only");
    Err(TrialError::at("to copy with SMB")(reason.into()))
}

/// The name of the file at a level.
fn name(mib: u64) -> String {
    format!("{mib}.bin")
}

/// Writes the files of all levels: they are sent to a server on another machine when it starts.
fn prepare(served: &Path, folder: &Path, levels: &[u64], seed: u64) -> io::Result<()> {
    fresh_folder(served)?;
    fresh_folder(folder)?;
    let mut content = Content::new(seed, MIB);
    for &mib in levels {
        let mut file = File::create_new(served.join(name(mib)))?;
        (0..mib).try_for_each(|number| file.write_all(content.bytes(number, MIB)))?;
    }
    Ok(())
}

/// The copies of one file.
struct Copying<'a> {
    client: Box<dyn Client>,
    calls: Calls<'a>,
    folder: &'a Path,
    path: PathBuf,
    target: file::Path,
    mib: u64,
}

impl<'a> Copying<'a> {
    fn prepare(server: &dyn Server, folder: &'a Path, mib: u64, calls: Calls<'a>) -> io::Result<Copying<'a>> {
        let path = folder.join("copy");
        let target = file::Path::try_from(path.as_path())?;
        Ok(Copying { client: server.client()?, calls, folder, path, target, mib })
    }

    fn once(&mut self) -> io::Result<()> {
        match file::unlink(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => file::write_back(self.folder)?,
        }
        self.calls.begin();
        self.client.connect()?;
        self.calls.end("connect");
        if self.client.authenticate()? {
            self.calls.end("authenticate");
        }
        self.client.open(&name(self.mib))?;
        let target = file::create_new(&self.target)?;
        self.calls.end("open");
        self.transfer(&target)?;
        self.calls.begin();
        self.client.close()?;
        file::close(target)?;
        self.calls.end("close");
        Ok(())
    }

    fn transfer(&mut self, mut target: &File) -> io::Result<()> {
        let begun = self.calls.now();
        let (mut receiving, mut writing) = (0, 0);
        loop {
            let begun = self.calls.now();
            let piece = self.client.receive()?;
            let between = self.calls.now();
            target.write_all(piece)?;
            writing += self.calls.now() - between;
            receiving += between - begun;
            if piece.is_empty() {
                break;
            }
        }
        self.calls.add("transfer", self.calls.now() - begun, self.mib);
        self.calls.add("receive", receiving, self.mib);
        self.calls.add("write", writing, self.mib);
        Ok(())
    }
}

/// Whether the copy equals the file of the server, to its end.
fn is_whole(copy: &Path, mib: u64, seed: u64) -> io::Result<bool> {
    let (mut copy, mut content) = (File::open(copy)?, Content::new(seed, MIB));
    if copy.metadata()?.len() != mib * MIB as u64 {
        return Ok(false);
    }
    for number in 0..mib {
        copy.read_exact(content.buffer())?;
        if content.verify(number, MIB).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
