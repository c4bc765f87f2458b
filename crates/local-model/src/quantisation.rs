//! Storage formats of numbers in a file, as defined by GGML.

/// A format: its number in files, its name, and its blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    number: u32,
    pub(crate) name: &'static str,
    pub(crate) block_numbers: usize,
    pub(crate) block_bytes: usize,
    decode: fn(&[u8], &mut Vec<f32>),
}

/// Numbers per block in the formats whose names end with `K`.
const SUPER_BLOCK: usize = 256;

const FORMS: &[Form] = &[
    Form::new(0, "F32", (1, 4), f32),
    Form::new(1, "F16", (1, 2), f16),
    Form::new(2, "Q4_0", (32, 18), q4_0),
    Form::new(3, "Q4_1", (32, 20), q4_1),
    Form::new(6, "Q5_0", (32, 22), q5_0),
    Form::new(7, "Q5_1", (32, 24), q5_1),
    Form::new(8, "Q8_0", (32, 34), q8_0),
    Form::new(10, "Q2K", (SUPER_BLOCK, 84), q2k),
    Form::new(11, "Q3K", (SUPER_BLOCK, 110), q3k),
    Form::new(12, "Q4K", (SUPER_BLOCK, 144), q4k),
    Form::new(13, "Q5K", (SUPER_BLOCK, 176), q5k),
    Form::new(14, "Q6K", (SUPER_BLOCK, 210), q6k),
    Form::new(30, "BF16", (1, 2), bf16),
];

impl Form {
    const fn new(
        number: u32,
        name: &'static str,
        (block_numbers, block_bytes): (usize, usize),
        decode: fn(&[u8], &mut Vec<f32>),
    ) -> Self {
        Self { number, name, block_numbers, block_bytes, decode }
    }

    pub(crate) fn from_number(number: u32) -> Option<Self> {
        FORMS.iter().copied().find(|form| form.number == number)
    }

    pub(crate) fn decode(self, data: &[u8], out: &mut Vec<f32>) {
        // Formats without blocks are decoded at once.
        let step = if self.block_numbers == 1 { data.len() } else { self.block_bytes };
        for block in data.chunks_exact(step.max(1)) {
            (self.decode)(block, out);
        }
    }
}

fn f32(data: &[u8], out: &mut Vec<f32>) {
    out.extend(data.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)));
}

fn f16(data: &[u8], out: &mut Vec<f32>) {
    out.extend(data.as_chunks().0.iter().map(|two| half(*two)));
}

fn bf16(data: &[u8], out: &mut Vec<f32>) {
    let number = |[low, high]: &[u8; 2]| f32::from_le_bytes([0, 0, *low, *high]);
    out.extend(data.as_chunks().0.iter().map(number));
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
