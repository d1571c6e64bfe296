//! Help, completions, manual page.

use crate::support::Home;

#[test]
fn topics_and_generated_files_are_there() {
    let home = Home::new();
    home.output(&["help", "exit-codes"]).exits(0).says("75").says("lost");
    home.output(&["help", "environment"]).exits(0).says("STANCHION_HOME").says("STANCHION_FENCE");
    home.output(&["help", "stores"]).exits(0).says("redis").says("postgres").says("sqlite").says("file");
    home.output(&["help", "run"]).exits(0).says("--lock");
    home.output(&["help", "proxy"]).exits(0).says("something trusted").says("--name");
    home.output(&["help"]).exits(0).says("demo");
    home.output(&["help", "nonsense"]).exits(78).says("exit-codes");
    home.output(&["completions", "bash"]).exits(0).says("stanchion");
    home.output(&["man"]).exits(0).says(".TH");
    home.output(&["--version"]).exits(0).says(env!("CARGO_PKG_VERSION"));
}
