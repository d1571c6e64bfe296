//! Latencies in buckets of at most 1.6 % width, small enough to pass between processes as text.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counts per bucket. The peers in other languages use the same buckets: for a time of `v` nanoseconds
/// `e = max(0, bits(v) - 7)`, and the bucket is `e * 64 + (v >> e)`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Sparse", into = "Sparse")]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    max_ns: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Sparse {
    counts: Vec<(usize, u64)>,
    max_ns: u64,
}

/// More than any 64-bit number of nanoseconds needs.
const BUCKETS: usize = 4096;

impl Histogram {
    pub(crate) fn record(&mut self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.add(bucket(ns), 1);
        self.max_ns = self.max_ns.max(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(bucket, *count);
        }
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The time that `share` of all samples did not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let total: u64 = self.counts.iter().sum();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts of samples"
        )]
        let wanted = (total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return Duration::from_nanos(middle(bucket).min(self.max_ns));
            }
        }
        Duration::ZERO
    }

    pub(crate) fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    fn add(&mut self, bucket: usize, count: u64) {
        // A bucket beyond the last can only come from a broken peer.
        let bucket = bucket.min(BUCKETS - 1);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += count;
    }
}

fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(7);
    usize::try_from(u64::from(shift) * 64 + (ns >> shift)).unwrap_or(BUCKETS)
}

fn middle(bucket: usize) -> u64 {
    let shift = (bucket / 64).saturating_sub(1);
    let low = (bucket - shift * 64) as u64;
    let half = if shift == 0 { 0 } else { 1 << (shift - 1) };
    low.checked_shl(u32::try_from(shift).unwrap_or(u32::MAX)).map_or(u64::MAX, |low| low.saturating_add(half))
}

impl From<Sparse> for Histogram {
    fn from(sparse: Sparse) -> Self {
        let mut histogram = Self { counts: Vec::new(), max_ns: sparse.max_ns };
        sparse.counts.into_iter().for_each(|(bucket, count)| histogram.add(bucket, count));
        histogram
    }
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let counts = histogram.counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        Self { counts, max_ns: histogram.max_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_at_most_1_6_percent_wide() {
        for ns in [0, 1, 127, 128, 129, 1_000, 65_535, 65_536, 1_234_567, 9_876_543_210, u64::MAX / 3] {
            let back = middle(bucket(ns));
            assert!(back.abs_diff(ns) <= ns / 64, "{ns} became {back}");
        }
    }

    #[test]
    fn quantiles_survive_the_way_through_text() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.record(Duration::from_micros(us)));
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        let median = back.quantile(0.5).as_micros();
        assert!((490..=510).contains(&median), "{median}");
        assert_eq!(back.max(), Duration::from_micros(1000));
    }
}
