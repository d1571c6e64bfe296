//! Stores that exist, but not in this build.

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

/// The feature that brings `scheme`.
pub(crate) fn feature(scheme: &str) -> Option<&'static str> {
    FEATURES.iter().find(|(_, schemes)| schemes.contains(&scheme)).map(|(feature, _)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BACKENDS;

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

    #[cfg(not(feature = "mysql"))]
    #[tokio::test]
    async fn a_store_that_is_not_in_this_build_says_how_to_get_it() {
        let refused = crate::open("mysql://app@db/app").await.map(drop).unwrap_err();
        assert_eq!(refused.next_step(), Some("mysql: is not in this build; install with --features mysql (or full)"));
    }
}
