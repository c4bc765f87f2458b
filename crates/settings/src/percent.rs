//! Percent-encoding, undone.

/// The bytes that a text stands for; a `%` without two digits stands for itself.
pub fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sign_with_two_digits_stands_for_a_byte() {
        for (text, expected) in
            [("a%20b", "a b"), ("%C3%a4", "ä"), ("100%", "100%"), ("%2", "%2"), ("%zz%41", "%zzA")]
        {
            assert_eq!(decoded(text), expected.as_bytes(), "{text}");
        }
    }
}
