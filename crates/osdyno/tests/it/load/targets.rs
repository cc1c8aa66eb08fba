//! The server that a target names, and the requests to it.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use super::{json, server, server_of};
use crate::common::{osdyno, run, run_well, text};

/// 200 if the request is for the path and has the host of the server that sends it.
fn server_of_one_path() -> SocketAddr {
    server_of(|request, _| {
        let is_right = request.starts_with("GET /a/%C3%BC?b=http://c.test/ HTTP/1.1\r\nHost: 127.0.0.1:");
        let status = if is_right { "200 OK" } else { "400 Bad Request" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")
    })
    .0
}

#[test]
fn urls_are_read_as_people_type_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = server_of_one_path();
    for url in [
        format!("http://{address}/a/ü?b=http://c.test/"),
        format!("HTTP://{address}/a/ü?b=http://c.test/#part"),
        format!("{address}/a/./ü?b=http://c.test/"),
    ] {
        let out = run_well(folder.path(), &["load", "-n", "10", &url]);
        assert!(out.contains("none failed"), "{url}: {out}");
    }
    let (address, requests) = server();
    for url in [format!("http://{address}#part"), address.to_string()] {
        run_well(folder.path(), &["load", "-n", "10", &url]);
    }
    assert_eq!(requests.load(Ordering::SeqCst), 20);
}

/// A command that has two addresses for the name `pair.test`, as far as this machine permits that.
#[cfg(target_os = "linux")]
fn with_a_pair(folder: &std::path::Path, words: &[&str]) -> Option<std::process::Output> {
    std::fs::write(folder.join("hosts"), "::1 pair.test\n127.0.0.1 pair.test\n").expect("a file");
    let script = "mount --bind hosts /etc/hosts && exec \"$0\" \"$@\"";
    let program = osdyno(folder, &[]).get_program().to_owned();
    let mut command = std::process::Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(program).args(words);
    let probe = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", "mount --bind hosts /etc/hosts"])
        .current_dir(folder)
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        skipped!("names cannot have other addresses here");
        return None;
    }
    Some(command.current_dir(folder).output().expect("unshare starts"))
}

#[cfg(target_os = "linux")]
#[test]
fn the_first_address_of_a_name_that_accepts_is_taken_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, requests) = server();
    let url = format!("http://pair.test:{}/", address.port());
    let Some(output) = with_a_pair(folder.path(), &["load", "-n", "20", "-o", "a.json", &url]) else {
        return;
    };
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    let refused = format!("{address}, of pair.test; [::1]:{}: ECONNREFUSED", address.port());
    assert!(out.contains(&refused) && out.contains("20 correct"), "{out}");
    assert_eq!(requests.load(Ordering::SeqCst), 20);
    let file = json(&std::fs::read_to_string(folder.path().join("a.json")).expect("a file"));
    assert_eq!(file["resolved"]["address"], address.to_string());
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_of_which_no_address_accepts_is_refused_with_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(output) = with_a_pair(folder.path(), &["load", "-n", "20", "http://pair.test:9/"]) else {
        return;
    };
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for words in ["any address of pair.test", "[::1]:9: ECONNREFUSED", "127.0.0.1:9: ECONNREFUSED"] {
        assert!(told.contains(words), "{words}: {told}");
    }
}

/// In a network of its own a link-local address is known.
#[cfg(target_os = "linux")]
#[test]
fn a_link_local_address_is_reached_through_its_zone() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("page"), "page").expect("a file");
    let script = "ip link set lo up && ip -6 addr add fe80::9/64 dev lo nodad || exit 77\n\
        \"$0\" serve --listen '[::]:8080' . > /dev/null 2>&1 & server=$!\n\
        tries=0; until \"$0\" load -n 1 'http://[::1]:8080/page' > /dev/null || [ $tries = 100 ]; do\n\
        tries=$((tries + 1)); sleep 0.05; done\n\
        for zone in %lo %25lo %1 %251; do\n\
        \"$0\" load -c 1 -n 5 \"http://[fe80::9$zone]:8080/page\" || exit 1; done\n\
        kill $server";
    let program = osdyno(folder.path(), &[]).get_program().to_owned();
    let mut command = std::process::Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", script]).arg(program);
    let Ok(output) = command.current_dir(folder.path()).output() else {
        return skipped!("there is no unshare");
    };
    let (out, told) = (text(&output.stdout), text(&output.stderr));
    if output.status.code() == Some(77) || told.contains("unshare") {
        return skipped!("no network of its own: {told}");
    }
    assert!(output.status.success(), "{out}{told}");
    assert_eq!(out.matches("5 correct").count(), 4, "{out}");
    let unknown = run(folder.path(), &["load", "http://[fe80::9%nowhere]:8080/"]);
    assert!(text(&unknown.stderr).contains("no interface here"), "{}", text(&unknown.stderr));
}
