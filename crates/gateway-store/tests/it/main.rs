//! The store on real databases.

mod postgres;
