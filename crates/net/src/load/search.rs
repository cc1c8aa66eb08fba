//! The highest rate at which latency stays below a bound.
