//! ansible-inventory(1), which reads every kind of inventory that Ansible knows.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::inventory::Inventory;
use crate::{BYTES_MAX, yaml};

/// A dynamic inventory asks a cloud, which may take a while.
const TIME_MAX: Duration = Duration::from_secs(120);
/// So many letters of its errors are shown.
const SHOWN: usize = 400;

/// The inventory as Ansible reads it; `None` where it is not installed.
pub(crate) fn read(file: &Path) -> Option<Result<Inventory, String>> {
    let mut command = Command::new("ansible-inventory");
    command.arg("-i").arg(file).arg("--list").stdin(Stdio::null());
    // A part that cannot be read is a warning there, and a fleet that is smaller than the user believes here.
    command.env("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "true");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Err(format!("cannot execute ansible-inventory: {error}"))),
    };
    let (sender, outputs) = channel();
    let pipes = [
        child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    for (place, pipe) in pipes.into_iter().enumerate() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // An output that ends early is no inventory, which the parser says.
            let _ = pipe.map(|pipe| pipe.take(BYTES_MAX).read_to_end(&mut bytes));
            let _ = sender.send((place, bytes));
        });
    }
    let mut texts = [String::new(), String::new()];
    for _ in 0..texts.len() {
        let Ok((place, bytes)) = outputs.recv_timeout(TIME_MAX) else {
            let _ = child.kill();
            let _ = child.wait();
            return Some(Err(format!("ansible-inventory did not end within {} s", TIME_MAX.as_secs())));
        };
        texts[place] = String::from_utf8_lossy(&bytes).into_owned();
    }
    let [list, errors] = texts;
    let is_done = child.wait().is_ok_and(|status| status.success());
    Some(match is_done {
        true => yaml::read(&list).map_err(|(line, reason)| {
            format!("ansible-inventory printed a list that cannot be read, line {line}: {reason}")
        }),
        false => Err(format!("ansible-inventory refuses it: {}", shortened(errors.trim()))),
    })
}

fn shortened(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(SHOWN).collect()
}
