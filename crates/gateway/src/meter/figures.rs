//! Figures that every lane counts on its own; whoever reads them adds them up.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use foldhash::fast::RandomState;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use crate::apart::Apart;

/// The most bounds of a histogram.
const MAX_BOUNDS: usize = 16;

/// What only grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Count(Arc<Apart<AtomicU64>>);

/// How many there are now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level(Arc<Apart<AtomicI64>>);

/// How long something takes.
#[derive(Debug, Clone)]
pub(crate) struct Durations {
    /// In seconds, ascending.
    bounds: &'static [f64],
    lanes: Arc<Apart<Times>>,
}

/// How long something took on one lane.
#[derive(Debug, Default)]
struct Times {
    /// How many took at most as long as each bound says, and more than the one before; those that
    /// took longer than all of them come last.
    counts: [AtomicU64; MAX_BOUNDS + 1],
    nanos: AtomicU64,
}

/// One figure for each set of labels that was seen.
pub(super) struct Labelled<L, M> {
    seen: Arc<papaya::HashMap<L, M, RandomState>>,
    make: fn() -> M,
}

impl Count {
    pub(crate) fn inc(&self) {
        self.inc_by(1);
    }

    pub(crate) fn inc_by(&self, by: u64) {
        self.0.own().fetch_add(by, Ordering::Relaxed);
    }
}

impl Level {
    pub(crate) fn inc(&self) {
        self.0.own().fetch_add(1, Ordering::Relaxed);
    }

    /// May be on another lane than it was counted on: the sum is right.
    pub(crate) fn dec(&self) {
        self.0.own().fetch_sub(1, Ordering::Relaxed);
    }
}

impl Durations {
    /// In seconds, ascending, [`MAX_BOUNDS`] at most.
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds: &bounds[..bounds.len().min(MAX_BOUNDS)], lanes: Arc::default() }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let times = self.lanes.own();
        let place = self.bounds.partition_point(|bound| *bound < seconds);
        times.counts[place].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        times.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl<L: Hash + Eq, M: Clone> Labelled<L, M> {
    pub(super) fn new(make: fn() -> M) -> Self {
        Self { seen: Arc::new(papaya::HashMap::with_hasher(RandomState::default())), make }
    }

    /// Does something with the figure of these labels.
    pub(super) fn with<T>(&self, labels: L, what: impl FnOnce(&M) -> T) -> T {
        let seen = self.seen.pin();
        match seen.get(&labels) {
            Some(figure) => what(figure),
            None => what(seen.get_or_insert_with(labels, self.make)),
        }
    }

    /// How many sets of labels were seen.
    pub(super) fn len(&self) -> usize {
        self.seen.len()
    }

    /// The figure of these labels.
    pub(super) fn get(&self, labels: L) -> M {
        self.with(labels, M::clone)
    }
}

impl<L, M> Clone for Labelled<L, M> {
    fn clone(&self) -> Self {
        Self { seen: self.seen.clone(), make: self.make }
    }
}

impl<L: fmt::Debug + Hash + Eq, M: fmt::Debug> fmt::Debug for Labelled<L, M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.seen.fmt(formatter)
    }
}

impl EncodeMetric for Count {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let sum: u64 = self.0.all().map(|count| count.load(Ordering::Relaxed)).sum();
        encoder.encode_counter::<NoLabelSet, u64, u64>(&sum, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Count {
    const TYPE: MetricType = MetricType::Counter;
}

impl EncodeMetric for Level {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let sum: i64 = self.0.all().map(|count| count.load(Ordering::Relaxed)).sum();
        encoder.encode_gauge(&sum)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Level {
    const TYPE: MetricType = MetricType::Gauge;
}

impl EncodeMetric for Durations {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let sum_at = |place: usize| -> u64 {
            self.lanes.all().map(|times| times.counts[place].load(Ordering::Relaxed)).sum()
        };
        let counts: Vec<(f64, u64)> =
            bounds.enumerate().map(|(place, bound)| (bound, sum_at(place))).collect();
        let count = counts.iter().map(|(_, count)| count).sum();
        let nanos = self.lanes.all().map(|times| times.nanos.load(Ordering::Relaxed)).sum();
        let seconds = Duration::from_nanos(nanos).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(seconds, count, &counts, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Durations {
    const TYPE: MetricType = MetricType::Histogram;
}

impl<L, M> EncodeMetric for Labelled<L, M>
where
    L: EncodeLabelSet + Hash + Eq,
    M: EncodeMetric + TypedMetric,
{
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        for (labels, figure) in &self.seen.pin() {
            figure.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::{Metric, Registry};

    use super::*;
    use crate::lane::{self, Lanes};

    const BOUNDS: [f64; 3] = [0.001, 0.25, 2.0];

    fn text(first: impl Metric, second: impl Metric, third: impl Metric) -> String {
        let mut registry = Registry::default();
        registry.register("first", "What it is", first);
        registry.register("second", "What it is", second);
        registry.register("third", "What it is", third);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn figures_read_as_those_of_the_library() {
        type Label = [(&'static str, &'static str); 1];
        let (count, level) = (Labelled::<Label, Count>::new(Count::default), Level::default());
        let durations = Durations::new(&BOUNDS);
        let (counter, gauge) = (Family::<Label, Counter>::default(), Gauge::<i64>::default());
        let histogram = Histogram::new(BOUNDS);
        for millis in [0_u16, 1, 2, 250, 251, 1999, 2000, 2001, 60_000] {
            durations.observe(Duration::from_millis(millis.into()));
            histogram.observe(f64::from(millis) / 1000.0);
            count.with([("of", "all")], |count| count.inc_by(millis.into()));
            counter.get_or_create(&[("of", "all")]).inc_by(millis.into());
            level.inc();
            gauge.inc();
        }
        level.dec();
        gauge.dec();
        let own = text(count, level, durations);
        let known = text(counter, gauge, histogram);
        assert_eq!(own, known);
        assert!(own.contains("first_total{of=\"all\"} 66504\n") && own.contains("second 8\n"));
    }

    #[tokio::test]
    async fn what_all_lanes_count_is_one_figure() {
        let (count, level, durations) =
            (Count::default(), Level::default(), Durations::new(&BOUNDS));
        let lanes = Lanes::start().unwrap();
        let (mut seen, mut places) = (Vec::new(), Vec::new());
        for _ in 1..lane::numbers() {
            let (lane, place) = lanes.take().unwrap();
            places.push(place);
            let (count, level, durations) = (count.clone(), level.clone(), durations.clone());
            let work = lane.handle.spawn(async move {
                count.inc();
                level.inc();
                durations.observe(Duration::from_secs(1));
                lane::number()
            });
            seen.push(work.await.unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen, (1..lane::numbers()).collect::<Vec<_>>());
        // Here, on no lane.
        level.dec();
        let lanes = seen.len();
        let text = text(count, level, durations);
        assert!(text.contains(&format!("\nfirst_total {lanes}\n")), "{text}");
        assert!(text.contains(&format!("\nsecond {}\n", lanes - 1)), "{text}");
        assert!(text.contains(&format!("\nthird_bucket{{le=\"2.0\"}} {lanes}\n")), "{text}");
        assert!(text.contains(&format!("\nthird_sum {lanes}.0\n")), "{text}");
    }
}
