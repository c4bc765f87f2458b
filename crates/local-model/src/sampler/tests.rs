//! Tests of `sampler`.

use super::*;

fn sampler(wishes: &Sampling) -> Sampler {
    let defaults = Defaults { system: None, temperature: 0.0, top_p: 1.0, repeat_penalty: 1.0 };
    Sampler::new(wishes, &defaults)
}

#[test]
fn zero_temperature_selects_the_likeliest_token() {
    assert_eq!(sampler(&Sampling::default()).next(&mut [0.0, 3.0, 3.0, 1.0], &[]), 1);
}

#[test]
fn repeat_penalty_applies_to_recent_tokens() {
    let mut sampler = sampler(&Sampling { repeat_penalty: Some(2.0), ..Sampling::default() });
    assert_eq!(sampler.next(&mut [1.0, 1.5, -1.0], &[1]), 0);
    let long: Vec<u32> = [1].into_iter().chain([0; LATELY]).collect();
    assert_eq!(sampler.next(&mut [1.0, 1.5, -1.0], &long), 1);
}

#[test]
fn presence_and_frequency_penalties_apply() {
    let wishes = Sampling { presence_penalty: 0.5, frequency_penalty: 0.25, ..Sampling::default() };
    let mut sampler = sampler(&wishes);
    let mut taken = [0; 2];
    for _ in 0..6 {
        taken[sampler.next(&mut [1.0, 0.2], &[]) as usize] += 1;
    }
    assert_eq!(taken, [5, 1]);
}

#[test]
fn top_p_limits_the_candidates_and_a_seed_is_deterministic() {
    let logits: Vec<f32> = (0..1000_u16).map(|index| f32::from(index % 10)).collect();
    let wishes = |seed| Sampling {
        temperature: Some(1.0),
        top_p: Some(0.3),
        seed: Some(seed),
        ..Sampling::default()
    };
    let drawn = |seed| {
        let mut sampler = sampler(&wishes(seed));
        (0..50).map(|_| sampler.next(&mut logits.clone(), &[])).collect::<Vec<_>>()
    };
    assert!(drawn(7).iter().all(|token| token % 10 == 9), "{:?}", drawn(7));
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
}

#[test]
fn sampling_follows_the_probabilities() {
    let wishes = Sampling { temperature: Some(1.0), seed: Some(1), ..Sampling::default() };
    let mut sampler = sampler(&wishes);
    let logits = [1.0_f32.ln(), 3.0_f32.ln()];
    let second = (0..4000).filter(|_| sampler.next(&mut logits.clone(), &[]) == 1).count();
    assert!((2850..3150).contains(&second), "{second}");
}
