//! Several generators at once: processes that start together, and whose counts become one.
