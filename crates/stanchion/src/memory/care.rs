//! `memory check` and `memory repair`.

use serde_json::{Value, json};
use stanchion_core::{Error, ErrorKind, Result};
use stanchion_memory::{Checked, FileMemory, Memory as _, Mutation, Query};

use super::args::PlaceArgs;
use super::place::Place;
use super::{Opened, failed, options};
use crate::cli::StoreArgs;
use crate::exit::{DAMAGED, escaped, print, say};

/// So many damaged lines are shown.
const SHOWN: usize = 20;

pub(super) async fn check(args: &StoreArgs, place_args: &PlaceArgs, place: Place, as_json: bool) -> Result<u8> {
    let path = match &place {
        Place::File(path) => path,
        Place::Store(_) => return check_store(args, place_args, place, as_json).await,
    };
    let checked = stanchion_memory::check(path)?;
    if as_json {
        print(&to_json(&checked).to_string());
    } else {
        show(&checked);
        if !checked.is_sound() {
            let side = checked.side_file.display();
            say(&format!(
                "hint: every line that can be read is in use; `stanchion memory repair` puts the others into {side}"
            ));
        }
    }
    Ok(if checked.is_sound() { 0 } else { DAMAGED })
}

/// A store keeps no half lines: it can be read as a whole, or it cannot.
async fn check_store(args: &StoreArgs, place_args: &PlaceArgs, place: Place, as_json: bool) -> Result<u8> {
    let opened = Opened::open(args, place_args, place).await?;
    let (graph, _) = opened.memory.read(Query::All).await.map_err(failed)?;
    let (entities, relations) = (graph.entities.len(), graph.relations.len());
    if as_json {
        print(&json!({"graph": opened.shown, "sound": true, "entities": entities, "relations": relations}).to_string());
    } else {
        print(&format!("{} is good: entities {entities}, relations {relations}", opened.shown));
    }
    Ok(0)
}

pub(super) async fn repair(args: &StoreArgs, place_args: &PlaceArgs, place: &Place, as_json: bool) -> Result<u8> {
    let Place::File(path) = place else {
        return Err(Error::new(ErrorKind::Unsupported, "a graph in a store has no lines to repair")
            .hint("`stanchion memory check` says whether it can be read"));
    };
    let before = stanchion_memory::check(path)?;
    // Every write first sets right what it finds, also one that adds nothing. What it set aside it says itself.
    let memory = FileMemory::open(path, options(args, place_args))?;
    memory.change(Mutation::CreateEntities(Vec::new())).await.map_err(failed)?;
    let after = stanchion_memory::check(path)?;
    if as_json {
        print(&json!({"before": to_json(&before), "after": to_json(&after)}).to_string());
        return Ok(if after.is_sound() { 0 } else { DAMAGED });
    }
    show(&after);
    if !after.is_sound() {
        say("hint: another program is writing the file; end it, and try again");
    } else if before.is_sound() {
        print("there was nothing to repair");
    } else if !before.damaged.is_empty() {
        print(&format!("set aside: {} damaged, into {}", before.damaged.len(), before.side_file.display()));
    }
    Ok(if after.is_sound() { 0 } else { DAMAGED })
}

fn show(checked: &Checked) {
    let path = checked.path.display();
    if !checked.exists {
        return print(&format!("{path} is not there yet: an empty graph"));
    }
    let Checked { entities, relations, bytes, .. } = checked;
    let verdict = if checked.is_sound() { "good" } else { "damaged" };
    print(&format!("{path} is {verdict}: entities {entities}, relations {relations}, bytes {bytes}"));
    if checked.other > 0 {
        print(&format!("lines of other types, kept and not used: {}", checked.other));
    }
    if checked.is_document {
        print("it is one JSON document, not lines: the official server cannot read it");
    }
    if checked.has_byte_order_mark {
        print("it begins with a byte order mark: the official server cannot read it");
    }
    for damaged in checked.damaged.iter().take(SHOWN) {
        print(&format!("line {}: {}", damaged.line, escaped(&damaged.reason)));
    }
    if checked.damaged.len() > SHOWN {
        print(&format!("and {} more", checked.damaged.len() - SHOWN));
    }
}

fn to_json(checked: &Checked) -> Value {
    let damaged: Vec<_> = checked.damaged.iter().map(|d| json!({"line": d.line, "reason": d.reason})).collect();
    json!({
        "path": checked.path.display().to_string(),
        "sound": checked.is_sound(),
        "exists": checked.exists,
        "bytes": checked.bytes,
        "entities": checked.entities,
        "relations": checked.relations,
        "other": checked.other,
        "is_document": checked.is_document,
        "has_byte_order_mark": checked.has_byte_order_mark,
        "damaged": damaged,
        "side_file": checked.side_file.display().to_string(),
    })
}
