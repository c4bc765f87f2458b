//! Storage formats of numbers in a file, as defined by GGML.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

/// Numbers per block in the formats whose names end with `K`.
const SUPER_BLOCK: usize = 256;

impl Form {
    pub(crate) const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::F32,
            1 => Self::F16,
            2 => Self::Q4_0,
            3 => Self::Q4_1,
            6 => Self::Q5_0,
            7 => Self::Q5_1,
            8 => Self::Q8_0,
            10 => Self::Q2K,
            11 => Self::Q3K,
            12 => Self::Q4K,
            13 => Self::Q5K,
            14 => Self::Q6K,
            30 => Self::BF16,
            _ => return None,
        })
    }

    pub(crate) const fn block_numbers(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::BF16 => 1,
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 | Self::Q8_0 => 32,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K => SUPER_BLOCK,
        }
    }

    pub(crate) const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::Q4_0 => 18,
            Self::Q4_1 => 20,
            Self::Q5_0 => 22,
            Self::Q5_1 => 24,
            Self::Q8_0 => 34,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
        }
    }

    pub(crate) fn decode(self, data: &[u8], out: &mut Vec<f32>) {
        let decode = match self {
            Self::F32 => {
                return out.extend(data.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)));
            }
            Self::F16 => return out.extend(data.as_chunks().0.iter().map(|two| half(*two))),
            Self::BF16 => {
                let number = |[low, high]: &[u8; 2]| f32::from_le_bytes([0, 0, *low, *high]);
                return out.extend(data.as_chunks().0.iter().map(number));
            }
            Self::Q4_0 => q4_0,
            Self::Q4_1 => q4_1,
            Self::Q5_0 => q5_0,
            Self::Q5_1 => q5_1,
            Self::Q8_0 => q8_0,
            Self::Q2K => q2k,
            Self::Q3K => q3k,
            Self::Q4K => q4k,
            Self::Q5K => q5k,
            Self::Q6K => q6k,
        };
        for block in data.chunks_exact(self.block_bytes()) {
            decode(block, out);
        }
    }
}

fn half(bytes: [u8; 2]) -> f32 {
    let bits = u32::from(u16::from_le_bytes(bytes));
    let (sign, exponent, mantissa) = ((bits & 0x8000) << 16, (bits >> 10) & 0x1f, bits & 0x3ff);
    match exponent {
        0 => {
            #[expect(clippy::cast_precision_loss, reason = "ten bits")]
            let small = mantissa as f32 * 2.0_f32.powi(-24);
            f32::from_bits(small.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | (mantissa << 13)),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | (mantissa << 13)),
    }
}

fn half_at(block: &[u8], at: usize) -> f32 {
    half([block[at], block[at + 1]])
}

fn q4_0(block: &[u8], out: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    small(&block[2..], 0, |quant| (f32::from(quant) - 8.0) * scale, out);
}

fn q4_1(block: &[u8], out: &mut Vec<f32>) {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    small(&block[4..], 0, |quant| f32::from(quant) * scale + least, out);
}

fn q5_0(block: &[u8], out: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    let fifth = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
    small(&block[6..], fifth, |quant| (f32::from(quant) - 16.0) * scale, out);
}

fn q5_1(block: &[u8], out: &mut Vec<f32>) {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let fifth = u32::from_le_bytes([block[4], block[5], block[6], block[7]]);
    small(&block[8..], fifth, |quant| f32::from(quant) * scale + least, out);
}

/// Sixteen bytes hold the low four bits of 32 numbers: first the lower halves, then the upper
/// ones. The fifth bits are in a separate word.
fn small(quants: &[u8], fifth: u32, number: impl Fn(u8) -> f32, out: &mut Vec<f32>) {
    let fifth = |index: usize| if fifth >> index & 1 == 1 { 16 } else { 0 };
    let low = quants.iter().enumerate();
    out.extend(low.map(|(index, byte)| number((byte & 15) | fifth(index))));
    let high = quants.iter().enumerate();
    out.extend(high.map(|(index, byte)| number((byte >> 4) | fifth(index + 16))));
}

fn q8_0(block: &[u8], out: &mut Vec<f32>) {
    let scale = half_at(block, 0);
    out.extend(block[2..].iter().map(|byte| f32::from(byte.cast_signed()) * scale));
}

fn q2k(block: &[u8], out: &mut Vec<f32>) {
    let (scales, quants) = block.split_at(16);
    let (scale, least) = (half_at(block, 80), half_at(block, 82));
    groups::<16>(out, |group, index| {
        let scales = scales[group];
        let quant = two_bits(quants, index);
        scale * f32::from(scales & 15) * f32::from(quant) - least * f32::from(scales >> 4)
    });
}

fn q3k(block: &[u8], out: &mut Vec<f32>) {
    let (high, rest) = block.split_at(32);
    let (quants, scales) = rest.split_at(64);
    let scale = half_at(block, 108);
    groups::<16>(out, |group, index| {
        let low = if group < 8 { scales[group] & 15 } else { scales[group - 8] >> 4 };
        let of_group = low | ((scales[8 + group % 4] >> (2 * (group / 4))) & 3) << 4;
        let is_high = high[index % 32] >> (index / 32) & 1 == 1;
        let quant = f32::from(two_bits(quants, index)) - if is_high { 0.0 } else { 4.0 };
        scale * (f32::from(of_group) - 32.0) * quant
    });
}

fn q4k(block: &[u8], out: &mut Vec<f32>) {
    let quants = &block[16..];
    groups::<32>(out, |group, index| {
        let (scale, least) = scale_and_least(block, group);
        scale * f32::from(four_bits(quants, index)) - least
    });
}

fn q5k(block: &[u8], out: &mut Vec<f32>) {
    let (high, quants) = block[16..].split_at(32);
    groups::<32>(out, |group, index| {
        let (scale, least) = scale_and_least(block, group);
        let fifth = (high[index % 32] >> group & 1) << 4;
        scale * f32::from(four_bits(quants, index) | fifth) - least
    });
}

fn q6k(block: &[u8], out: &mut Vec<f32>) {
    let (low, rest) = block.split_at(128);
    let (high, scales) = rest.split_at(64);
    let scale = half_at(block, 208);
    groups::<16>(out, |group, index| {
        let (half, part, place) = (index / 128, index % 128 / 32, index % 32);
        let byte = low[half * 64 + part % 2 * 32 + place];
        let four = if part < 2 { byte & 15 } else { byte >> 4 };
        let quant = four | (high[half * 32 + place] >> (2 * part) & 3) << 4;
        scale * f32::from(scales[group].cast_signed()) * (f32::from(quant) - 32.0)
    });
}

/// The numbers of a large block, in groups that share a scale.
fn groups<const N: usize>(out: &mut Vec<f32>, number: impl Fn(usize, usize) -> f32) {
    out.extend((0..SUPER_BLOCK).map(|index| number(index / N, index)));
}

/// Each byte has two bits of four numbers, which are 32 apart.
fn two_bits(quants: &[u8], index: usize) -> u8 {
    quants[index / 128 * 32 + index % 32] >> (index % 128 / 32 * 2) & 3
}

/// Each byte has four bits of two numbers, which are 32 apart.
fn four_bits(quants: &[u8], index: usize) -> u8 {
    quants[index / 64 * 32 + index % 32] >> (index % 64 / 32 * 4) & 15
}

/// Scale and minimum of a group of 32, six bits each.
fn scale_and_least(block: &[u8], group: usize) -> (f32, f32) {
    let packed = &block[4..16];
    let (scale, least) = if group < 4 {
        (packed[group] & 63, packed[group + 4] & 63)
    } else {
        let low = packed[group + 4];
        (low & 15 | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4)
    };
    (half_at(block, 0) * f32::from(scale), half_at(block, 2) * f32::from(least))
}
