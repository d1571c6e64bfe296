//! What is put into objects.

use std::rc::Rc;

use super::Engine;
use super::given::INSIDE;
use super::value::{Object, Shape, Value};

/// An object that is made by naming its fields: for each, its name with the class, and what it is made with.
pub(crate) type Made = Vec<(Rc<str>, Value)>;

/// Items of a list that is put together.
pub(super) const LIST_MOST: usize = 64;

/// Those that are noted for one entry point.
const MADE_MOST: usize = 64;

impl Engine<'_> {
    /// What an object is made with: its methods know it by its class.
    pub(super) fn note_made(&mut self, object: &Object) {
        let fields = object.fields.borrow();
        self.note_fields(object, fields.iter().map(|(name, value)| (&**name, value)));
    }

    /// The same for one field that is set later.
    pub(super) fn note_field(&mut self, object: &Object, field: &str, value: &Value) {
        self.note_fields(object, [(field, value)].into_iter());
    }

    fn note_fields<'a>(&mut self, object: &Object, fields: impl Iterator<Item = (&'a str, &'a Value)>) {
        let Some(class) = object.class.and_then(|(file, class)| self.module(file).classes.get(class)) else { return };
        if !self.here.early && self.objects_made.len() < MADE_MOST {
            let named = fields.map(|(name, value)| (format!("{}.{name}", class.name).into(), value.clone()));
            self.objects_made.push(named.collect());
        }
    }
}

/// Each key with its value, of a map that one place fills: the key is what it was there.
pub(super) fn pairs(of: &Value) -> Option<Value> {
    let object = of.object().filter(|object| object.class.is_none() && object.api.is_none())?;
    let fields = object.fields.borrow();
    let mut all = fields.iter();
    let (Some((name, value)), None) = (all.next(), all.next()) else { return None };
    let key = name.strip_prefix('[')?.strip_suffix(']').filter(|key| !key.is_empty())?;
    let pair: Rc<[Value]> = Rc::from([Value::unknown(key).from(&of.origins), value.clone()]);
    let name = format!("{} each", of.name);
    let pair = Value::of(Shape::List(pair), &name);
    Some(Value::of(Shape::List(Rc::from([pair])), &name).from(&of.origins))
}

/// `of[index]`. What was put there is a connection, a lock, or the like, or nothing is known of it.
pub(super) fn put_there(of: &Value, index: &Value) -> Value {
    let kept = of.object().and_then(|object| {
        let (place, fields) = (format!("[{}]", index.name), object.fields.borrow());
        let mut places = [place.as_str(), INSIDE].into_iter().filter_map(|place| fields.get(place));
        places.find(|value| value.kind().is_some()).cloned()
    });
    let name = format!("{}[{}]", of.name, index.name);
    let found = kept.map_or_else(|| Value::unknown(&name), |kept| Value::of(kept.shape, &name));
    found.from(&of.deep_origins()).from(&index.origins)
}

/// `[first] + rest`: what is in which place is known of the first ones, or of the last ones.
pub(super) fn with_rest(left: &Value, right: &Value) -> Value {
    let all: Rc<[Value]> = items(left).iter().chain(items(right)).take(LIST_MOST).cloned().collect();
    Value::of(Shape::List(all), format!("({}+{})", left.name, right.name))
}

/// Of something that nobody knows, all of it in one place.
fn items(of: &Value) -> &[Value] {
    if let Shape::List(items) = &of.shape { items } else { std::slice::from_ref(of) }
}

/// Of two lists that begin alike the one that has more: what was put there on one way only may be in it.
pub(super) fn longer_of<'a>(one: &'a Value, other: &'a Value) -> Option<&'a Value> {
    let (Shape::List(first), Shape::List(second)) = (&one.shape, &other.shape) else { return None };
    let alike = first.iter().zip(second.iter()).all(|(first, second)| first.name == second.name);
    alike.then_some(if first.len() < second.len() { other } else { one })
}
