//! What is asked of a machine or a run beside its verdicts.

mod blame;
mod doctor;
mod impact;
mod snoop;
