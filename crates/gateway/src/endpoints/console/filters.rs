//! How templates show values of the ledger and the store.

#![expect(unreachable_pub, clippy::inline_always, reason = "of the code that the macro generates")]
#![expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the signature of a filter")]

use askama::{Result, Values};
use ledger::{Micros, Time};
use pages::Html;

use crate::clock;

/// A number behind any number of references.
pub(super) trait Number {
    fn number(&self) -> i64;
}

impl Number for i64 {
    fn number(&self) -> i64 {
        *self
    }
}

impl Number for u32 {
    fn number(&self) -> i64 {
        i64::from(*self)
    }
}

impl Number for u64 {
    fn number(&self) -> i64 {
        i64::try_from(*self).unwrap_or(i64::MAX)
    }
}

impl Number for Micros {
    fn number(&self) -> i64 {
        self.get()
    }
}

impl Number for Time {
    fn number(&self) -> i64 {
        self.micros()
    }
}

impl<T: Number> Number for &T {
    fn number(&self) -> i64 {
        (*self).number()
    }
}

#[askama::filter_fn]
pub(super) fn credits<T: Number>(amount: T, _: &dyn Values) -> Result<String> {
    Ok(pages::credits(amount.number()))
}

#[askama::filter_fn]
pub(super) fn count<T: Number>(number: T, _: &dyn Values) -> Result<String> {
    Ok(pages::count(number.number().unsigned_abs()))
}

#[askama::filter_fn]
pub(super) fn bytes<T: Number>(bytes: T, _: &dyn Values) -> Result<String> {
    Ok(pages::bytes(bytes.number().unsigned_abs()))
}

/// A moment as seen from now.
#[askama::filter_fn]
pub(super) fn ago<T: Number>(at: T, _: &dyn Values) -> Result<Html> {
    Ok(pages::moment(at.number(), clock::now().micros()))
}

/// A program's word in plain language.
#[askama::filter_fn]
pub(super) fn words<T: AsRef<str>>(word: T, _: &dyn Values) -> Result<String> {
    Ok(word.as_ref().replace('_', " "))
}
