//! The page is what the program makes of the reports, and nothing was written into it by hand.

use std::fs;
use std::path::Path;

use stanchion_evidence::document::{document, read};

#[test]
fn the_page_says_what_the_reports_say_and_nothing_else() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = fs::read_to_string(docs.join("evidence.md")).expect("docs/evidence.md");
    let reports = read(&docs.join("evidence.jsonl")).expect("docs/evidence.jsonl, which `cargo xtask evidence` leaves");
    let made = document(&reports);
    let differs = page.lines().zip(made.lines()).find(|(there, made)| there != made);
    assert!(
        page == made,
        "docs/evidence.md is not what docs/evidence.jsonl makes; first there, then made: {differs:?}"
    );
}
