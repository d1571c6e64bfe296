use serde::{Deserialize, Serialize};
use std::fs;

#[derive(Serialize, Deserialize, Default)]
struct Tally {
    hits: u64,
}

pub fn hit() {
    let text = fs::read_to_string("/srv/tally.json").unwrap();
    let mut tally: Tally = serde_json::from_str(&text).unwrap();
    tally.hits += 1;
    fs::write("/srv/tally.json", serde_json::to_string(&tally).unwrap()).unwrap(); // expect: RC101 read=10, RC302
}

pub fn hit_in_toml() -> Result<(), String> {
    let text = fs::read_to_string("/srv/tally.toml").map_err(|e| e.to_string())?;
    let mut tally: Tally = toml::from_str(&text).map_err(|e| e.to_string())?;
    tally.hits += 1;
    let new = toml::to_string(&tally).map_err(|e| e.to_string())?;
    fs::write("/srv/tally.toml", new).map_err(|e| e.to_string()) // expect: RC101 read=17, RC302
}

pub fn hit_in_bytes() {
    let text = fs::read("/srv/tally.bin").expect("it is there");
    let mut tally: Tally = serde_json::from_slice(&text).unwrap_or_default();
    tally.hits += 1;
    fs::write("/srv/tally.bin", serde_json::to_vec(&tally).unwrap_or_default()).unwrap(); // expect: RC101 read=25, RC302
}
