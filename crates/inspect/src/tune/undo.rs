//! Puts the old values back, unless another program or user has changed them. They are in a file that is
//! complete on the disk before anything is changed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{SettingChange, TuneError};
use crate::doctor::LimitSetting;

/// The form of the file; another one is refused.
const FORMAT: u32 = 1;
/// No record is larger: there are few settings.
const BYTES_MOST: u64 = 64 << 10;
/// No value is longer.
const VALUE_MOST: usize = 64;

/// The result for one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "became", content = "detail")]
pub enum Undone {
    /// It has its old value again.
    Restored,
    /// It had its old value: it was never changed, or was put back before.
    AlreadyBack,
    /// Another program or user has set it to this value, which stays.
    LeftAlone(String),
    /// It could not be put back.
    Failed(String),
}

/// A change that was put back, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoneChange {
    /// The change.
    #[serde(flatten)]
    pub change: SettingChange,
    /// The result.
    #[serde(flatten)]
    pub undone: Undone,
}

/// Puts back the values of the record, the last change first.
///
/// # Errors
/// [`TuneError`] where nothing was tried.
pub fn undo(path: &Path) -> Result<Vec<UndoneChange>, TuneError> {
    let record = UndoRecord::read(path)?;
    let here = sys::tunable::network_namespace();
    if let (Some(there), Some(here)) = (record.namespace_of_network(), here)
        && there != here
    {
        return Err(TuneError::OtherNamespace { path: path.to_owned(), there: there.to_owned(), here });
    }
    let changes = record.changes().into_iter().rev();
    Ok(changes.map(|change| UndoneChange { undone: put_back(&change), change }).collect())
}

fn put_back(change: &SettingChange) -> Undone {
    let SettingChange { name, before, after } = change;
    let now = match sys::tunable::read(name) {
        Ok(now) => now,
        Err(error) => return Undone::Failed(error.to_string()),
    };
    if now == *before {
        return Undone::AlreadyBack;
    }
    if now != *after {
        return Undone::LeftAlone(now);
    }
    if let Err(error) = sys::tunable::write(name, before) {
        return Undone::Failed(error.to_string());
    }
    match sys::tunable::read(name) {
        Ok(now) if now == *before => Undone::Restored,
        Ok(now) => Undone::Failed(format!("the system made {now} of {before}")),
        Err(error) => Undone::Failed(error.to_string()),
    }
}

/// The old and the new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndoRecord {
    osdyno_tune: u32,
    /// The network namespace whose settings they are.
    network_namespace: Option<String>,
    changes: Vec<SettingChange>,
}

impl UndoRecord {
    /// The record of these changes, in the network namespace of this process.
    pub fn of(changes: &[SettingChange]) -> UndoRecord {
        UndoRecord {
            osdyno_tune: FORMAT,
            network_namespace: sys::tunable::network_namespace(),
            changes: changes.to_vec(),
        }
    }

    /// The changes, in the order in which they were made.
    pub fn changes(&self) -> Vec<SettingChange> {
        self.changes.clone()
    }

    /// Its network namespace, where it has settings of one.
    fn namespace_of_network(&self) -> Option<&str> {
        let has = self.changes.iter().any(|change| change.name.starts_with("net."));
        self.network_namespace.as_deref().filter(|_| has)
    }

    /// Reads a record from untrusted bytes: only known settings of the system, with values that are numbers.
    ///
    /// # Errors
    /// Its fault.
    pub fn parse(bytes: &[u8]) -> Result<UndoRecord, String> {
        let record: UndoRecord = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if record.osdyno_tune != FORMAT {
            return Err(format!("its format is {}, and this program knows {FORMAT}", record.osdyno_tune));
        }
        let mut names: Vec<&str> = Vec::new();
        for change in &record.changes {
            let name = change.name.as_str();
            let is_known = LimitSetting::named(name).is_some_and(LimitSetting::is_of_system);
            if !is_known {
                return Err("it names a setting that --apply never changes".to_owned());
            }
            if names.contains(&name) {
                return Err(format!("it names {name} twice"));
            }
            if ![&change.before, &change.after].into_iter().all(|value| is_value(value)) {
                return Err(format!("a value of {name} is no number"));
            }
            names.push(name);
        }
        Ok(record)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`TuneError::Unread`], [`TuneError::NoRecord`].
    pub fn read(path: &Path) -> Result<UndoRecord, TuneError> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(BYTES_MOST + 1).read_to_end(&mut bytes));
        read.map_err(|source| TuneError::Unread { path: path.to_owned(), source })?;
        let no_record = |reason| TuneError::NoRecord { path: path.to_owned(), reason };
        if bytes.len() as u64 > BYTES_MOST {
            return Err(no_record("it is too long".to_owned()));
        }
        UndoRecord::parse(&bytes).map_err(no_record)
    }

    /// Writes it to a new file, so that it is complete on the disk or absent.
    ///
    /// # Errors
    /// Those of the file system; a file of that name is one.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        match sys::file::unnamed(folder, 0o600) {
            Ok(file) => {
                self.write_to(&file)?;
                sys::file::give_name(&file, path)?;
            }
            // Elsewhere a kill in this moment leaves a file of another name.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let mut builder = tempfile::Builder::new();
                let file = builder.prefix(".osdyno-").suffix(".unfinished").tempfile_in(folder)?;
                self.write_to(file.as_file())?;
                file.persist_noclobber(path).map_err(|error| error.error)?;
            }
            Err(error) => return Err(error),
        }
        // The name is on the disk only when the folder is.
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    fn write_to(&self, mut file: &File) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        file.write_all(text.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    }
}

/// Numbers with single spaces between.
fn is_value(text: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= VALUE_MOST && text.split(' ').all(is_number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(name: &str, before: &str, after: &str) -> SettingChange {
        SettingChange { name: name.to_owned(), before: before.to_owned(), after: after.to_owned() }
    }

    #[test]
    fn what_is_written_is_read_back_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("undo.json");
        let changes = [
            change("net.core.somaxconn", "128", "4096"),
            change("net.ipv4.ip_local_port_range", "32768 60999", "1024 65535"),
        ];
        let record = UndoRecord::of(&changes);
        record.write(&path).unwrap();
        assert_eq!(UndoRecord::read(&path).unwrap(), record);
        assert_eq!(record.changes(), changes);
        assert_eq!(record.write(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_record_of_anything_else_is_refused() {
        let of = |changes: &[SettingChange]| serde_json::to_vec(&UndoRecord::of(changes)).unwrap();
        for (bytes, says) in [
            (b"".to_vec(), "EOF"),
            (b"{\"changes\": []}".to_vec(), "missing field"),
            (of(&[change("kernel.core_pattern", "1", "2")]), "never changes"),
            (of(&[change("RLIMIT_NOFILE", "1", "2")]), "never changes"),
            (of(&[change("../../etc/passwd", "1", "2")]), "never changes"),
            (of(&[change("fs.nr_open", "|/tmp/x", "2")]), "no number"),
            (of(&[change("fs.nr_open", "1\n2", "2")]), "no number"),
            (of(&[change("fs.nr_open", "1", "2"), change("fs.nr_open", "3", "4")]), "twice"),
        ] {
            let error = UndoRecord::parse(&bytes).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let mut later = UndoRecord::of(&[]);
        later.osdyno_tune = 2;
        assert!(UndoRecord::parse(&serde_json::to_vec(&later).unwrap()).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_harmless(
            name in "[a-z._/]{0,30}|net.core.somaxconn|fs.nr_open",
            value in "\\PC{0,20}|[0-9 ]{1,9}",
        ) {
            let bytes = serde_json::to_vec(&UndoRecord::of(&[change(&name, &value, &value)])).unwrap();
            if let Ok(record) = UndoRecord::parse(&bytes) {
                let change = &record.changes()[0];
                prop_assert!(LimitSetting::named(&change.name).is_some());
                prop_assert!(change.before.bytes().all(|byte| byte.is_ascii_digit() || byte == b' '));
            }
        }
    }
}
