//! The engine and the service `smtp` with the mail servers and clients of others.
//!
//! The engine delivers to Postfix, Exim and OpenSMTPD, and each of them relays to our sink: the engine's
//! report of each recipient agrees with its end there, and the ledger of the sink has each that was
//! delivered. smtp-source and swaks deliver to our sink. All of them are as `cargo xtask mail-servers`
//! unpacks them.
#![cfg(target_os = "linux")]

mod clients;
mod exim;
mod opensmtpd;
mod postfix;
mod private;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use self::private::Private;
use crate::common::accounts::{ended_as, ledger, results};
use crate::common::osdyno;
use crate::common::served::Served;
use crate::common::until;

/// How the engine is told to deliver.
const MODES: [&[&str]; 3] = [
    &["-c", "3"],
    &["--tls", "required", "--per-transaction", "4", "-c", "5"],
    &["--per-connection", "1", "-c", "4"],
];

/// Recipients of each delivery that the server accepts.
const ACCEPTED: usize = 40;

/// A foreign server, by what it makes of the local parts of recipients.
struct Behaviour {
    /// Its code for local parts that begin with `no`.
    refusal: u64,
    /// Its code for local parts that begin with `later`; `None` where it cannot be told to put anyone off.
    put_off: Option<u64>,
}

/// Delivers to the server in all modes; it relays to the sink.
fn expect_agreement(folder: &Path, behaviour: &Behaviour, sink: Served, server: &Private) {
    let relay = server.address.to_string();
    let engine = |mode: &[&str], words: &[&str]| {
        let common = ["mail", "list", "--relay", &relay, "--attempts", "2", "--retry", "20ms", "--force"];
        let mut command = osdyno(folder, &common);
        let output = command.args(mode).args(words).args(["--results", "results"]).output();
        let output = output.expect("it runs");
        // Some recipients are refused in any case.
        assert_eq!(output.status.code(), Some(3), "{mode:?}: {output:?}\n{}", server.said());
        results(&folder.join("results"))
    };
    let mut delivered = BTreeSet::new();
    for (round, mode) in MODES.iter().enumerate() {
        let mut list = (0..ACCEPTED).map(|number| format!("u{number}r{round}@d{}.test\n", number % 7));
        let list = list.by_ref().collect::<String>() + "no1@d1.test\nno2@d9.test\n";
        let later = if behaviour.put_off.is_some() { "later1@d1.test\nlater2@d8.test\n" } else { "" };
        fs::write(folder.join("list"), list + later).expect("a list");

        let results = engine(&["--deliver"], mode);
        let round = ended_as(&results, "delivered", 250);
        assert_eq!(round.len(), ACCEPTED, "{mode:?}: {results:?}\n{}", server.said());
        let refused = ended_as(&results, "failed", behaviour.refusal);
        assert!(refused.iter().eq(["no1@d1.test", "no2@d9.test"]), "{mode:?}: {results:?}");
        if let Some(code) = behaviour.put_off {
            let queued = ended_as(&results, "queued", code);
            assert!(queued.iter().eq(["later1@d1.test", "later2@d8.test"]), "{mode:?}: {results:?}");
        }
        delivered.extend(round);
    }
    // Test mode gets the same replies and leaves nothing: what the sink has at the end is what was delivered.
    // No server here lets many more connections wait to be accepted.
    for mode in [&["--test", "-c", "4"][..], &["--pipeline", "--batch", "4", "-c", "4"]] {
        let results = engine(mode, &[]);
        assert_eq!(ended_as(&results, "tested", 250).len(), ACCEPTED, "{mode:?}: {}", server.said());
        assert_eq!(ended_as(&results, "failed", behaviour.refusal).len(), 2, "{mode:?}: {results:?}");
    }

    let path = folder.join("ledger");
    until("the server has relayed everything", || whole_lines(&path) >= delivered.len());
    sink.stop();
    let taken = ledger(&path, "message", 250);
    assert!(taken.values().all(|&times| times == 1), "each is taken once: {taken:?}");
    assert_eq!(taken.into_keys().collect::<BTreeSet<_>>(), delivered, "{}", server.said());
}

/// Lines that have their end.
fn whole_lines(path: &Path) -> usize {
    fs::read(path).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count())
}

/// Our sink, with a ledger.
fn sink(folder: &Path) -> Served {
    Served::start(folder, &["--service", "smtp", "--access-log", "ledger"])
}
