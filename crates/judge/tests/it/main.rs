//! The tests of `judge`, one program.

mod bisect;
mod references;
mod undecided;
