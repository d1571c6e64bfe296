//! Stores that this build does not know: those of other builds, and those of nobody.

use stanchion_core::{Error, ErrorKind};

use crate::BACKENDS;

/// Every feature, and the schemes that it brings.
const FEATURES: &[(&str, &[&str])] = &[
    ("file", &["file"]),
    ("sqlite", &["sqlite"]),
    ("redis", &["redis", "rediss"]),
    ("postgres", &["postgres", "postgresql"]),
    ("redlock", &["redlock", "redlocks"]),
    ("mysql", &["mysql", "mysqls", "mariadb"]),
    ("etcd", &["etcd", "etcds"]),
    ("zookeeper", &["zookeeper", "zookeepers", "zk"]),
    ("consul", &["consul", "consuls"]),
    ("nats", &["nats", "natss"]),
    ("dynamodb", &["dynamodb"]),
];

/// The refusal of a scheme that no backend of this build answers to.
pub(crate) fn unknown(scheme: &str) -> Error {
    if let Some(feature) = feature(scheme) {
        return Error::new(ErrorKind::Unsupported, "this build does not know such a store")
            .with("scheme", scheme)
            .hint(format!("{scheme}: is not in this build; install with --features {feature} (or full)"));
    }
    let known: Vec<_> = BACKENDS.iter().flat_map(|backend| backend.schemes()).map(|s| format!("{s}:")).collect();
    Error::new(ErrorKind::Invalid, "unknown store scheme")
        .with("scheme", scheme)
        .hint(format!("this build knows {}", known.join(", ")))
}

/// The feature that brings `scheme`.
fn feature(scheme: &str) -> Option<&'static str> {
    FEATURES.iter().find(|(_, schemes)| schemes.contains(&scheme)).map(|(feature, _)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `--features full` this keeps the list complete.
    #[test]
    fn every_scheme_of_this_build_is_known_to_the_others() {
        for backend in BACKENDS {
            for scheme in backend.schemes().iter().filter(|scheme| **scheme != "memory") {
                assert_eq!(feature(scheme), Some(backend.schemes()[0]), "{scheme}");
            }
        }
        assert_eq!(feature("reddis"), None);
    }

    #[test]
    fn a_store_of_another_build_says_how_to_get_it() {
        let refused = unknown("mysql");
        assert_eq!(refused.next_step(), Some("mysql: is not in this build; install with --features mysql (or full)"));
        assert_eq!(unknown("reddis").kind(), ErrorKind::Invalid);
    }
}
