//! Time of statements of SQL while n clients work at once.
//!
//! **Question.** How long does a database need for the statements that programs send most, alone and beside
//! other clients? Durable writes depend on the file system, and selects on processors, memory and, with a
//! server, on the calls between two processes.
//!
//! **Method.** The database has a table of `--set rows=COUNT` (10000) in 100 kinds. For each operation, n
//! clients, each with a connection and a thread of its own, repeat it through an equal part of the window of
//! time; the value is the mean time of one statement or row, and the record has the distribution. Statements
//! are prepared once. Reads come first: by key, by a range of 100 keys, a join of two tables, groups, and the
//! first 10 in an order without an index. Then rows are inserted singly, 100 in a transaction, and 100 in a
//! statement, updated, and deleted; every statement or transaction is stored durably, as each database does
//! by default. At the end tables are created and dropped. `rate` is the selects by key per second of all
//! clients. Every answer is checked. The operations are those of sql-bench.
//!
//! `sqlite` is a part of osdyno. `postgresql` and `mariadb` are servers of this system that osdyno starts for
//! the trial, in the scratch folder and on a Unix socket there; their settings are those they come with,
//! and their versions the facts `software.postgresql` and `software.mariadb`.
//!
//! `--set url=postgresql://USER@ADDRESS:PORT/DATABASE` measures a server of yours instead, and so does
//! `mariadb://…` or `mysql://…`; the user must be allowed to make schemas. The first line of the file in
//! `--set password-file=FILE` is its password; it is in no record, and the server gets only a proof of it
//! (SCRAM-SHA-256, mysql_native_password, caching_sha2_password). Nothing is encrypted. The address is a
//! number, in this machine or a private network, else `--allow-public` must be there. All tables are in a
//! schema of the trial's own, `osdyno_` and 16 digits, which is dropped at the end; a trial that is killed
//! leaves it. Name the variant too, as in `sql/postgresql`: `sqlite` has no server and is measured as ever.
//! The facts above are still those of this system.
//!
//! **Expected answer.** Flat for reads up to one client for each processor. Time of durable writes is that of
//! fsync(2), and several clients may share one; with `sqlite` only one writes at a time.

#[cfg(unix)]
mod database;
#[cfg(unix)]
mod mariadb;
#[cfg(unix)]
mod measure;
#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod password;
#[cfg(all(unix, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[path = "password_other.rs"]
mod password;
#[cfg(unix)]
mod postgresql;

use workload::resource::{DESCRIPTORS, DISK, INODES, MEMORY, PROCESSES, THREADS};
use workload::{Expect, Need, Operation, Setting, Sizes, Unit, Values, Variant, Workload, levels};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "sql",
    source: workload::page!("mod.rs"),
    grows: "clients",
    sizes: Sizes::Levels(levels::one_two_five),
    all_processors: true,
    variants: &[
        Variant { name: "sqlite", summary: "SQLite, a part of osdyno" },
        Variant { name: "postgresql", summary: "PostgreSQL of this system, through a Unix socket" },
        Variant { name: "mariadb", summary: "MariaDB of this system, through a Unix socket" },
    ],
    rivals: true,
    settings: &[
        Setting {
            name: "rows",
            default: "10000",
            values: Values::Number { least: 1000, most: 10_000_000 },
            summary: "rows of the table",
        },
        Setting {
            name: "url",
            default: "private",
            values: Values::WordOrUrl("private"),
            summary: "a server of yours, such as postgresql://user@10.0.0.2:5432/database",
        },
        Setting {
            name: "password-file",
            default: "none",
            values: Values::WordOrFile("none"),
            summary: "file whose first line is the password of that user; only its owner may read it",
        },
    ],
    operations: &[
        Operation::reported("rate", Unit::PerSecond, Expect::Any, "selects by key per second of all clients"),
        Operation::phase("select-key", Expect::Constant, "a select of one row by its key"),
        Operation::phase("select-range", Expect::Constant, "a select of 100 rows by a range of keys"),
        Operation::phase("join", Expect::Constant, "a join that gives the rows of one kind"),
        Operation::phase("group", Expect::Constant, "sums of all rows by kind"),
        Operation::phase("order", Expect::Constant, "the first 10 of the rows of a kind, in another order"),
        Operation::phase("insert", Expect::Any, "an insert of one row"),
        Operation::phase("insert-transaction", Expect::Any, "one row of 100 in a transaction"),
        Operation::phase("insert-bulk", Expect::Any, "one row of 100 in a statement"),
        Operation::phase("update", Expect::Any, "an update of one row by its key"),
        Operation::phase("delete", Expect::Any, "a delete of one row by its key"),
        Operation::phase("create", Expect::Any, "creating a table"),
        Operation::phase("drop", Expect::Any, "dropping a table"),
    ],
    // Of a process that serves a client, or of a thread and its caches; of the rows that it inserts.
    needs: &[
        Need::new(DESCRIPTORS, 20),
        Need::new(PROCESSES, 1),
        Need::new(THREADS, 1),
        Need::new(MEMORY, 16 << 20),
        Need::new(DISK, 16 << 20),
        Need::new(INODES, 64),
    ],
    top: Some(64),
    classic_n: 1,
    run: cfg_select! {
        unix => { Ok(measure::run) }
        _ => { Err("its server is started and reached as on Unix, and SQLite is built in there only") }
    },
    ..Workload::JOB
};
