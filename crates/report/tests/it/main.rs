//! The tests of `report`, one program: each links everything below it.

mod bounds;
mod comparison;
mod contenders;
mod damage;
mod damaged;
mod emulated;
mod export;
mod hostile;
mod imported;
mod one_number;
mod overview;
mod page;
mod phases;
mod race;
mod sixteen;
mod terminal;
