//! Databases of the user's: `--set url=` and `--set password-file=`, against real servers with a password.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{expect_nothing_left, run, start_measuring, text};
use record::Outcome;
use sys::process::{confine, find_program, quit};

/// No command line, no record and no log of a server may have it.
const PASSWORD: &str = "four-words-and-7";

const START: Duration = Duration::from_secs(120);

/// What a server has: its schemas and tables, and the rows of the user's.
const CONTENT: &str = "select table_schema, table_name from information_schema.tables \
                       union all select schema_name, '' from information_schema.schemata \
                       union all select 'row', word from mine.kept order by 1, 2";

/// What differs between the servers.
struct Kind {
    variant: &'static str,
    scheme: &'static str,
    other_scheme: &'static str,
    database: &'static str,
    /// How statements begin that make and remove a schema.
    statements: [&'static str; 2],
}

const POSTGRESQL: Kind = Kind {
    variant: "postgresql",
    scheme: "postgresql",
    other_scheme: "mysql",
    database: "postgres",
    statements: ["create schema osdyno_", "drop schema osdyno_"],
};

const MARIADB: Kind = Kind {
    variant: "mariadb",
    scheme: "mariadb",
    other_scheme: "postgres",
    database: "mine",
    statements: ["create database osdyno_", "drop database osdyno_"],
};

/// A server of its own on loopback, with a user `osd` and a table `mine.kept`.
struct Server {
    folder: tempfile::TempDir,
    child: Child,
    port: u16,
    kind: &'static Kind,
    client: fn(&Server) -> Command,
}

impl Server {
    /// Starts it; a port that another program took meanwhile is not the last.
    fn start(
        folder: tempfile::TempDir,
        kind: &'static Kind,
        command: impl Fn(&Path, u16) -> Command,
        client: fn(&Server) -> Command,
    ) -> Server {
        let (mut folder, mut log) = (folder, String::new());
        for _ in 0..5 {
            // Below those that the system gives to clients.
            let port = fastrand::u16(15_000..32_000);
            let output = fs::File::create(folder.path().join("log")).expect("a log");
            let mut command = command(folder.path(), port);
            confine(&mut command).expect("a user");
            command.stdin(Stdio::null()).stdout(output.try_clone().expect("a log")).stderr(output);
            let child = command.spawn().expect("the server starts");
            let mut server = Server { folder, child, port, kind, client };
            if server.serves() {
                server.ask("create schema mine");
                server.ask("create table mine.kept (word varchar(9))");
                server.ask("insert into mine.kept values ('mine')");
                return server;
            }
            log = server.log();
            folder = std::mem::replace(&mut server.folder, tempfile::tempdir().expect("a folder"));
        }
        panic!("the server does not start: {log}");
    }

    fn serves(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < START && matches!(self.child.try_wait(), Ok(None)) {
            if (self.client)(self).arg("select 1").output().is_ok_and(|output| output.status.success()) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// What it logged; MariaDB has a file of its own for statements.
    fn log(&self) -> String {
        let files = ["log", "statements"].map(|name| self.folder.path().join(name));
        files.iter().map(|path| text(&fs::read(path).unwrap_or_default())).collect()
    }

    /// What a client of the server's own prints.
    fn ask(&self, statement: &str) -> String {
        let output = (self.client)(self).arg(statement).output().expect("a client");
        assert!(output.status.success(), "{statement}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    fn url(&self, scheme: &str) -> String {
        format!("--set=url={scheme}://osd@127.0.0.1:{}/{}", self.port, self.kind.database)
    }

    fn password_file(&self, name: &str) -> String {
        format!("--set=password-file={}", self.folder.path().join(name).display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = quit(self.child.id());
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a file that only its owner may read.
fn secret(path: PathBuf, content: &str) -> PathBuf {
    fs::write(&path, content).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
    path
}

/// Executes a command that prepares a server.
fn prepare(command: &mut Command) {
    confine(command).expect("a user");
    let output = command.stdin(Stdio::null()).output().expect("a program");
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
}

/// `None` where this machine lacks a program.
fn postgresql() -> Option<Server> {
    let (program, _) = (find_program("postgres")?, find_program("psql")?);
    let folder = tempfile::tempdir().expect("a folder");
    let password = secret(folder.path().join("password"), &format!("{PASSWORD}\n"));
    secret(folder.path().join("pgpass"), &format!("*:*:*:*:{PASSWORD}\n"));
    let mut initdb = Command::new(program.with_file_name("initdb"));
    initdb.args([
        "-A",
        "scram-sha-256",
        "-U",
        "osd",
        "--no-sync",
        "--encoding=UTF8",
        "--locale=C",
        "--pwfile",
    ]);
    prepare(initdb.arg(password).arg("-D").arg(folder.path().join("data")));
    let command = move |folder: &Path, port: u16| {
        let mut command = Command::new(&program);
        command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder).args(["-p", &port.to_string()]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "dynamic_shared_memory_type=mmap"]);
        command.args(["-c", "log_statement=ddl"]);
        command
    };
    let client = |server: &Server| {
        let mut client = Command::new(find_program("psql").expect("psql"));
        client.env("PGPASSFILE", server.folder.path().join("pgpass")).args(["-p", &server.port.to_string()]);
        client.args(["-h", "127.0.0.1", "-U", "osd", "-d", "postgres", "-w", "-q", "-A", "-t", "-c"]);
        client
    };
    Some(Server::start(folder, &POSTGRESQL, command, client))
}

/// `None` where this machine lacks a program.
fn mariadb() -> Option<Server> {
    let (program, install) = (find_program("mariadbd")?, find_program("mariadb-install-db")?);
    find_program("mariadb")?;
    let folder = tempfile::tempdir().expect("a folder");
    secret(folder.path().join("password"), &format!("{PASSWORD}\n"));
    secret(folder.path().join("options"), &format!("[client]\npassword={PASSWORD}\n"));
    let user = "osd@'127.0.0.1'";
    let users = format!("create user {user} identified by '{PASSWORD}';\ngrant all on *.* to {user};\n");
    secret(folder.path().join("users"), &users);
    let options = ["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"];
    let data = format!("--datadir={}", folder.path().join("data").display());
    prepare(Command::new(install).args(options).arg(data));
    let command = move |folder: &Path, port: u16| {
        let mut command = Command::new(&program);
        let path = |option: &str, name: &str| format!("--{option}={}", folder.join(name).display());
        command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve", "--general-log"]);
        command.args([path("datadir", "data"), path("socket", "socket"), path("pid-file", "pid")]);
        command.args([path("init-file", "users"), path("general-log-file", "statements")]);
        command.arg(format!("--port={port}"));
        command
    };
    let client = |server: &Server| {
        let mut client = Command::new(find_program("mariadb").expect("mariadb"));
        client.arg(format!("--defaults-extra-file={}", server.folder.path().join("options").display()));
        client.args(["-h", "127.0.0.1", "-P", &server.port.to_string(), "-u", "osd", "-N", "-e"]);
        client
    };
    Some(Server::start(folder, &MARIADB, command, client))
}

/// Whether the command line of any process has the password.
fn is_in_a_command_line() -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|line| text(&line).contains(PASSWORD))
}

/// Two levels, twice.
fn expect_a_run_that_leaves_nothing(server: &Server) {
    let folder = tempfile::tempdir().expect("a folder");
    let before = server.ask(CONTENT);
    assert!(before.contains("kept") && !before.contains("osdyno"), "{before}");
    let (name, url) = (format!("sql/{}", server.kind.variant), server.url(server.kind.scheme));
    let password = server.password_file("password");
    let mut arguments = vec!["run", &name, "-n2", "--trials=2", "--window=300ms", "--set=rows=1000"];
    arguments.extend([&*url, &password, "--out=a.osdyno"]);
    let mut child = start_measuring(folder.path(), &arguments);
    while child.try_wait().expect("a process").is_none() {
        assert!(!is_in_a_command_line(), "a process has the password in its command line");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.success(), "{}: {}", output.status, text(&output.stderr));

    let recording = record::read(folder.path().join("a.osdyno")).expect("the run file").0;
    for trial in &recording.trials {
        assert_eq!(trial.outcome, Outcome::Complete);
        assert!(
            !trial.checks.is_empty() && trial.checks.iter().all(|check| check.held),
            "{:?}",
            trial.checks
        );
    }
    // It was this server that was measured, and it has what it had.
    let (log, [made, removed]) = (server.log(), server.kind.statements);
    let trials = recording.trials.len();
    assert_eq!((trials, log.matches(made).count(), log.matches(removed).count()), (2, 2, 2), "{log}");
    assert_eq!(server.ask(CONTENT), before);

    let record = format!("{recording:?}");
    assert!(record.contains("osd@127.0.0.1"), "{record}");
    let mut told = vec![record, text(&output.stdout), text(&output.stderr)];
    let files = fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path());
    told.extend(files.filter(|path| path.is_file()).map(|path| text(&fs::read(path).expect("a file"))));
    assert!(told.len() > 3 && told.iter().all(|text| !text.contains(PASSWORD)), "the password was written");
    expect_nothing_left(folder.path());
}

/// How the one trial of a run ended.
fn outcome(server: &Server, url: &str, more: &[&str]) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let name = format!("sql/{}", server.kind.variant);
    let mut arguments = vec!["run", &name, "-n1", "--trials=1", "--set=rows=1000", "--out=a.osdyno", url];
    arguments.extend(more);
    let output = run(folder.path(), &arguments);
    assert!(!output.status.success(), "{}", text(&output.stdout));
    let mut trials = record::read(folder.path().join("a.osdyno")).expect("the run file").0.trials;
    assert_eq!(trials.len(), 1);
    expect_nothing_left(folder.path());
    trials.remove(0).outcome
}

fn expect_clear_words(server: &Server, wrong: &str, missing: &str) {
    let (before, url) = (server.ask(CONTENT), server.url(server.kind.scheme));
    let expect_failed = |more: &[&str], words: &str| match outcome(server, &url, more) {
        Outcome::Failed { reason } => {
            assert!(reason.contains(words) && reason.contains("osd@127.0.0.1"), "{words}: {reason}");
        }
        other => panic!("{words}: {other:?}"),
    };
    secret(server.folder.path().join("wrong"), "three-words\n");
    expect_failed(&[&server.password_file("wrong")], wrong);
    expect_failed(&[], missing);
    let open = secret(server.folder.path().join("open"), &format!("{PASSWORD}\n"));
    fs::set_permissions(open, fs::Permissions::from_mode(0o644)).expect("permissions");
    expect_failed(&[&server.password_file("open")], "others may read it; chmod 600");
    expect_failed(&[&server.password_file("none")], "No such file");
    let other = outcome(server, &server.url(server.kind.other_scheme), &[&server.password_file("password")]);
    assert!(
        matches!(&other, Outcome::Unsupported { reason } if reason.contains("another kind")),
        "{other:?}"
    );
    assert_eq!(server.ask(CONTENT), before);
}

#[test]
fn a_postgresql_of_the_users_is_measured_and_left_as_it_was() {
    let Some(server) = postgresql() else {
        return skipped!("PostgreSQL is not installed");
    };
    expect_a_run_that_leaves_nothing(&server);
    let wrong = "password authentication failed for user \"osd\"";
    expect_clear_words(&server, wrong, "--set password-file=FILE");
}

#[test]
fn a_mariadb_of_the_users_is_measured_and_left_as_it_was() {
    let Some(server) = mariadb() else {
        return skipped!("MariaDB is not installed");
    };
    expect_a_run_that_leaves_nothing(&server);
    let wrong = "Access denied for user 'osd'@'127.0.0.1' (using password: YES)";
    expect_clear_words(&server, wrong, "(using password: NO)");
}

#[test]
fn a_public_address_and_a_password_in_the_url_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |url: &str, code: i32| {
        let output = run(folder.path(), &["run", "sql", "-n1", "--trials=1", "--out=a.osdyno", url]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        assert!(!folder.path().join("a.osdyno").exists());
        text(&output.stderr)
    };
    let public = refused("--set=url=postgresql://osd@9.9.9.9/postgres", 2);
    assert!(public.contains("9.9.9.9") && public.contains("--allow-public"), "{public}");
    let known = refused("--set=url=mysql://osd:hush@127.0.0.1/mine", 1);
    assert!(known.contains("without a password") && !known.contains("hush"), "{known}");
}
