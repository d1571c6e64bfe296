//! The lines of a memory file: what the official server writes, and what else is found in such files.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Entity, Relation, Selection};

/// A line that ends a mutation has no such mark. One that has it counts only together with the line behind it, so that what was
/// cut off in the middle of a mutation is seen as that. The official server ignores it.
const CONTINUES: &str = "dev.stanchion/continues";

/// What one line holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Entity(Entity),
    Relation(Relation),
    /// Something of another type. The official server drops it; we leave it where it is.
    Other,
}

/// One line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) item: Item,
    /// The next line belongs to the same mutation.
    pub(crate) continues: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    name: Option<String>,
    entity_type: Option<String>,
    observations: Option<Vec<String>>,
    from: Option<String>,
    to: Option<String>,
    relation_type: Option<String>,
    /// Anything else than `true` is somebody else's.
    #[serde(rename = "dev.stanchion/continues", borrow)]
    continues: Option<&'a RawValue>,
}

impl Raw<'_> {
    fn line(self) -> Result<Line, String> {
        let lacks = |what: &str| format!("{} without {what}", self.kind);
        let item = match &*self.kind {
            "entity" => Item::Entity(Entity {
                name: self.name.ok_or_else(|| lacks("name"))?,
                entity_type: self.entity_type.ok_or_else(|| lacks("entityType"))?,
                observations: self.observations.ok_or_else(|| lacks("observations"))?,
            }),
            "relation" => Item::Relation(Relation {
                from: self.from.ok_or_else(|| lacks("from"))?,
                to: self.to.ok_or_else(|| lacks("to"))?,
                relation_type: self.relation_type.ok_or_else(|| lacks("relationType"))?,
            }),
            _ => Item::Other,
        };
        Ok(Line { item, continues: self.continues.is_some_and(|mark| mark.get() == "true") })
    }
}

/// Reads a line without its end. `None` if it is blank; else what is wrong with it, for people.
pub(crate) fn read_line(bytes: &[u8]) -> Option<Result<Line, String>> {
    // What the official server reads as U+FFFD, we do, too.
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return None;
    }
    let strict: Result<Raw<'_>, _> = serde_json::from_str(text);
    Some(match strict {
        Ok(raw) => raw.line(),
        Err(error) => lenient(text).unwrap_or_else(|| Err(error.to_string())),
    })
}

/// Lines that only JavaScript reads: with half a character, which was cut out of a text; with a member twice; or of a type that
/// is not ours.
fn lenient(text: &str) -> Option<Result<Line, String>> {
    if let Some(mended) = mend_surrogates(text)
        && let Ok(raw) = serde_json::from_str::<Raw<'_>>(&mended)
    {
        return Some(raw.line());
    }
    let Ok(Value::Object(members)) = serde_json::from_str(text) else { return None };
    let ours = |kind: &Value| kind == "entity" || kind == "relation";
    if !members.get("type").is_some_and(ours) {
        return Some(Ok(Line { item: Item::Other, continues: false }));
    }
    // A member that is there twice: the last one counts, as in JavaScript.
    let text = Value::Object(members).to_string();
    serde_json::from_str::<Raw<'_>>(&text).ok().map(Raw::line)
}

/// `text` with U+FFFD where an escape names half a character; `None` if there is none.
pub(crate) fn mend_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut at, mut mended) = (String::with_capacity(text.len()), 0, false);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        out.push_str(&text[at..at + found]);
        at += found;
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\ufffd");
                mended = true;
                at += 6;
                continue;
            }
            (Some(_), _) => 6,
            // The character behind the backslash may be of any length.
            (None, _) => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&text[at..at + length]);
        at += length;
    }
    out.push_str(text.get(at..)?);
    mended.then_some(out)
}

#[derive(Serialize)]
struct EntityLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    entity: &'a Entity,
    #[serde(rename = "dev.stanchion/continues", skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
}

#[derive(Serialize)]
struct RelationLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    relation: &'a Relation,
    #[serde(rename = "dev.stanchion/continues", skip_serializing_if = "std::ops::Not::not")]
    continues: bool,
}

/// Writes an entity's line, without its end.
pub(crate) fn write_entity(out: &mut Vec<u8>, entity: &Entity, continues: bool) {
    // Texts into memory: neither of them can fail.
    serde_json::to_writer(out, &EntityLine { kind: "entity", entity, continues }).ok();
}

/// Writes a relation's line, without its end.
pub(crate) fn write_relation(out: &mut Vec<u8>, relation: &Relation, continues: bool) {
    serde_json::to_writer(out, &RelationLine { kind: "relation", relation, continues }).ok();
}

/// The same line with other observations, and every other member as it was. `None` if it cannot be changed in place.
pub(crate) fn with_observations(line: &[u8], observations: &[String]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?.trim();
    let observations = serde_json::to_string(observations).ok()?;
    let line = stanchion_mcp::splice::set(text, &["observations"], &observations)?;
    Some(without_mark(line.as_bytes()))
}

/// The same line as one that stands for itself.
pub(crate) fn without_mark(line: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(line).ok().map(str::trim);
    text.and_then(|text| stanchion_mcp::splice::remove(text, &[CONTINUES]))
        .map_or_else(|| line.to_vec(), String::into_bytes)
}

/// A graph as the official server writes it, with a line end behind every line.
///
/// ```
/// use stanchion_memory::{Entity, Selection, to_jsonl};
/// let ada = Entity { name: "Ada".into(), entity_type: "person".into(), observations: vec![] };
/// let text = to_jsonl(&Selection { entities: vec![ada], relations: vec![] });
/// assert_eq!(text, b"{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[]}\n");
/// ```
#[must_use]
pub fn to_jsonl(graph: &Selection) -> Vec<u8> {
    let mut out = Vec::new();
    for entity in &graph.entities {
        write_entity(&mut out, entity, false);
        out.push(b'\n');
    }
    for relation in &graph.relations {
        write_relation(&mut out, relation, false);
        out.push(b'\n');
    }
    out
}

/// Something in a file that is no part of the graph.
///
/// ```
/// let (_, damaged) = stanchion_memory::from_jsonl(b"{\"type\":\"entity\",\"na");
/// assert_eq!((damaged[0].line, damaged[0].bytes.len()), (1, 20));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damaged {
    /// Where it was; the first line is 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
    /// What it is.
    pub bytes: Vec<u8>,
}

/// The graph in a file: lines, or one document (`{"entities":[…],"relations":[…]}`, or an array of items). What cannot be
/// understood is handed back.
///
/// ```
/// let (graph, damaged) = stanchion_memory::from_jsonl(b"{\"type\":\"relation\",\"from\":\"a\",\"to\":\"b\",\"relationType\":\"r\"}");
/// assert_eq!((graph.relations.len(), damaged.len()), (1, 0));
/// ```
#[must_use]
pub fn from_jsonl(bytes: &[u8]) -> (Selection, Vec<Damaged>) {
    if let Some(document) = read_document(bytes) {
        return document;
    }
    crate::file::read_lines(bytes)
}

fn push(graph: &mut Selection, item: Item) {
    match item {
        Item::Entity(entity) => graph.entities.push(entity),
        Item::Relation(relation) => graph.relations.push(relation),
        Item::Other => {}
    }
}

/// A file that is one document. `None` if it is one of lines.
pub(crate) fn read_document(bytes: &[u8]) -> Option<(Selection, Vec<Damaged>)> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    // A file of lines begins with a line that ends; looking at the first one is enough to leave the rest alone.
    let first = text.lines().next().unwrap_or_default();
    let items: Vec<(Option<&str>, Value)> = match first.chars().next()? {
        '[' => serde_json::from_str::<Vec<Value>>(text).ok()?.into_iter().map(|item| (None, item)).collect(),
        '{' if serde_json::from_str::<Raw<'_>>(first).is_err() => {
            let Value::Object(mut members) = serde_json::from_str(text).ok()? else { return None };
            if members.contains_key("type") || !(members.contains_key("entities") || members.contains_key("relations"))
            {
                return None;
            }
            let mut all = Vec::new();
            for (name, kind) in [("entities", "entity"), ("relations", "relation")] {
                match members.remove(name) {
                    Some(Value::Array(items)) => all.extend(items.into_iter().map(|item| (Some(kind), item))),
                    Some(_) => return None,
                    None => {}
                }
            }
            all
        }
        _ => return None,
    };
    let (mut graph, mut damaged) = (Selection::default(), Vec::new());
    for (nth, (kind, mut item)) in items.into_iter().enumerate() {
        if let (Value::Object(members), Some(kind)) = (&mut item, kind) {
            members.entry("type").or_insert_with(|| kind.into());
        }
        let bytes = item.to_string().into_bytes();
        match read_line(&bytes) {
            Some(Ok(Line { item: Item::Other, .. })) => {
                damaged.push(Damaged { line: nth + 1, reason: "neither an entity nor a relation".into(), bytes });
            }
            Some(Ok(line)) => push(&mut graph, line.item),
            Some(Err(reason)) => damaged.push(Damaged { line: nth + 1, reason, bytes }),
            None => {}
        }
    }
    Some((graph, damaged))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: &str = r#"{"type":"entity","name":"Ada","entityType":"person","observations":["a\"b"]}"#;

    fn read(text: &str) -> Line {
        read_line(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_line_is_written_as_the_official_server_writes_it_and_read_back() {
        let Line { item: Item::Entity(ada), continues: false } = read(ADA) else { panic!() };
        let mut out = Vec::new();
        write_entity(&mut out, &ada, false);
        assert_eq!(out, ADA.as_bytes());
        out.clear();
        write_entity(&mut out, &ada, true);
        assert!(read_line(&out).unwrap().unwrap().continues);
        assert_eq!(without_mark(&out), ADA.as_bytes());
    }

    #[test]
    fn other_members_stay_when_observations_change() {
        let line = r#" {"type":"entity","note": 1.50,"name":"A","entityType":"t","observations":["x"],"dev.stanchion/continues":true}"#;
        let changed = with_observations(line.as_bytes(), &["y".into()]).unwrap();
        assert_eq!(
            String::from_utf8(changed).unwrap(),
            r#"{"type":"entity","note": 1.50,"name":"A","entityType":"t","observations":["y"]}"#
        );
    }

    #[test]
    fn what_javascript_reads_is_read() {
        for text in [format!("\u{feff}{ADA}\r"), format!("\t{ADA}  ")] {
            assert!(matches!(read(&text).item, Item::Entity(_)), "{text}");
        }
        let half =
            r#"{"type":"entity","name":"\ud83d","entityType":"\\ud83d","observations":["\ud83d\ude00","\udc00x"]}"#;
        let Item::Entity(mended) = read(half).item else { panic!() };
        assert_eq!((&*mended.name, &*mended.entity_type), ("\u{fffd}", "\\ud83d"));
        assert_eq!(mended.observations, ["😀", "\u{fffd}x"]);
        for other in [r#"{"type":"note","name":1}"#, r#"{"a":1}"#, r#"{"type":5}"#] {
            assert_eq!(read(other).item, Item::Other, "{other}");
        }
        assert!(read_line(b" \r").is_none());
        let twice =
            r#"{"type":"entity","name":"A","entityType":"t","observations":["1"],"observations":["2"],"continues":5}"#;
        let Line { item: Item::Entity(last), continues: false } = read(twice) else { panic!() };
        assert_eq!(last.observations, ["2"]);
        assert!(read_document(br#"{"note":"keep me"}"#).is_none());
    }

    #[test]
    fn what_is_no_line_says_why() {
        for (text, why) in [
            (r#"{"type":"entity","name":"A"#, "EOF"),
            (r#"{"type":"entity","name":"A"}"#, "entity without entityType"),
            (r#"{"type":"relation","from":"A"}"#, "relation without to"),
            (r#"{"type":"entity","name":1,"entityType":"t","observations":[]}"#, "invalid type"),
            ("null", "invalid type"),
            ("# hello", "expected"),
        ] {
            let reason = read_line(text.as_bytes()).unwrap().unwrap_err();
            assert!(reason.contains(why), "{text}: {reason}");
        }
    }

    #[test]
    fn documents_of_both_kinds_are_read_and_lines_are_none() {
        let entity = r#"{"name":"A","entityType":"t","observations":[]}"#;
        let relation = r#"{"from":"A","to":"B","relationType":"r"}"#;
        let document = format!("{{\n \"entities\": [{entity}, 5],\n \"relations\": [{relation}]\n}}");
        let (graph, damaged) = from_jsonl(document.as_bytes());
        assert_eq!((graph.entities.len(), graph.relations.len(), damaged.len()), (1, 1, 1));
        let (graph, damaged) = from_jsonl(format!("[{ADA},\n{ADA}]").as_bytes());
        assert_eq!((graph.entities.len(), damaged.len()), (2, 0));
        assert!(read_document(format!("{ADA}\n{ADA}").as_bytes()).is_none());
        assert!(read_document(ADA.as_bytes()).is_none());
        assert!(read_document(b"").is_none());
        let (graph, damaged) = from_jsonl(format!("{ADA}\n{{\"type\"\n\n{ADA}").as_bytes());
        assert_eq!((graph.entities.len(), damaged[0].line), (2, 2));
    }
}
