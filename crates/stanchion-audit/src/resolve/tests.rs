use super::{exports::WHOLE, *};
use crate::hir::{Export, Module};

/// What the resolver makes of `module` (and `name`, unless it is empty) in file `from`: a path, or a package in `<>`.
fn found(files: &[&str], configs: &[(&str, &str)], from: &str, module: &str, name: &str) -> String {
    let resolver = Resolver::new(files, configs);
    let what = if name.is_empty() { Imported::Module } else { Imported::Name(name.to_owned()) };
    let from = files.iter().position(|file| *file == from).unwrap();
    let path = |index: usize| files[index].to_owned();
    match resolver.resolve(from, &Import { local: "x".into(), module: module.into(), what }) {
        Target::File(index) => path(index),
        Target::Module(index) => format!("={}", path(index)),
        Target::Files(files) => files.into_iter().map(path).collect::<Vec<_>>().join(" "),
        Target::Package(name) => format!("<{name}>"),
        Target::Unknown => "?".to_owned(),
    }
}

#[test]
fn javascript_guesses_endings_and_prefers_sources() {
    let files = ["src/a.ts", "src/a.js", "src/b.tsx", "src/c/index.mjs", "src/d.mts", "src/e.jsx", "index.js"];
    for (module, expected) in [
        ("./a", "src/a.ts"),
        ("./a.js", "src/a.ts"),
        ("./a.ts", "src/a.ts"),
        ("./b", "src/b.tsx"),
        ("./b.js", "src/b.tsx"),
        ("./c", "src/c/index.mjs"),
        ("./c/", "src/c/index.mjs"),
        ("./d.mjs", "src/d.mts"),
        ("./e?raw", "src/e.jsx"),
        ("..", "index.js"),
        ("../src/../src/./a", "src/a.ts"),
        ("../../../a", "?"),
        ("./none", "?"),
        ("./data.json", "?"),
        ("node:fs/promises", "<fs/promises>"),
        ("fs", "<fs>"),
        ("@scope/pkg/sub.js", "<@scope/pkg/sub.js>"),
        ("#none", "?"),
        ("", "?"),
    ] {
        assert_eq!(found(&files, &[], "src/a.ts", module, ""), expected, "{module}");
    }
}

#[test]
fn tsconfig_paths_with_comments_extends_and_references() {
    let files = ["app/src/main.ts", "app/src/lib/store.ts", "shared/log.ts", "web/src/x.ts", "web/src/ui/y.tsx"];
    let configs = [
        (
            "tsconfig.base.json",
            r#"{"compilerOptions": {"paths": {"@shared/*": ["shared/*"], "log": ["./shared/log"]}}}"#,
        ),
        (
            "app/tsconfig.json",
            "{ // with comments\n\"extends\": \"../tsconfig.base\", /* and */ \"compilerOptions\": {\"baseUrl\": \"src\",},}",
        ),
        ("web/tsconfig.json", r#"{"files": [], "references": [{"path": "./tsconfig.app.json"}]}"#),
        (
            "web/tsconfig.app.json",
            r#"{"compilerOptions": {"paths": {"@/*": ["./src/*"], "@/ui/*": ["./none/*", "./src/ui/*"]}}}"#,
        ),
    ];
    let app = |module| found(&files, &configs, "app/src/main.ts", module, "");
    assert_eq!(app("@shared/log"), "shared/log.ts");
    assert_eq!(app("log"), "shared/log.ts");
    assert_eq!(app("lib/store"), "app/src/lib/store.ts");
    assert_eq!(app("express"), "<express>");
    let web = |module| found(&files, &configs, "web/src/x.ts", module, "");
    assert_eq!(web("@/x"), "web/src/x.ts");
    assert_eq!(web("@/ui/y"), "web/src/ui/y.tsx");
}

#[test]
fn broken_and_cyclic_configuration_counts_as_empty() {
    let files = ["a.ts", "b.ts"];
    for text in ["{", "", "[]", "null", r#"{"compilerOptions": 3}"#, r#"{"compilerOptions": {"paths": [1]}}"#] {
        assert_eq!(found(&files, &[("tsconfig.json", text), ("package.json", text)], "a.ts", "./b", ""), "b.ts");
        assert_eq!(found(&files, &[("tsconfig.json", text)], "a.ts", "x", ""), "<x>");
    }
    let cyclic = [
        ("tsconfig.json", r#"{"extends": ["./tsconfig.x.json", "./tsconfig.x.json"], "references": [{"path": "."}]}"#),
        ("tsconfig.x.json", r#"{"extends": ["./tsconfig.json", "./tsconfig.json", "./tsconfig.x.json"]}"#),
    ];
    assert_eq!(found(&files, &cyclic, "a.ts", "x", ""), "<x>");
    let own = format!("{{\"extends\": [{}\"./tsconfig.json\"]}}", "\"./tsconfig.json\",".repeat(30));
    assert_eq!(found(&files, &[("tsconfig.json", &own)], "a.ts", "x", ""), "<x>"); // 31 to the 8th readings else
    assert_eq!(found(&["a.rs"], &[("Cargo.toml", "[package")], "a.rs", "crate::x", ""), "a.rs");
    assert_eq!(found(&["a.go"], &[("go.mod", "module\n\0")], "a.go", "x", ""), "<x>");
}

#[test]
fn package_imports_and_workspace_packages() {
    let files = [
        "packages/app/src/main.ts",
        "packages/app/src/internal/db.ts",
        "packages/core/src/index.ts",
        "packages/core/src/locks/redis.ts",
        "packages/plain/index.js",
        "packages/esm/src/entry.ts",
        "packages/esm/src/x.ts",
    ];
    let configs = [
        (
            "packages/app/package.json",
            r##"{"name": "app", "imports": {"#db": {"node": "./dist/internal/db.js"}, "#int/*": "./src/internal/*.ts"}}"##,
        ),
        ("packages/core/package.json", r#"{"name": "@acme/core", "main": "dist/index.js"}"#),
        ("packages/plain/package.json", r#"{"name": "plain"}"#),
        (
            "packages/esm/package.json",
            r#"{"name": "esm", "exports": {".": {"import": "./dist/esm/entry.js"}, "./*": ["./dist/*.js"]}}"#,
        ),
        ("examples/core/package.json", r#"{"name": "@acme/core", "main": "none.js"}"#),
    ];
    for (module, expected) in [
        ("#db", "packages/app/src/internal/db.ts"),
        ("#int/db", "packages/app/src/internal/db.ts"),
        ("@acme/core", "packages/core/src/index.ts"),
        ("@acme/core/locks/redis", "packages/core/src/locks/redis.ts"),
        ("plain", "packages/plain/index.js"),
        ("esm", "packages/esm/src/entry.ts"),
        ("esm/x", "packages/esm/src/x.ts"),
        ("node:plain", "<plain>"),
        ("@acme/other", "<@acme/other>"),
        ("@acme", "<@acme>"),
    ] {
        assert_eq!(found(&files, &configs, "packages/app/src/main.ts", module, ""), expected, "{module}");
    }
}

#[test]
fn python_relative_absolute_and_submodules() {
    let files = [
        "src/pkg/__init__.py",
        "src/pkg/a.py",
        "src/pkg/logging.py",
        "src/pkg/sub/__init__.py",
        "src/pkg/sub/b.py",
        "main.py",
        "helper.py",
        "space/mod.py",
        "other/src/tool/run.py",
        "tests/test_a.py",
    ];
    for (from, module, name, expected) in [
        ("src/pkg/a.py", ".", "sub", "=src/pkg/sub/__init__.py"),
        ("src/pkg/a.py", ".", "load", "src/pkg/__init__.py"),
        ("src/pkg/a.py", ".sub", "b", "=src/pkg/sub/b.py"),
        ("src/pkg/a.py", ".sub.b", "load", "src/pkg/sub/b.py"),
        ("src/pkg/sub/b.py", "..a", "load", "src/pkg/a.py"),
        ("src/pkg/sub/b.py", "..", "a", "=src/pkg/a.py"),
        ("src/pkg/sub/b.py", "......a", "x", "?"),
        ("src/pkg/a.py", "pkg.sub.b", "", "src/pkg/sub/b.py"),
        ("src/pkg/a.py", "pkg", "a", "=src/pkg/a.py"),
        ("src/pkg/a.py", "logging", "", "<logging>"),
        ("src/pkg/a.py", "os.path", "join", "<os.path>"),
        ("main.py", "helper", "run", "helper.py"),
        ("main.py", "pkg.a", "run", "src/pkg/a.py"),
        ("main.py", "space.mod", "run", "space/mod.py"),
        ("main.py", "space", "mod", "=space/mod.py"),
        ("tests/test_a.py", "pkg.a", "run", "src/pkg/a.py"),
        ("tests/test_a.py", "tool.run", "x", "other/src/tool/run.py"),
    ] {
        assert_eq!(found(&files, &[], from, module, name), expected, "{from}: {module} {name}");
    }
}

#[test]
fn go_packages_are_folders() {
    let files = ["cmd/main.go", "store/a.go", "store/b.go", "store/a_test.go", "lib/x/x.go", "empty/x_test.go", "a.py"];
    let configs = [
        (
            "go.mod",
            "module example.com/app // comment\n\nrequire x v1\nreplace (\n\texample.com/x v1.0 => ./lib/x\n)\n",
        ),
        ("lib/x/go.mod", "module example.com/app/nested\n"),
    ];
    for (module, expected) in [
        ("example.com/app/store", "store/a.go store/b.go"),
        ("example.com/x", "lib/x/x.go"),
        ("example.com/app/nested", "lib/x/x.go"),
        ("example.com/app/none", "?"),
        ("example.com/app/empty", "?"),
        ("example.com/apple", "<example.com/apple>"),
        ("encoding/json", "<encoding/json>"),
    ] {
        assert_eq!(found(&files, &configs, "cmd/main.go", module, ""), expected, "{module}");
    }
    let resolver = Resolver::new(&files, &configs);
    assert_eq!(resolver.same_package(1), [1, 2]);
    assert_eq!(resolver.same_package(3), [1, 2, 3]);
    assert!(resolver.same_package(6).is_empty() && resolver.same_package(99).is_empty());
}

#[test]
fn rust_modules_and_workspace_crates() {
    let files = [
        "a/src/lib.rs",
        "a/src/store/mod.rs",
        "a/src/store/file.rs",
        "a/src/lock.rs",
        "a/src/lock/redis.rs",
        "a/src/bin/tool.rs",
        "a/tests/all.rs",
        "b-core/src/lib.rs",
        "b-core/src/x.rs",
        "a/src/main.rs",
        "a/tests/it/main.rs",
        "a/tests/it/support.rs",
        "a/tests/it/case/one.rs",
    ];
    let configs = [
        ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("b-core/Cargo.toml", "[package]\nname = \"b-core\"\n"),
        ("Cargo.toml", "[workspace]\nmembers = []\n"),
    ];
    for (from, module, name, expected) in [
        ("a/src/lock.rs", "crate::store", "load", "a/src/store/mod.rs"),
        ("a/src/lock.rs", "crate", "store", "=a/src/store/mod.rs"),
        ("a/src/lock.rs", "crate::store::file", "load", "a/src/store/file.rs"),
        ("a/src/lock.rs", "crate::store::Mode", "Fast", "a/src/store/mod.rs"),
        ("a/src/lock.rs", "self::redis", "f", "a/src/lock/redis.rs"),
        ("a/src/lock.rs", "redis", "f", "a/src/lock/redis.rs"),
        ("a/src/lock.rs", "super::store", "f", "a/src/store/mod.rs"),
        ("a/src/store/file.rs", "super", "f", "a/src/store/mod.rs"),
        ("a/src/store/file.rs", "super::super::lock", "f", "a/src/lock.rs"),
        ("a/src/store/file.rs", "super::super::super", "f", "?"),
        ("a/src/store/mod.rs", "super", "lock", "=a/src/lock.rs"),
        ("a/src/lock.rs", "b_core", "x", "=b-core/src/x.rs"),
        ("a/src/lock.rs", "b_core::x", "f", "b-core/src/x.rs"),
        ("a/src/bin/tool.rs", "a::store", "f", "a/src/store/mod.rs"),
        ("a/src/bin/tool.rs", "crate", "main", "a/src/bin/tool.rs"),
        ("a/tests/all.rs", "a", "lock", "=a/src/lock.rs"),
        ("a/src/main.rs", "crate", "lock", "=a/src/lock.rs"),
        ("a/tests/it/case/one.rs", "crate::support", "f", "a/tests/it/support.rs"),
        ("a/tests/it/main.rs", "support", "f", "a/tests/it/support.rs"),
        ("a/tests/it/support.rs", "super", "f", "a/tests/it/main.rs"),
        ("a/src/lock.rs", "std::fs", "read", "<std::fs>"),
        ("a/src/lock.rs", "::tokio::fs", "read", "<tokio::fs>"),
    ] {
        assert_eq!(found(&files, &configs, from, module, name), expected, "{from}: {module} {name}");
    }
}

fn module(language: Language, imports: &[(&str, &str, Imported)], exports: &[(&str, &str, Option<&str>)]) -> Module {
    let import = |(local, module, what): &(&str, &str, Imported)| Import {
        local: (*local).into(),
        module: (*module).into(),
        what: what.clone(),
    };
    let export = |(name, local, from): &(&str, &str, Option<&str>)| Export {
        name: (*name).into(),
        local: (*local).into(),
        from: from.map(Into::into),
    };
    Module {
        language,
        imports: imports.iter().map(import).collect(),
        exports: exports.iter().map(export).collect(),
        functions: Vec::new(),
        classes: Vec::new(),
        comments: Vec::new(),
        package: None,
        asked: Default::default(),
        typed: Vec::new(),
        errors: Vec::new(),
        lines: 0,
    }
}

fn defined(found: Option<(usize, String)>) -> Option<(usize, &'static str)> {
    found.map(|(file, name)| (file, &*name.leak()))
}

#[test]
fn exports_are_followed_to_where_they_are_defined() {
    use Language::TypeScript as Ts;
    let name = |name: &str| Imported::Name(name.to_owned());
    let resolver = Resolver::new(&["index.ts", "a.ts", "b.ts"], &[]);
    let modules = [
        module(
            Ts,
            &[("inner", "./b", name("load")), ("main", "./a", Imported::Default), ("all", "./b", Imported::Module)],
            &[
                ("*", "*", Some("./a")),
                ("save", "write", Some("./b")),
                ("again", "inner", None),
                ("main", "main", None),
                ("all", "all", None),
                ("space", "*", Some("./b")),
                ("outside", "x", Some("pkg")),
            ],
        ),
        module(Ts, &[], &[("one", "one", None), ("default", "start", None), ("*", "*", Some("./b"))]),
        module(Ts, &[], &[("load", "reallyLoad", None), ("write", "write", None), ("*", "*", Some("./index"))]),
    ];
    let of = |name| defined(resolver.export_of(&modules, 0, name));
    assert_eq!(of("one"), Some((1, "one")));
    assert_eq!(of("load"), Some((2, "reallyLoad")));
    assert_eq!(of("save"), Some((2, "write")));
    assert_eq!(of("again"), Some((2, "reallyLoad")));
    assert_eq!(of("main"), Some((1, "start")));
    assert_eq!(of("all"), Some((2, WHOLE)));
    assert_eq!(of("space"), Some((2, WHOLE)));
    assert_eq!(of("default"), None); // `export *` does not pass it on
    assert_eq!(of("outside"), None);
    assert_eq!(of("none"), None); // through the cycle index -> a -> b -> index
}

#[test]
fn python_packages_pass_on_what_they_import() {
    use Language::Python as Py;
    let name = |name: &str| Imported::Name(name.to_owned());
    let resolver = Resolver::new(&["p/__init__.py", "p/a.py", "p/b.py"], &[]);
    let modules = [
        module(
            Py,
            &[("load", ".a", name("load")), ("b", ".", name("b")), ("", ".b", Imported::Everything)],
            &[("load", "load", None)],
        ),
        module(Py, &[("load", ".", name("load"))], &[]),
        module(Py, &[], &[("save", "save", None)]),
    ];
    let of = |name| defined(resolver.export_of(&modules, 0, name));
    assert_eq!(of("load"), None); // `a` and the package take it from each other
    assert_eq!(of("b"), Some((2, WHOLE)));
    assert_eq!(of("save"), Some((2, "save")));
    assert_eq!(resolver.export_of(&modules, 77, "x"), None);
}

#[test]
fn many_files_with_stars_end_soon() {
    let names: Vec<String> = (0..200).map(|index| format!("f{index}.ts")).collect();
    let files: Vec<&str> = names.iter().map(String::as_str).collect();
    let stars: Vec<String> = names.iter().map(|name| format!("./{name}")).collect();
    let exports: Vec<_> = stars.iter().map(|from| ("*", "*", Some(from.as_str()))).collect();
    let modules: Vec<_> = files.iter().map(|_| module(Language::TypeScript, &[], &exports)).collect();
    assert_eq!(Resolver::new(&files, &[]).export_of(&modules, 0, "none"), None);
}
