//! Money as arithmetic: holds, postings, balances, limits; no I/O, no clock, no floats.
