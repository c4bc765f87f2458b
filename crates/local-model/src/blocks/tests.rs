//! Tests of `blocks`.

use std::sync::Arc;

use super::*;

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32() * 2.0 - 1.0).collect()
}

fn rows(columns: usize, numbers: &[f32]) -> Rows {
    let mut rows = Rows::new(columns);
    rows.extend(numbers, Processor::detect());
    rows
}

#[test]
fn quantized_blocks_are_exact_to_half_a_step() {
    let before = numbers(96, 1);
    let rows = rows(96, &before);
    let mut after = vec![0.0; 96];
    rows.write(0, &mut after);
    for (before, after) in before.iter().zip(&after) {
        assert!((before - after).abs() <= 0.51 / 127.0, "{before} {after}");
    }
}

#[test]
fn a_block_of_zeros_round_trips() {
    let rows = rows(32, &[0.0; 32]);
    let mut after = vec![1.0; 32];
    rows.write(0, &mut after);
    assert_eq!(after, [0.0; 32]);
}

#[test]
fn products_are_correct_for_every_shape_and_processor() {
    for (count, columns, inputs) in [(1, 32, 1), (7, 64, 1), (70, 96, 3), (33, 576, 9)] {
        let (left, right) = (numbers(count * columns, 2), numbers(inputs * columns, 3));
        let (weights, asked) = (rows(columns, &left), rows(columns, &right));
        let exact = |row: usize, input: usize| -> f32 {
            let left = &left[row * columns..][..columns];
            left.iter().zip(&right[input * columns..]).map(|(left, right)| left * right).sum()
        };
        for processor in [Processor::detect(), Processor::Plain] {
            for threads in [1, 2] {
                let mut pool = ThreadPool::open(threads, Arc::default()).unwrap();
                pool.processor = processor;
                let mut out = vec![0.0; count * inputs];
                pool.work(|| weights.multiply(&asked, &mut out, &pool));
                for input in 0..inputs {
                    for row in 0..count {
                        let (got, wanted) = (out[input * count + row], exact(row, input));
                        let near = (got - wanted).abs() < 0.5;
                        assert!(near, "{row} {input}: {got} {wanted}");
                    }
                }
            }
        }
    }
}
