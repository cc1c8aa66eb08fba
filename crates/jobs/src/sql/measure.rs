//! The phases of the workload: each client repeats one statement until its part of the time is over.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use sys::clock::Clock;
use workload::{JobRecorder, ServerUrl, Trial, TrialError};

use super::database::{Client, Database, Outcome, Server, Sqlite, Value};
use super::mariadb::MariaDb;
use super::password::Password;
use super::postgresql::PostgreSql;
use crate::instance::fresh_folder;
use crate::work::{Calls, Refused, at_once};

const KINDS: u64 = 100;
/// Rows of a range, of a transaction, and of a statement that inserts many.
const TOGETHER: u64 = 100;
/// Tables that one client creates in a level at most.
const TABLES_MAX: u64 = 20;
const NOTE_CHARACTERS: usize = 60;

const CLAIM_ROWS: &str = "each statement selected or changed the rows that it should";
const CLAIM_LEFT: &str = "the rows that were inserted and not deleted are left";

/// One statement of a phase, or one transaction: how many rows or statements it stands for. 0 ends the phase.
type Step = fn(&mut Session) -> io::Result<u64>;

/// The phases in their order: those that read, those that write.
const PHASES: [(&str, Step); 12] = [
    ("select-key", Session::select_key),
    ("select-range", Session::select_range),
    ("join", Session::join),
    ("group", Session::group),
    ("order", Session::order),
    ("insert", Session::insert),
    ("insert-transaction", Session::insert_transaction),
    ("insert-bulk", Session::insert_bulk),
    ("update", Session::update),
    ("delete", Session::delete),
    ("create", Session::create),
    ("drop", Session::drop_table),
];

const INSERT: &str = "insert into added values (?, ?, ?, ?)";

static INSERT_BULK: LazyLock<String> = LazyLock::new(|| bulk("added"));
static LOAD_BULK: LazyLock<String> = LazyLock::new(|| bulk("item"));

fn bulk(table: &str) -> String {
    let rows = vec!["(?, ?, ?, ?)"; TOGETHER as usize].join(", ");
    format!("insert into {table} values {rows}")
}

/// The amount of a row: a number that follows from its key.
fn amount(key: u64) -> i64 {
    (key * 7919 % 1000) as i64
}

/// A database of the variant: a server of the user's, or else one of our own in the folder.
fn open(trial: &Trial<'_>, folder: &Path) -> Result<Box<dyn Database>, TrialError> {
    let (variant, url) = (trial.variant(), ServerUrl::parse(trial.setting("url")?));
    let password = trial.setting("password-file")?;
    let Some(url) = url.filter(|_| variant != "sqlite") else {
        return private(variant, folder).map_err(TrialError::at(format!("to start {variant}")));
    };
    let password = (password != "none").then(|| Password::of_file(Path::new(password))).transpose();
    let server = password.and_then(|password| Server::at(&url, variant, password));
    server
        .map(|server| Box::new(server) as Box<dyn Database>)
        .map_err(TrialError::at(format!("to make a schema in {}", trial.setting("url")?)))
}

fn private(variant: &str, folder: &Path) -> io::Result<Box<dyn Database>> {
    Ok(match variant {
        "postgresql" => Box::new(PostgreSql::in_folder(folder)?),
        "mariadb" => Box::new(MariaDb::in_folder(folder)?),
        _ => Box::new(Sqlite::in_folder(folder)),
    })
}

pub(super) fn run(trial: &mut Trial<'_>) -> Result<(), TrialError> {
    let folder = trial.scratch().join("sql");
    let rows = trial.number("rows")?;
    let outcome = fresh_folder(&folder)
        .map_err(TrialError::at("to make a folder"))
        .and_then(|()| open(trial, &folder))
        .and_then(|mut database| {
            let stored = store(&*database, rows, trial.seed());
            let stored = stored.map_err(|error| database.ending().unwrap_or(error));
            let measured = stored
                .map_err(TrialError::at("to fill the database"))
                .and_then(|()| measure(trial, &mut *database, rows));
            let removed = database.remove().map_err(TrialError::at("to remove the schema"));
            measured.and(removed)
        });
    // The error is that of the trial.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

/// Makes the tables that all levels read.
fn store(database: &dyn Database, rows: u64, seed: u64) -> io::Result<()> {
    let mut session = Session::connect(database, 0, 1, rows, seed)?;
    let client = &mut session.client;
    client.script("create table kind (id integer primary key, name varchar(20) not null)")?;
    for kind in 0..KINDS {
        client.script(&format!("insert into kind values ({kind}, 'kind {kind}')"))?;
    }
    let columns =
        "id bigint primary key, kind integer not null, amount bigint not null, note varchar(100) not null";
    client.script(&format!("create table item ({columns})"))?;
    client.script(&format!("create table added ({columns})"))?;
    client.script(database.begin())?;
    for first in (0..rows / TOGETHER).map(|block| block * TOGETHER) {
        session.many(&LOAD_BULK, first..first + TOGETHER)?;
    }
    let client = &mut session.client;
    client.script("commit")?;
    client.script("create index item_of_kind on item (kind)")?;
    ["item", "kind"].iter().try_for_each(|table| client.script(&database.analyze(table)))
}

fn measure(trial: &mut Trial<'_>, database: &mut dyn Database, rows: u64) -> Result<(), TrialError> {
    let (clock, seed) = (trial.clock(), trial.seed());
    let part = trial.window() / PHASES.len() as u32;
    trial.job(|clients, job| {
        let measured = level(&*database, clients, rows - rows % TOGETHER, part, clock, seed, job);
        measured.map_err(|error| database.ending().unwrap_or(error))
    })
}

fn level(
    database: &dyn Database,
    clients: u64,
    rows: u64,
    part: Duration,
    clock: &Clock,
    seed: u64,
    job: &mut JobRecorder<'_, '_>,
) -> io::Result<()> {
    job.level().doing("connect");
    let connect = |number| Session::connect(database, number, clients, rows, seed);
    let mut sessions = (0..clients).map(connect).collect::<io::Result<Vec<_>>>()?;
    for (name, step) in PHASES {
        job.level().doing(name);
        let begun = Instant::now();
        let mut all = sessions
            .iter_mut()
            .map(|session| Ok((session, Calls::new(clock, &[name])?)))
            .collect::<io::Result<Vec<_>>>()?;
        let work = |(session, calls): &mut (&mut Session, Calls<'_>), is_stopped: &dyn Fn() -> bool| {
            repeat(session, calls, name, step, begun + part, is_stopped).map_err(Refused::at(name))
        };
        at_once(&mut all, work).map_err(|refused| refused.error)?;
        let elapsed = begun.elapsed().as_secs_f64();
        let mut calls = Calls::new(clock, &[name])?;
        all.iter().for_each(|(_, other)| calls.add_all(other));
        calls.report(job);
        if name == "select-key" {
            let count: u64 = all.iter().map(|(session, _)| session.selects).sum();
            job.value("rate", count as f64 / elapsed);
        }
    }
    let wrong = sessions.iter().find_map(|session| session.wrong);
    job.level().check(CLAIM_ROWS, wrong.is_none());
    if let Some((statement, outcome)) = wrong {
        job.level().warn(format!("`{statement}` gave {} rows, with the sum {}.", outcome.rows, outcome.sum));
    }
    let expected: u64 = sessions.iter().map(|session| session.added - session.deleted).sum();
    let left = sessions[0].client.execute("select count(*) from added", &[])?;
    job.level().check(CLAIM_LEFT, left.sum == expected as i64);
    sessions[0].client.script("delete from added")?;
    // Tables that are left because there was no time to drop them; the next level makes others of the same
    // names.
    sessions.iter_mut().try_for_each(|session| {
        while session.drop_table()? > 0 {}
        Ok(())
    })
}

/// Repeats a step until the deadline, and does it once at least.
fn repeat(
    session: &mut Session,
    calls: &mut Calls<'_>,
    name: &'static str,
    step: Step,
    deadline: Instant,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    loop {
        calls.begin();
        let units = step(session)?;
        if units == 0 {
            return Ok(());
        }
        calls.end_of(name, units);
        if is_stopped() || Instant::now() >= deadline {
            return Ok(());
        }
    }
}

/// A client, and the count of its work.
struct Session {
    client: Box<dyn Client>,
    begin: &'static str,
    /// Its number among how many.
    number: u64,
    clients: u64,
    /// Rows of the table that all read.
    rows: u64,
    random: fastrand::Rng,
    selects: u64,
    added: u64,
    deleted: u64,
    created: u64,
    dropped: u64,
    /// The first statement with a wrong result.
    wrong: Option<(&'static str, Outcome)>,
}

impl Session {
    fn connect(
        database: &dyn Database,
        number: u64,
        clients: u64,
        rows: u64,
        seed: u64,
    ) -> io::Result<Session> {
        Ok(Session {
            client: database.connect()?,
            begin: database.begin(),
            number,
            clients,
            rows,
            // Another at each level: MariaDB does not count a row that gets the text which it has.
            random: fastrand::Rng::with_seed(seed ^ clients << 48 ^ number << 32),
            selects: 0,
            added: 0,
            deleted: 0,
            created: 0,
            dropped: 0,
            wrong: None,
        })
    }

    /// Executes a statement and notes whether its result was right.
    fn checked(
        &mut self,
        statement: &'static str,
        values: &[Value<'_>],
        is_right: impl FnOnce(Outcome) -> bool,
    ) -> io::Result<()> {
        let outcome = self.client.execute(statement, values)?;
        if !is_right(outcome) {
            self.wrong.get_or_insert((statement, outcome));
        }
        Ok(())
    }

    fn key(&mut self) -> u64 {
        self.random.u64(0..self.rows)
    }

    /// Text that no database can compress.
    fn note(&mut self) -> String {
        (0..NOTE_CHARACTERS).map(|_| self.random.alphanumeric()).collect()
    }

    /// The key of its row of that number in the table of added rows.
    fn own(&self, row: u64) -> i64 {
        (self.number << 40 | row) as i64
    }

    fn select_key(&mut self) -> io::Result<u64> {
        let key = self.key();
        self.selects += 1;
        let is_right = |outcome: Outcome| outcome == Outcome { rows: 1, sum: amount(key) };
        self.checked("select amount from item where id = ?", &[Value::Integer(key as i64)], is_right)?;
        Ok(1)
    }

    fn select_range(&mut self) -> io::Result<u64> {
        let first = self.random.u64(0..=self.rows - TOGETHER) as i64;
        let range = [Value::Integer(first), Value::Integer(first + TOGETHER as i64)];
        let statement = "select amount from item where id >= ? and id < ?";
        self.checked(statement, &range, |outcome| outcome.rows == TOGETHER)?;
        Ok(1)
    }

    fn join(&mut self) -> io::Result<u64> {
        let name = format!("kind {}", self.random.u64(0..KINDS));
        let statement = "select item.id from kind join item on item.kind = kind.id where kind.name = ?";
        let expected = self.rows / KINDS;
        self.checked(statement, &[Value::Text(&name)], |outcome| outcome.rows == expected)?;
        Ok(1)
    }

    fn group(&mut self) -> io::Result<u64> {
        self.checked("select sum(amount) from item group by kind", &[], |outcome| outcome.rows == KINDS)?;
        Ok(1)
    }

    fn order(&mut self) -> io::Result<u64> {
        let kind = self.random.u64(0..KINDS) as i64;
        let statement = "select id from item where kind = ? order by note limit 10";
        self.checked(statement, &[Value::Integer(kind)], |outcome| outcome.rows == 10)?;
        Ok(1)
    }

    fn insert(&mut self) -> io::Result<u64> {
        let (key, note) = (self.own(self.added), self.note());
        let kind = key % KINDS as i64;
        let values = [Value::Integer(key), Value::Integer(kind), Value::Integer(7), Value::Text(&note)];
        self.checked(INSERT, &values, |outcome| outcome.rows == 1)?;
        self.added += 1;
        Ok(1)
    }

    fn insert_transaction(&mut self) -> io::Result<u64> {
        self.client.script(self.begin)?;
        for _ in 0..TOGETHER {
            self.insert()?;
        }
        self.client.script("commit")?;
        Ok(TOGETHER)
    }

    fn insert_bulk(&mut self) -> io::Result<u64> {
        let first = self.own(self.added) as u64;
        self.many(&INSERT_BULK, first..first + TOGETHER)?;
        self.added += TOGETHER;
        Ok(TOGETHER)
    }

    /// Inserts rows with these keys in one statement.
    fn many(&mut self, statement: &'static str, keys: std::ops::Range<u64>) -> io::Result<()> {
        let notes: Vec<String> = keys.clone().map(|_| self.note()).collect();
        let values: Vec<Value<'_>> = keys
            .zip(&notes)
            .flat_map(|(key, note)| {
                let kind = Value::Integer((key % KINDS) as i64);
                [Value::Integer(key as i64), kind, Value::Integer(amount(key)), Value::Text(note)]
            })
            .collect();
        self.checked(statement, &values, |outcome| outcome.rows == TOGETHER)
    }

    /// Of its own part of the rows: two clients that wait for each other would be another experiment.
    fn update(&mut self) -> io::Result<u64> {
        let key = self.key() / self.clients * self.clients + self.number;
        let (key, note) = (if key < self.rows { key } else { self.number }, self.note());
        let values = [Value::Text(&note), Value::Integer(key as i64)];
        self.checked("update item set note = ? where id = ?", &values, |outcome| outcome.rows == 1)?;
        Ok(1)
    }

    fn delete(&mut self) -> io::Result<u64> {
        if self.deleted == self.added {
            return Ok(0);
        }
        let key = [Value::Integer(self.own(self.deleted))];
        self.checked("delete from added where id = ?", &key, |outcome| outcome.rows == 1)?;
        self.deleted += 1;
        Ok(1)
    }

    fn create(&mut self) -> io::Result<u64> {
        if self.created == TABLES_MAX {
            return Ok(0);
        }
        let (number, table) = (self.number, self.created);
        self.client
            .script(&format!("create table own_{number}_{table} (id bigint primary key, amount bigint)"))?;
        self.created += 1;
        Ok(1)
    }

    fn drop_table(&mut self) -> io::Result<u64> {
        if self.dropped == self.created {
            return Ok(0);
        }
        let (number, table) = (self.number, self.dropped);
        self.client.script(&format!("drop table own_{number}_{table}"))?;
        self.dropped += 1;
        Ok(1)
    }
}
