//! SQLite: a library, and a file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, ToSql, params_from_iter};

use super::client::{Client, Database, Outcome, Value, disk_full};

/// How long a client waits for another that writes.
const BUSY: Duration = Duration::from_secs(60);

/// The database, a file in a folder.
pub(super) struct Sqlite(PathBuf);

impl Sqlite {
    pub(super) fn in_folder(folder: &Path) -> Sqlite {
        Sqlite(folder.join("database"))
    }
}

impl Database for Sqlite {
    fn connect(&self) -> io::Result<Box<dyn Client>> {
        let connection = Connection::open(&self.0).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(Box::new(Session(connection)))
    }

    /// A transaction that wrote only later could find that another one is before it, and fail.
    fn begin(&self) -> &'static str {
        "begin immediate"
    }
}

struct Session(Connection);

impl Client for Session {
    fn execute(&mut self, statement: &'static str, values: &[Value<'_>]) -> io::Result<Outcome> {
        let mut prepared = self.0.prepare_cached(statement).map_err(failed)?;
        let values = params_from_iter(values.iter());
        if prepared.column_count() == 0 {
            return Ok(Outcome { rows: prepared.execute(values).map_err(failed)? as u64, sum: 0 });
        }
        let mut outcome = Outcome::default();
        let mut rows = prepared.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            outcome.rows += 1;
            outcome.sum += row.get::<_, i64>(0).map_err(failed)?;
        }
        Ok(outcome)
    }

    fn script(&mut self, statement: &str) -> io::Result<()> {
        self.0.execute_batch(statement).map_err(failed)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

fn failed(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => disk_full(),
        _ => io::Error::other(format!("SQLite: {error}")),
    }
}
