use super::*;

fn errors(path: &str, text: &str) -> Vec<String> {
    Config::parse(path, text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn everything_that_is_documented_is_understood() {
    let text = "include = ['src/**']\nexclude = ['**/gen/**', '!src/gen/keep.ts']\nfail_on = 'medium'\ninstances = 'many'\n\
        models = ['my-models.toml']\n[rules]\nRC403 = 'off'\nfixed-temp-name = 'high'\nRC101 = 'on'\n";
    let config = Config::parse(FILE, text).unwrap();
    assert_eq!((config.fail_on, config.instances), (Some(Severity::Medium), Some(Instances::Many)));
    assert_eq!(config.models, ["my-models.toml"]);
    assert_eq!(config.severity("RC403", Severity::Low), None);
    assert_eq!(config.severity("RC303", Severity::Low), Some(Severity::High));
    assert_eq!(config.severity("RC101", Severity::Low), Some(Severity::Low));
    assert!(config.covers("src/a.ts") && config.covers("./src/a.ts") && config.covers("src/gen/keep.ts"));
    assert!(!config.covers("src/gen/a.ts") && !config.covers("lib/a.ts"));
}

#[test]
fn a_pattern_of_a_folder_covers_what_is_in_it() {
    let config = Config::parse(FILE, "exclude = ['vendor', '*.test.ts', '/top']").unwrap();
    assert!(!config.covers("a/vendor/b/c.ts") && !config.covers("x/y.test.ts") && !config.covers("top/a.ts"));
    assert!(config.covers("a/top/a.ts") && config.covers("vendors/a.ts") && config.covers("/abs/olute.ts"));
}

#[test]
fn all_that_is_wrong_is_said_at_once_with_lines() {
    let text = "fail_on = 'hihg'\ninstances = 2\ninclude = 'src'\nexclude = [\n  'a',\n  '[z-a',\n]\nmodels = [1]\n\
        model = 3\n[rules]\nRC1O1 = 'off'\nRC101 = 'of'\nRC102 = false\n";
    let got = errors(FILE, text);
    let starts = [
        "stanchion-audit.toml:1: `hihg` is not understood here; allowed: \"low\", \"medium\", \"high\"",
        "stanchion-audit.toml:2: `2` is not understood here; allowed: 1, \"many\"",
        "stanchion-audit.toml:3: this is a text; allowed: a list of texts",
        "stanchion-audit.toml:6: ",
        "stanchion-audit.toml:8: this is a number; allowed: texts",
        "stanchion-audit.toml:9: there is no such key: `model`; did you mean `models`?",
        "stanchion-audit.toml:11: there is no rule `RC1O1`; did you mean `RC101`?",
        "stanchion-audit.toml:12: `of` is not understood here; allowed: \"off\", \"on\", \"low\", \"medium\", \"high\"",
        "stanchion-audit.toml:13: `false` is not understood here",
    ];
    assert_eq!(got.len(), starts.len(), "{got:#?}");
    for (got, start) in got.iter().zip(starts) {
        assert!(got.starts_with(start), "{got}");
    }
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    let all = "allowed: include, exclude, rules, fail_on, instances, models";
    let expected = format!("stanchion-audit.toml:1: there is no such key: `fail-on`; did you mean `fail_on`? {all}");
    assert_eq!(errors(FILE, "fail-on = 'high'"), [expected]);
    assert_eq!(errors(FILE, "zzz = 1"), [format!("stanchion-audit.toml:1: there is no such key: `zzz`; {all}")]);
    assert!(errors(FILE, "rules = {RC101 = 'off', lost-update-file = 'on'}")[0].contains("said twice"));
}

#[test]
fn broken_files_are_refused_with_their_line() {
    assert!(errors(FILE, "include = []\n\nexclude = [")[0].starts_with("stanchion-audit.toml:3: "));
    assert!(errors(FILE, "include = []\ninclude = []")[0].starts_with("stanchion-audit.toml:2: "));
    assert!(!errors(FILE, &format!("include = {}", "[".repeat(100_000))).is_empty());
}

#[test]
fn of_the_shared_file_only_its_table_counts() {
    let text = "[defaults]\nwait = '10s'\n[audit]\nfail_on = 'low'\n[audit.rules]\nRC101 = 'off'\n";
    let config = Config::parse("a/stanchion.toml", text).unwrap();
    assert_eq!((config.fail_on, config.rules.len()), (Some(Severity::Low), 1));
    assert!(Config::parse(SHARED_FILE, "[defaults]\n").unwrap().rules.is_empty());
    assert!(errors(SHARED_FILE, "\n[audit]\nexlude = []")[0].starts_with("stanchion.toml:3: there is no such key"));
    assert!(errors(SHARED_FILE, "audit = 1")[0].contains("is not a table"));
}

#[test]
fn two_files_that_speak_are_refused_and_one_is_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(SHARED_FILE), "[defaults]\nwait = '1s'\n").unwrap();
    fs::write(folder.path().join(FILE), "fail_on = 'low'").unwrap();
    assert_eq!(Config::find(folder.path()).unwrap().fail_on, Some(Severity::Low));
    fs::write(folder.path().join(SHARED_FILE), "[audit]\n").unwrap();
    assert!(Config::find(folder.path()).unwrap_err()[0].to_string().contains("keep one"));
    fs::remove_file(folder.path().join(FILE)).unwrap();
    assert!(Config::find(folder.path()).is_ok());
}

#[test]
fn the_command_line_chooses_rules_over_the_file() {
    let mut config = Config::parse(FILE, "rules = {RC302 = 'off', RC303 = 'high', RC101 = 'off'}").unwrap();
    config.select(&["rc30", "lost-update-row"]).unwrap();
    config.ignore(&["RC301"]).unwrap();
    let severity = |code| config.severity(code, Severity::Low);
    assert_eq!(
        (severity("RC302"), severity("RC303"), severity("RC102")),
        (Some(Severity::Low), Some(Severity::High), Some(Severity::Low))
    );
    assert_eq!((severity("RC301"), severity("RC101"), severity("RC401")), (None, None, None));
    for wrong in ["RC1O1", "", "lost", "RC9"] {
        assert!(config.select(&[wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn models_of_a_named_file_are_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.toml");
    fs::write(&file, "models = ['m.toml']").unwrap();
    let config = Config::read(&file).unwrap();
    assert_eq!(config.models, [folder.path().join("m.toml").display().to_string()]);
}
