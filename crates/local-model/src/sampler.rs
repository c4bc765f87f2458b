//! Sampling of the next token.

use crate::{Defaults, Sampling};

/// Number of last tokens that count as recent.
const LATELY: usize = 64;
/// Number of sorted likeliest tokens; more are considered only if these do not suffice.
const LIKELIEST: usize = 256;

#[derive(Debug)]
pub(crate) struct Sampler {
    temperature: f32,
    top_p: f32,
    repeat_penalty: f32,
    presence_penalty: f32,
    frequency_penalty: f32,
    random: fastrand::Rng,
    /// Token counts of the answer; sparse.
    answer: Vec<(u32, u16)>,
    /// Reused to avoid allocations.
    candidates: Vec<(f32, u32)>,
}

impl Sampler {
    pub(crate) fn new(wishes: &Sampling, defaults: &Defaults) -> Self {
        Self {
            temperature: wishes.temperature.unwrap_or(defaults.temperature),
            top_p: wishes.top_p.unwrap_or(defaults.top_p),
            repeat_penalty: wishes.repeat_penalty.unwrap_or(defaults.repeat_penalty),
            presence_penalty: wishes.presence_penalty,
            frequency_penalty: wishes.frequency_penalty,
            random: wishes.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed),
            answer: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Samples the token after `before`.
    pub(crate) fn next(&mut self, logits: &mut [f32], before: &[u32]) -> u32 {
        self.discourage(logits, before);
        let token = if self.temperature <= 0.0 { best(logits) } else { self.by_chance(logits) };
        match self.answer.iter_mut().find(|(known, _)| *known == token) {
            Some((_, times)) => *times = times.saturating_add(1),
            None => self.answer.push((token, 1)),
        }
        token
    }

    fn discourage(&self, logits: &mut [f32], before: &[u32]) {
        if self.repeat_penalty > 0.0 && self.repeat_penalty.to_bits() != 1.0_f32.to_bits() {
            let mut lately = before[before.len().saturating_sub(LATELY)..].to_vec();
            lately.sort_unstable();
            lately.dedup();
            for token in lately {
                if let Some(number) = logits.get_mut(token as usize) {
                    let more = *number > 0.0;
                    let factor = self.repeat_penalty;
                    *number = if more { *number / factor } else { *number * factor };
                }
            }
        }
        for (token, times) in &self.answer {
            if let Some(number) = logits.get_mut(*token as usize) {
                *number -= self.presence_penalty + self.frequency_penalty * f32::from(*times);
            }
        }
    }

    fn by_chance(&mut self, logits: &[f32]) -> u32 {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let chance = |number: f32| ((number - largest) / self.temperature).exp();
        let all: f32 = logits.iter().map(|number| chance(*number)).sum();
        let candidates = &mut self.candidates;
        candidates.clear();
        candidates.extend(logits.iter().zip(0..).map(|(number, token)| (chance(*number), token)));
        let mut wanted = all * self.top_p.min(1.0);
        let mut sum = all;
        if self.top_p < 1.0 {
            let descending = |left: &(f32, u32), right: &(f32, u32)| {
                right.0.total_cmp(&left.0).then(left.1.cmp(&right.1))
            };
            if candidates.len() > LIKELIEST {
                candidates.select_nth_unstable_by(LIKELIEST, descending);
                let first: f32 = candidates[..LIKELIEST].iter().map(|(chance, _)| chance).sum();
                let sorted = if first >= wanted { LIKELIEST } else { candidates.len() };
                candidates.truncate(sorted);
            }
            candidates.sort_unstable_by(descending);
            sum = 0.0;
            let enough = candidates.iter().position(|(chance, _)| {
                sum += chance;
                sum >= wanted
            });
            candidates.truncate(enough.map_or(candidates.len(), |last| last + 1));
        }
        wanted = self.random.f32() * sum;
        for (chance, token) in &*candidates {
            wanted -= chance;
            if wanted < 0.0 {
                return *token;
            }
        }
        candidates.last().map_or(0, |(_, token)| *token)
    }
}

/// The likeliest token; the first of equals.
fn best(logits: &[f32]) -> u32 {
    let mut best = (f32::NEG_INFINITY, 0);
    for (number, token) in logits.iter().zip(0..) {
        if *number > best.0 {
            best = (*number, token);
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
