//! A role for the tests: it replies, crashes, hangs or sends nonsense, as requested.

use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use host::{FrameReader, FrameWriter};

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [host::TRIAL, ref role @ ..] = words[..] else {
        return Err(io::Error::other(format!("no role: {words:?}")));
    };
    match role[..] {
        ["guard", ref words @ ..] => host::guard(words).map_err(io::Error::other),
        ["agent", folder] => host::agent(folder),
        ["echo"] => echo(),
        ["sleepers", seconds] => {
            // One in the group, one in a session of its own.
            Command::new("sleep").arg(seconds).spawn()?;
            Command::new("setsid").args(["sleep", seconds]).spawn()?;
            echo()
        }
        ["hang", _] => loop {
            std::thread::sleep(Duration::from_secs(1));
        },
        ["crash", when] => {
            if when == "later" {
                let _: Option<String> = FrameReader::standard_input().receive()?;
            }
            eprintln!("it cannot go on");
            std::process::abort();
        }
        ["print", ref pieces @ ..] => {
            let mut output = io::stdout().lock();
            for piece in pieces {
                let bytes = match *piece {
                    "FRAME" => host::encode(b"\"hello\""),
                    "WRONG" => {
                        let mut frame = host::encode(b"\"hello\"");
                        frame.iter_mut().rev().take(1).for_each(|byte| *byte ^= 1);
                        frame
                    }
                    "LONG" => [&host::encode(b"")[..4], &[0xFF; 8]].concat(),
                    "HALF" => host::encode(b"\"hello\"")[..9].to_vec(),
                    "FLOOD" => b"please log in\n".repeat(100_000),
                    text => text.as_bytes().to_vec(),
                };
                output.write_all(&bytes)?;
                output.flush()?;
            }
            FrameReader::standard_input().wait_for_end();
            Ok(())
        }
        _ => Err(io::Error::other(format!("unknown words: {role:?}"))),
    }
}

/// Replies with the bytes of its request.
fn echo() -> io::Result<()> {
    let (mut requests, mut replies) = (FrameReader::standard_input(), FrameWriter::standard_output());
    while let Some(text) = requests.receive::<String>()? {
        replies.send(&text)?;
    }
    Ok(())
}
