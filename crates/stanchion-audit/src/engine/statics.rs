//! What belongs to a class itself: functions, and fields that all calls share.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::class::BASES_DEEP;
use super::memory::COLLECTION;
use super::name::word;
use super::value::{Closure, Object, Shape, Value};
use super::{Engine, Frame, Site, share};
use crate::hir::each::each_place;
use crate::hir::{ClassId, ExprKind, Function, Module, Span, Text};

/// What belongs to a class, by the number of the field.
pub(super) type Belongings = Rc<[(usize, Value)]>;

/// Fields of classes that the code of their file sets, each with its class.
pub(super) type SetFields = Rc<BTreeSet<(Text, Text)>>;

impl Engine<'_> {
    pub(super) fn static_member(&mut self, class: (usize, ClassId), name: &str, of: &Value, at: Span) -> Value {
        self.static_of(class, name, of, at, BASES_DEEP)
    }

    /// What a class has beside its methods, as an object.
    pub(super) fn statics_of(&mut self, file: usize, class: ClassId, name: &str) -> Value {
        if let Some(statics) = self.statics.get(&(file, class)) {
            return statics.clone();
        }
        let object = Object::new(true);
        self.objects.push(Rc::downgrade(&object.fields));
        let statics = Value::of(object.into(), name);
        self.statics.insert((file, class), statics.clone());
        statics
    }

    fn static_of(&mut self, (file, class): (usize, ClassId), name: &str, of: &Value, at: Span, depth: u32) -> Value {
        let Some(depth) = depth.checked_sub(1) else { return Value::unknown(name) };
        let Some(found) = self.module(file).classes.get(class) else { return Value::unknown(name) };
        if let Some(function) = self.own_method(file, class, name, false) {
            let scope = self.load(file);
            let this = match self.is_of_class(file, function) {
                true => Some(of.clone()),
                false => self.instances.get(&(file, class)).cloned(),
            };
            let closure = Closure { file, function, scope, this };
            if self.module(file).functions.get(function).is_some_and(|f| f.is_getter && f.is_static) {
                return self.call_closure(&Rc::new(closure), Vec::new(), self.site(at));
            }
            return Value::member(Shape::Func(Rc::new(closure)), &of.name, name);
        }
        if found.fields.iter().any(|field| field.is_static && field.name == name) {
            self.class_fields(file, class);
        }
        if let Some(statics) = self.statics.get(&(file, class)).cloned()
            && statics.option(name).is_some()
        {
            return self.member(&statics, name, at);
        }
        // A column of a table, not what the column is declared with.
        let columns = self
            .api_base(file, class)
            .filter(|kind| self.models.of_type(self.language(file), kind).is_some_and(|kind| kind.members.is_some()));
        if let Some(kind) = columns {
            return self.member(&Value::of(Shape::Api(kind), &found.name), name, found.span);
        }
        let field = found.fields.iter().position(|field| field.name == name && field.value.is_some());
        let field = field.and_then(|field| Some((field, found.fields.get(field)?.value.as_ref()?)));
        match field {
            Some((field, value)) => {
                if let Some((_, known)) = self.class_fields(file, class).iter().find(|(index, _)| *index == field) {
                    return known.clone();
                }
                let scope = self.load(file);
                let early = std::mem::replace(&mut self.here.early, true);
                let value = self.eval(value, &scope);
                self.here.early = early;
                value
            }
            None => {
                // Inherited: of the program, or of a modelled type.
                if let Some(kind) = self.api_base(file, class) {
                    let base = Value::of(Shape::Api(kind), &found.name);
                    return self.member(&base, name, found.span);
                }
                match self.base(file, class) {
                    Some(base) => self.static_of(base, name, of, at, depth),
                    None => Value::member(Shape::Method(Rc::new(of.clone()), word(name)), &of.name, name),
                }
            }
        }
    }

    /// What belongs to a class and not to its objects: it is made once.
    pub(super) fn class_fields(&mut self, file: usize, class: ClassId) -> Belongings {
        if let Some(known) = self.belongings.get(&(file, class)) {
            return Rc::clone(known);
        }
        // Classes that need each other meet this one.
        self.belongings.insert((file, class), Rc::from([]));
        let Some(found) = self.module(file).classes.get(class) else { return Rc::from([]) };
        let scope = self.load(file);
        let may = share(self.early_left);
        let all: Belongings = self.before_all(may, |engine| {
            engine.frames.push(Frame::new(file, 0, Site { file, span: found.span }, None));
            let fields = found.fields.iter().enumerate().filter(|(_, field)| field.is_static);
            let values = fields.filter_map(|(index, field)| Some((index, field.value.as_ref()?)));
            let all = values.map(|(index, value)| (index, engine.eval(value, &scope))).collect();
            engine.frames.pop();
            all
        });
        self.belongings.insert((file, class), Rc::clone(&all));
        self.share_fields(file, class, &all);
        all
    }

    /// Fields that somebody sets, and collections, are memory that all calls share; the others are constants.
    fn share_fields(&mut self, file: usize, class: ClassId, all: &Belongings) {
        let Some(found) = self.module(file).classes.get(class) else { return };
        let set = self.fields_set(file);
        let mut all = all.iter().peekable();
        for (index, field) in found.fields.iter().enumerate() {
            let known = all.next_if(|(known, _)| *known == index).map(|(_, value)| value);
            let is_set = || set.contains(&(found.name.as_str().into(), field.name.as_str().into()));
            let value = match known {
                Some(value) if is_collection(value) || is_set() => value.clone(),
                None if field.is_static && is_set() => {
                    let kind = field.type_text.as_deref().and_then(|text| self.declared(file, text));
                    let is =
                        |kind: &str| Value::of(Shape::Api(kind.into()), format_args!("{}.{}", found.name, field.name));
                    kind.map_or_else(Value::null, |kind| is(&kind.name))
                }
                _ => continue,
            };
            let statics = self.statics_of(file, class, &found.name);
            if let Some(object) = statics.object().filter(|object| !object.fields.borrow().contains_key(&field.name)) {
                object.fields.borrow_mut().insert(word(&field.name), value);
            }
        }
    }

    fn fields_set(&mut self, file: usize) -> SetFields {
        let module = self.module(file);
        Rc::clone(self.fields_set.entry(file).or_insert_with(|| Rc::new(fields_set(module))))
    }
}

fn is_collection(value: &Value) -> bool {
    matches!(&value.shape, Shape::Api(kind) if &**kind == COLLECTION)
}

/// `Store.last = …`, and `this.last = …` in a static method.
fn fields_set(module: &Module) -> BTreeSet<(Text, Text)> {
    let mut all = BTreeSet::new();
    for function in &module.functions {
        let own = class_itself(module, function);
        each_place(&function.body, &mut |place| {
            let ExprKind::Member { of, name } = &place.kind else { return };
            let class = match &of.kind {
                ExprKind::Name(class) => Some(class.clone()),
                ExprKind::This => own.clone(),
                _ => None,
            };
            all.extend(class.map(|class| (class, name.clone())));
        });
    }
    all
}

/// The class that is `this` in a function: of a static method, and of what stands in it and has no `this` of its own.
fn class_itself(module: &Module, function: &Function) -> Option<Text> {
    let mut function = function;
    for _ in 0..INNER_DEEP {
        if function.is_static {
            return module.classes.get(function.class?).map(|class| class.name.as_str().into());
        }
        function = function.parent.filter(|_| function.is_arrow).and_then(|parent| module.functions.get(parent))?;
    }
    None
}

/// Functions inside of functions.
const INNER_DEEP: usize = 8;
