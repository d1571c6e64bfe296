//! What is counted, for Prometheus.

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use stanchion_core::{Error, ErrorKind, Result};

/// Where times are told apart, in seconds: from what a local store takes to what a lock is waited for.
const SECONDS: &[f64] = &[0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0, 600.0];

/// From here on everything that is counted is kept.
///
/// # If it fails
/// `Unexpected`: something else counts already.
pub(super) fn install() -> Result<PrometheusHandle> {
    let failed = |e| Error::new(ErrorKind::Unexpected, "the metrics cannot be kept").because(e);
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
        .map_err(failed)?
        .install_recorder()
        .map_err(failed)
}
