//! The run file of a run in progress, which the loops of all hosts append to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use record::{End, SentLine, Writer};

use crate::Error;

/// The run file, as far as it is written.
pub(crate) struct RunFile(Mutex<Open>);

struct Open {
    /// `None` once nothing more can be written.
    writer: Option<Writer>,
    unwritten: Option<Error>,
}

impl RunFile {
    /// A file with its head.
    pub(crate) fn new(writer: Writer) -> RunFile {
        RunFile(Mutex::new(Open { writer: Some(writer), unwritten: None }))
    }

    /// Writes lines of one trial; a disk that is full loses nothing that was written.
    pub(crate) fn append(&self, lines: &[SentLine]) {
        let mut open = self.open();
        if let Some(writer) = &mut open.writer
            && let Err(error) = writer.append_sent(lines)
        {
            *open = Open { writer: None, unwritten: Some(error.into()) };
        }
    }

    /// Whether lines were lost: then the run ends.
    pub(crate) fn is_lost(&self) -> bool {
        self.open().unwritten.is_some()
    }

    /// Writes the end; why the file is not whole, if it is not.
    pub(crate) fn finish(self, end: End) -> Option<Error> {
        let Open { writer, unwritten } = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ended = writer.and_then(|writer| writer.finish(end).err()).map(Error::from);
        ended.or(unwritten)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
