//! What the texts of form fields mean.

use ledger::{Micros, Time};
pub(super) use pages::Fields;

use crate::clock;

const MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400 * MICROS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrongField {
    pub(super) field: &'static str,
    pub(super) message: String,
}

impl WrongField {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self { field, message: message.into() }
    }
}

/// Values of fields in the forms of the console.
pub(super) trait FieldValues {
    /// A whole number; `None` if the field is empty.
    fn number(&self, name: &'static str) -> Result<Option<u32>, WrongField>;

    /// An amount in credits; `None` if the field is empty.
    fn credits(&self, name: &'static str) -> Result<Option<Micros>, WrongField>;

    /// The end of a number of days from now; `None` if the field is empty.
    fn days_from_now(&self, name: &'static str) -> Result<Option<Time>, WrongField> {
        let days = self.number(name)?;
        Ok(days.map(|days| clock::now().plus_micros(i64::from(days).saturating_mul(DAY_MICROS))))
    }
}

impl FieldValues for Fields {
    fn number(&self, name: &'static str) -> Result<Option<u32>, WrongField> {
        match self.get(name) {
            "" => Ok(None),
            text => text
                .replace(',', "")
                .parse()
                .map(Some)
                .map_err(|_| WrongField::new(name, format!("“{text}” is not a whole number"))),
        }
    }

    fn credits(&self, name: &'static str) -> Result<Option<Micros>, WrongField> {
        match self.get(name) {
            "" => Ok(None),
            text => parse_credits(text).map(Some).ok_or_else(|| {
                let message =
                    format!("“{text}” is not an amount: write credits as 12 or 12.5, with at most 6 decimals");
                WrongField::new(name, message)
            }),
        }
    }
}

fn parse_credits(text: &str) -> Option<Micros> {
    let (sign, digits) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.replace(',', "");
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty())
        || fraction.len() > 6
        || !is_digits(&whole)
        || !is_digits(fraction)
    {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction: i64 = format!("{fraction:0<6}").parse().ok()?;
    let micros = whole.checked_mul(MICROS)?.checked_add(fraction)?;
    Some(Micros::new(sign * micros))
}

#[cfg(test)]
mod tests;
