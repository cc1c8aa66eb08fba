//! Time to copy a file of n MiB from a server, by each protocol that serves files.
//!
//! **Question.** How long does a user wait for a file that is on a server, for each MiB, and for which part:
//! connecting, authenticating, opening, transferring, closing?
//!
//! **Method.** A server on this machine has a file of n MiB of random content, in memory. Until the window of
//! time ends, and at least once, a client connects to it on loopback, copies the file to a new file in the
//! scratch folder, and closes the connection. `total` is all of it, as a user waits for a copy. `receive` and
//! `write` are the parts of `transfer`: taking the content from the connection, and write(2). Before each
//! copy the disk has nothing left to write, and the last copy is compared with the file of the server. Server
//! and client are pinned to different processors if there are two.
//!
//! `http` is osdyno's own server with the architecture `epoll`, or the one that `--set arch=NAME` chooses.
//! `open` is from the request to the head of the response. `--server ADDRESS=COMMAND` starts it elsewhere.
//!
//! `smb` is a private smbd of this system (Samba), with folders and a user of its own; the fact
//! `software.smbd` has its version. `connect` includes the agreement on SMB 3.1.1, and `authenticate` is the
//! proof of the user (NTLMv2) and the access to the share. Four requests of 1 MiB are under way at once.
//! `--set protection=signatures` or `encryption` protects messages, with AES-128-GMAC or AES-128-GCM; by
//! default, as with most clients, they are not protected.
//!
//! `sftp` is a private sshd of this system (OpenSSH), with keys of its own, and SFTP version 3 through the
//! system's `ssh`, as sftp(1) uses it; the fact `software.ssh` has their version. `connect` includes the
//! start of `ssh` and the agreement on keys, `authenticate` the proof of the user by a key and the start of
//! the service, and `close` the end of `ssh`, which reports its steps and is timed by that. 64 requests of
//! 32 KiB are under way at once. Everything is encrypted with `--set cipher=NAME`.
//!
//! There is no `nfs`: its client is a part of the kernel, which mounts a file system. Mount one, and `copy`
//! and the other jobs measure it with `--files DIR`.
//!
//! **Expected answer.** Flat for each MiB once a file is so large that connecting costs little beside it.

#[cfg(unix)]
mod http;
#[cfg(unix)]
mod measure;
#[cfg(unix)]
mod sftp;
#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod smb;

use sys::limit::DESCRIPTORS_RESERVED;
use workload::resource::{DESCRIPTORS, DISK, MEMORY};
use workload::{Expect, Need, Operation, Setting, Sizes, Values, Variant, Workload, architectures, levels};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "network-copy",
    source: workload::page!("mod.rs"),
    grows: "MiB",
    sizes: Sizes::Levels(levels::one_two_five),
    server: true,
    variants: &[
        Variant { name: "http", summary: "HTTP/1.1, from osdyno's own server" },
        Variant { name: "smb", summary: "SMB 3.1.1, from a private smbd of this system" },
        Variant { name: "sftp", summary: "SFTP 3 over SSH, from a private sshd of this system" },
    ],
    rivals: true,
    settings: &[
        Setting {
            name: "arch",
            default: "epoll",
            values: Values::OneOf(architectures::NAMES),
            summary: "architecture of the server of `http`",
        },
        Setting {
            name: "protection",
            default: "none",
            values: Values::OneOf(&["none", "signatures", "encryption"]),
            summary: "the protection of messages by `smb`",
        },
        Setting {
            name: "cipher",
            default: "chacha20-poly1305",
            values: Values::OneOf(&["chacha20-poly1305", "aes128-gcm", "aes256-gcm"]),
            summary: "the cipher of `sftp`",
        },
    ],
    operations: &[
        Operation::phase("total", Expect::Constant, "all phases together, for each MiB"),
        Operation::phase("connect", Expect::Constant, "connecting, for each copy").of_all(),
        Operation::phase("authenticate", Expect::Constant, "the proof of the user, for each copy")
            .only(&["smb", "sftp"])
            .of_all(),
        Operation::phase(
            "open",
            Expect::Constant,
            "opening the file at the server, and the new file, for each copy",
        )
        .of_all(),
        Operation::phase("transfer", Expect::Constant, "the copying itself, for each MiB"),
        Operation::phase("receive", Expect::Constant, "taking the content from the connection, for each MiB")
            .of_unit(),
        Operation::phase("write", Expect::Constant, "all write(2), for each MiB").of_unit(),
        Operation::phase("close", Expect::Constant, "closing the file, the connection and the new file")
            .of_all(),
    ],
    // The files of all levels, together less than twice the largest; and the copy.
    needs: &[Need::new(MEMORY, 3 << 20), Need::new(DISK, 3 << 20)],
    fixed_needs: &[Need::new(DESCRIPTORS, DESCRIPTORS_OF_SMBD).only_in(&["smb"])],
    top: Some(100),
    classic_n: 50,
    run: cfg_select! {
        unix => { Ok(measure::run) }
        _ => { Err("its servers send files below a folder, which are not served on this system") }
    },
    ..Workload::JOB
};

/// Descriptors without which smbd aborts, beside those that a trial leaves for itself: Samba 4.17 does where
/// the limit is 128, and does not where it is 256.
const DESCRIPTORS_OF_SMBD: u64 = 256 - DESCRIPTORS_RESERVED;
