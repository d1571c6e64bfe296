//! Less usual names for what other libraries, or other functions of the same one, do as well.

use super::{Table, check};

#[test]
fn files_and_stores() {
    const TABLE: Table = &[
        (
            "bincode",
            "use std::fs::File;\npub fn f(x: u32) {\n let h = File::open(\"a\").unwrap();\n let mut d: Vec<u32> = bincode::deserialize_from(h).unwrap();\n d.push(x);\n let w = File::create(\"a\").unwrap();\n bincode::serialize_into(w, &d).unwrap();\n}",
            &[("RC101", 4, 7)],
        ),
        (
            "confy",
            "pub fn f(x: u32) {\n let old: u32 = confy::load_path(\"a\").unwrap();\n confy::store_path(\"a\", old + x).unwrap();\n}",
            &[("RC101", 2, 3)],
        ),
        (
            "confy, to another",
            "pub fn f(x: u32) {\n let old: u32 = confy::load_path(\"a\").unwrap();\n confy::store_path(\"b\", old + x).unwrap();\n}",
            &[],
        ),
        (
            "sled",
            "pub fn f(db: &sled::Db, k: &str) {\n let n = db.get(k).unwrap();\n db.insert(k, n + 1).unwrap();\n}",
            &[("RC103", 2, 3)],
        ),
        (
            "sled in one step",
            "pub fn f(db: &sled::Db, k: &str) {\n db.update_and_fetch(k, |n| n + 1).unwrap();\n}",
            &[],
        ),
    ];
    check("a.rs", TABLE);
}
