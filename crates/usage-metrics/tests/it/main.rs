//! Integration tests of the usage-metrics package, one module per behaviour.

// The table and all that is made from it are equal, value by value.
mod catalogue;
// Random packages, valid and spoilt.
mod generate;
// The validator agrees with an independent one over millions of packages.
mod oracle;
