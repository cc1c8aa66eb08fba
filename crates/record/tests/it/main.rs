//! The tests of `record`, one program.

mod damage;
mod recording;
mod round_trip;
mod sample;
mod writer;
