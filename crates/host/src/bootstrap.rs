//! The script for the shell that the command of a system starts: it makes a folder of its own, and receives
//! and starts the first program there.
//!
//! The command is given one word more, `sh`. That word means the same whether a command executes its words
//! or, like ssh, joins them for a shell, so nothing is quoted. A shell may read ahead of the script, and its
//! tools ahead of the program. So each waits for a frame from the other side before more is sent.

use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;

use serde::{Deserialize, Serialize};

use crate::frame::{encode, one_line};
use crate::{FrameWriter, TRIAL};

/// The script's message when it has a folder and waits for the program.
pub(crate) const READY: &[u8] = b"ready";

/// The name of the agent's program in its folder.
pub(crate) const AGENT: &str = "osdyno-agent";

/// Why a command does not start the shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRefusal {
    /// Whether this machine lacks a facility that the command needs; otherwise it failed.
    pub is_unsupported: bool,
    /// Why, with the remedy.
    pub reason: String,
}

impl CommandRefusal {
    /// Sends it to the host that opened this command, as the only frame on standard output.
    ///
    /// # Errors
    /// Those of standard output.
    pub fn tell(&self) -> io::Result<()> {
        FrameWriter::standard_output().send(self)
    }

    /// Reads the first frame of a command that is not [`READY`].
    pub(crate) fn read(frame: &[u8]) -> Option<CommandRefusal> {
        let refusal: CommandRefusal = serde_json::from_slice(frame).ok()?;
        Some(CommandRefusal { reason: one_line(refusal.reason.as_bytes()), ..refusal })
    }
}

/// The script. `folders` are tried in this order; words that begin with `$` are expanded there. It is one
/// compound command, which a shell reads to its end before it begins.
pub(crate) fn script(folders: &[String], program_bytes: usize) -> String {
    let name = format!("osdyno-{:016x}", RandomState::new().build_hasher().finish());
    let folders = folders.iter().map(|folder| quoted(folder)).collect::<Vec<_>>().join(" ");
    let ready = octal(&encode(READY));
    // The folder is removed by the agent, and here too, in case that is killed or never begins.
    format!(
        r#"{{
umask 077
refused=
folder=
for parent in {folders}; do
  [ -d "$parent" ] || continue
  made=$parent/{name}
  mkdir "$made" 2>/dev/null || {{ refused="$refused $parent (not writable)"; continue; }}
  printf '#!/bin/sh\nexit 0\n' >"$made/try" && chmod 700 "$made/try"
  "$made/try" 2>/dev/null && folder=$made && break
  refused="$refused $parent (full, or it forbids execution)"
  rm -rf "$made"
done
if [ -z "$folder" ]; then
  echo "no folder for the trial program:$refused; name another with --scratch" >&2
  exit 1
fi
trap 'rm -rf "$folder"' 0
trap 'exit 1' 1 2 15
rm -f "$folder/try"
printf '{ready}'
head -c {program_bytes} >"$folder/{AGENT}" && chmod 700 "$folder/{AGENT}" || exit 1
"$folder/{AGENT}" {TRIAL} agent "$folder"
exit $?
}}
"#
    )
}

/// A word for a shell: as it stands, unless it is a variable.
fn quoted(word: &str) -> String {
    match word.strip_prefix('$') {
        Some(_) => format!("\"{word}\""),
        None => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Bytes as printf(1) takes them everywhere; so a terminal that echoes the script sends no frame.
fn octal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "\\{byte:03o}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_words_whatever_they_hold() {
        let script = script(&["/it's $HOME".to_owned(), "$TMPDIR".to_owned()], 7);
        assert!(script.contains(r#"in '/it'\''s $HOME' "$TMPDIR"; do"#), "{script}");
        assert!(script.contains("head -c 7 "), "{script}");
        assert_ne!(script, super::script(&[], 7), "the folder has another name each time");
    }
}
