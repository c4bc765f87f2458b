//! The header of a GGUF file: its keys, and where each tensor is.
//!
//! Every length in the header is checked against the remaining bytes before memory is
//! allocated, so a hostile file costs no more than a small multiple of its size.

use std::collections::HashMap;

use crate::quantisation::Form;

const DEFAULT_ALIGNMENT: usize = 32;
const MAX_DIMENSIONS: u32 = 4;
/// Maximum nesting of arrays. Current files do not nest them.
const MAX_DEPTH: u32 = 4;

#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) values: HashMap<String, Value>,
    pub(crate) tensors: HashMap<String, Tensor>,
    pub(crate) data_offset: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Integer(i128),
    Float(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    Integers(Vec<i32>),
    /// A type that is not read.
    Other,
}

#[derive(Debug)]
pub(crate) struct Tensor {
    /// Slowest dimension first.
    pub(crate) dimensions: Vec<u64>,
    pub(crate) form: Form,
    pub(crate) offset: u64,
}

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = Reader { bytes, at: 4, version: 0 };
        if !bytes.starts_with(b"GGUF") {
            return Err("not a GGUF file".to_owned());
        }
        let mut header = reader.header().map_err(|error| format!("invalid header: {error}"))?;
        let alignment = match header.values.get("general.alignment") {
            None => Some(DEFAULT_ALIGNMENT),
            Some(Value::Integer(alignment)) => usize::try_from(*alignment).ok(),
            Some(_) => None,
        };
        let data_offset: usize = alignment
            .filter(|alignment| alignment.is_power_of_two())
            .and_then(|alignment| reader.at.checked_next_multiple_of(alignment))
            .ok_or("invalid tensor alignment")?;
        header.data_offset = data_offset as u64;
        Ok(header)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u32,
}

impl<'a> Reader<'a> {
    /// Keys and tensors; the offset of the data depends on a key.
    fn header(&mut self) -> Result<Header, String> {
        self.version = self.u32()?;
        if !(1..=3).contains(&self.version) {
            return Err(format!("unsupported version {}", self.version));
        }
        let tensor_count = self.length()?;
        let value_count = self.length()?;
        let mut values = HashMap::new();
        for _ in 0..value_count {
            let key = self.text()?;
            let kind = self.u32()?;
            values.insert(key, self.value(kind)?);
        }
        let mut tensors = HashMap::new();
        for _ in 0..tensor_count {
            let name = self.text()?;
            tensors.insert(name, self.tensor()?);
        }
        Ok(Header { values, tensors, data_offset: 0 })
    }

    fn value(&mut self, kind: u32) -> Result<Value, String> {
        Ok(match kind {
            0 => Value::Integer(u8::from_le_bytes(self.array()?).into()),
            1 => Value::Integer(i8::from_le_bytes(self.array()?).into()),
            2 => Value::Integer(u16::from_le_bytes(self.array()?).into()),
            3 => Value::Integer(i16::from_le_bytes(self.array()?).into()),
            4 => Value::Integer(self.u32()?.into()),
            5 => Value::Integer(i32::from_le_bytes(self.array()?).into()),
            6 => Value::Float(f32::from_le_bytes(self.array()?)),
            7 => Value::Bool(self.array::<1>()? != [0]),
            8 => Value::Text(self.text()?),
            9 => self.values()?,
            10 => Value::Integer(self.u64()?.into()),
            11 => Value::Integer(i64::from_le_bytes(self.array()?).into()),
            kind => {
                self.skip(kind, 1, 0)?;
                Value::Other
            }
        })
    }

    fn values(&mut self) -> Result<Value, String> {
        let kind = self.u32()?;
        let count = self.length()?;
        match kind {
            4 | 5 => {
                let bytes = self.take(count.checked_mul(4).ok_or(CUT_OFF)?)?;
                let numbers = bytes.as_chunks::<4>().0.iter();
                Ok(Value::Integers(numbers.map(|bytes| i32::from_le_bytes(*bytes)).collect()))
            }
            8 => (0..count).map(|_| self.text()).collect::<Result<_, _>>().map(Value::Texts),
            kind => {
                self.skip(kind, count, 0)?;
                Ok(Value::Other)
            }
        }
    }

    /// Skips values of one type.
    fn skip(&mut self, kind: u32, count: u64, depth: u32) -> Result<(), String> {
        let size = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => {
                for _ in 0..count {
                    let length = self.length()?;
                    self.take(length)?;
                }
                return Ok(());
            }
            9 if depth < MAX_DEPTH => {
                for _ in 0..count {
                    let kind = self.u32()?;
                    let count = self.length()?;
                    self.skip(kind, count, depth + 1)?;
                }
                return Ok(());
            }
            9 => return Err("arrays are nested too deeply".to_owned()),
            kind => return Err(format!("unknown value type {kind}")),
        };
        self.take(count.checked_mul(size).ok_or(CUT_OFF)?).map(drop)
    }

    fn tensor(&mut self) -> Result<Tensor, String> {
        let count = self.u32()?;
        if count > MAX_DIMENSIONS {
            return Err(format!("a tensor has {count} dimensions"));
        }
        let mut dimensions =
            (0..count).map(|_| self.length()).collect::<Result<Vec<u64>, String>>()?;
        dimensions.reverse();
        let form = self.u32()?;
        let form =
            Form::from_number(form).ok_or_else(|| format!("unsupported tensor type {form}"))?;
        Ok(Tensor { dimensions, form, offset: self.u64()? })
    }

    /// A text. Some writers end it with zeros.
    fn text(&mut self) -> Result<String, String> {
        let length = self.length()?;
        let text = String::from_utf8_lossy(self.take(length)?);
        Ok(text.trim_end_matches('\0').to_owned())
    }

    /// A length or a count; version 1 uses four bytes.
    fn length(&mut self) -> Result<u64, String> {
        if self.version == 1 { self.u32().map(u64::from) } else { self.u64() }
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N as u64)?.try_into().map_err(|_| CUT_OFF.to_owned())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let taken = end.and_then(|end| self.bytes.get(self.at..end)).ok_or(CUT_OFF)?;
        self.at += taken.len();
        Ok(taken)
    }
}

const CUT_OFF: &str = "the file is truncated";
