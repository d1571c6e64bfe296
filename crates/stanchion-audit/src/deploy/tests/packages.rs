//! Which package a fact is about.

use super::super::*;

/// How many run, by package, where the files stand.
fn by_package(files: &[(&str, &str)], path: &str) -> bool {
    let deployment = Deployment::read(files.iter().copied());
    deployment.of(&BTreeSet::from([deployment.package(path)])).is_many()
}

#[test]
fn a_fact_is_about_its_package() {
    let tool = ("tool/src/a.ts", "import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';");
    let package = ("tool/package.json", "{\"name\": \"tool\"}");
    let api = ("api/src/a.ts", "export const x = 1;");
    let both = [tool, package, api];
    assert!(by_package(&both, "tool/src/b.ts") && !by_package(&both, "api/src/a.ts"));
    // A manifest above speaks of all, code above does not.
    let compose = ("compose.yaml", "services:\n  web:\n    scale: 3\n");
    assert!(by_package(&[tool, package, api, compose], "api/src/a.ts"));
    assert!(!by_package(&[("src/a.ts", tool.1), package, ("tool/src/a.ts", api.1)], "tool/src/a.ts"));
    // A folder that is no package, with manifests only, speaks of all; so does everything where there is one package.
    let elsewhere = ("k8s/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 2\n");
    assert!(by_package(&[package, ("tool/src/a.ts", api.1), api, elsewhere], "api/src/a.ts"));
    assert!(by_package(&[package, tool, ("scripts/a.ts", "")], "scripts/a.ts"));
    // How files are to be read makes no package.
    assert!(by_package(&[tool, ("tool/package.json", "{\"type\": \"module\"}"), api], "api/src/a.ts"));
}

#[test]
fn folders_with_manifests_of_their_own_are_services() {
    let many = ("a/Dockerfile", "CMD [\"gunicorn\", \"-w\", \"4\", \"a\"]");
    let one = ("b/Dockerfile", "CMD [\"gunicorn\", \"-w\", \"1\", \"a\"]");
    let (a, b) = (("a/main.py", "x = 1\n"), ("b/main.py", "x = 1\n"));
    assert!(by_package(&[many, one, a, b], "a/main.py") && !by_package(&[many, one, a, b], "b/main.py"));
    assert!(!by_package(&[many, one, a, b, ("c/main.py", "x = 1\n")], "c/main.py"));
    let chart = ("b/chart/values.yaml", "replicaCount: 4\n");
    assert!(by_package(&[many, chart, a, b], "b/main.py"));
    assert!(!by_package(&[one, chart, a, b, ("a/compose.yaml", "services:\n  web:\n    scale: 1\n")], "a/main.py"));
    // The one folder of manifests, with a helper beside them.
    assert!(by_package(&[many, ("a/check.py", ""), ("src/main.py", "x = 1\n")], "src/main.py"));
}

#[test]
fn very_many_packages_count_as_one() {
    let paths: Vec<_> = (0..2_000).flat_map(|n| [format!("p{n}/package.json"), format!("p{n}/a.js")]).collect();
    let files: Vec<_> = paths.iter().map(|path| (path.as_str(), "{\"name\": \"a\"}")).collect();
    assert_eq!(Deployment::read(files).package("p1/a.js"), "");
}
