//! Holds one load, for the tests.

use std::io;

fn main() -> io::Result<()> {
    background::hold()
}
