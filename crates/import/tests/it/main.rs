//! The tests of `import`, one program.

mod foreign;
mod foreign_hostile;
mod tables;
