//! smtp-source of Postfix, and swaks, as clients of our sink.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::private::unpacked;
use super::sink;
use crate::common::accounts::{ledger, lines};
use crate::common::foreign::run_within;

/// A script of `cargo xtask mail-servers`; `None` with the reason printed.
fn client(name: &str) -> Option<PathBuf> {
    let program = unpacked("bin")?.join(name);
    // It takes root or a namespace of users.
    let mounts = Command::new("unshare").args(["--mount", "--map-root-user", "true"]).status();
    if !mounts.is_ok_and(|status| status.success()) {
        skipped!("{name} needs the right to mount, as root or in a namespace of users");
        return None;
    }
    Some(program)
}

const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn the_ledger_has_what_smtp_source_sent() {
    const MESSAGES: usize = 100;
    let Some(program) = client("smtp-source") else { return };
    for mode in [&[][..], &["-d"], &["-d", "-l", "100000"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let sink = sink(folder.path());
        let mut command = Command::new(&program);
        // A number before the local part makes each recipient another.
        command.args(["-s", "5", "-m", &MESSAGES.to_string(), "-r", "2", "-N", "-t", "u@d.test"]).args(mode);
        let said = run_within(LIMIT, command.arg(sink.address.to_string()));
        assert_eq!(said.code, Some(0), "{mode:?}: {}", said.all);
        let counted = sink.stop().count("recipients");
        let path = folder.path().join("ledger");
        let taken = ledger(&path, "message", 250);
        assert_eq!(counted as usize, lines(&path).len(), "{mode:?}");
        assert_eq!(taken.values().sum::<usize>(), 2 * MESSAGES, "{mode:?}: {taken:?}");
        assert_eq!(taken.len(), 2 * MESSAGES, "{mode:?}: {taken:?}");
    }
}

#[test]
fn the_ledger_has_what_swaks_was_told() {
    let Some(program) = client("swaks") else { return };
    let recipients = ["a@b.test", "450@c.test", "551-gone@d.test", "e@f.test", "tempfail@g.test"];
    for mode in [&[][..], &["--pipeline"], &["--tls"], &["--tls", "--pipeline"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let sink = sink(folder.path());
        let mut command = Command::new(&program);
        command.args(["--server", "127.0.0.1", "--port", &sink.address.port().to_string()]);
        command.args(["--helo", "swaks.test", "--from", "x@y.test", "--to", &recipients.join(",")]);
        command.args(["--body", "one\n.two\n..\n"]).args(mode).env("LC_ALL", "C");
        let said = run_within(LIMIT, &mut command);
        assert_eq!(said.code, Some(0), "{mode:?}: {}", said.all);
        sink.stop();
        let path = folder.path().join("ledger");
        let in_ledger: BTreeMap<String, u64> = lines(&path)
            .iter()
            .map(|line| {
                let recipient = line["recipient"].as_str().expect("an address").to_owned();
                (recipient, line["code"].as_u64().expect("a code"))
            })
            .collect();
        let told: BTreeMap<String, u64> =
            recipients.iter().map(|&recipient| recipient.to_owned()).zip(told_codes(&said.all)).collect();
        assert_eq!(told.len(), recipients.len(), "{mode:?}: {}", said.all);
        assert_eq!(in_ledger, told, "{mode:?}: {}", said.all);
        assert_eq!(ledger(&path, "message", 250).len(), 2, "{mode:?}");
    }
}

/// The codes of the replies to RCPT in what swaks prints, in their order: replies are marked by `<`, and
/// those of TLS by `~`.
fn told_codes(transcript: &str) -> Vec<u64> {
    let replies = transcript.lines().filter(|line| line.starts_with('<'));
    let of_rcpt = replies.filter(|line| line.contains("recipient ok") || line.contains("as it was asked"));
    of_rcpt.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}
