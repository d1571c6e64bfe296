//! What is bound to a statement.

use std::borrow::Cow;
use std::rc::Rc;

use super::condition::{is_identity, is_row_key};
use super::known::Known;
use super::mark::Mark;
use super::name::occurrences;
use super::value::{Origins, Shape, Value};
use crate::sql::{Assignment, Condition, Operand, Operator, Piece, Placeholder, Statement, Verb};

/// What stands before a name in a statement.
const SIGNS: [char; 3] = ['$', ':', '@'];

/// How what a statement gives is called.
pub(super) const ROWS: &str = "rows of ";

/// What is bound to a statement's placeholders and holes.
pub(super) struct Bound {
    pub(super) names: Vec<String>,
    pub(super) holes: Vec<Value>,
    pub(super) values: Vec<Value>,
    /// Of what else is bound, nobody knows where.
    pub(super) rest: Origins,
}

/// Text and holes of a statement, with the names of what is put into the holes, and their values where those are known.
pub(super) fn parts(text: &Value) -> (Vec<Piece>, Vec<String>, Vec<Value>) {
    let Shape::Template(parts) = &text.shape else {
        let (pieces, names) = pieces(&text.name);
        return (pieces, names, Vec::new());
    };
    let (mut pieces, mut holes) = (Vec::with_capacity(parts.len()), Vec::new());
    for part in parts.iter() {
        match &part.shape {
            Shape::Str(text) => pieces.push(Piece::Text(text.to_string())),
            Shape::Num(_) => pieces.push(Piece::Text(part.name.to_string())),
            _ => {
                pieces.push(Piece::Hole(holes.len()));
                holes.push(part.clone());
            }
        }
    }
    (pieces, holes.iter().map(|hole| hole.name.to_string()).collect(), holes)
}

/// Text and holes of a value's name.
fn pieces(name: &str) -> (Vec<Piece>, Vec<String>) {
    let (mut pieces, mut holes) = (Vec::new(), Vec::new());
    let mut rest = name;
    while let Some(at) = rest.find("${") {
        let (text, hole) = rest.split_at(at);
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        let mut depth = 0_u32;
        let end = hole.char_indices().find_map(|(index, c)| {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (c == '}' && depth == 0).then_some(index)
        });
        let Some(end) = end else { break };
        pieces.push(Piece::Hole(holes.len()));
        holes.push(hole.get(2..end).unwrap_or_default().to_owned());
        rest = hole.get(end + 1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    (pieces, holes)
}

impl Bound {
    /// What is bound by a name; some libraries want it with the mark that it has in the statement.
    fn named(&self, name: &str) -> Option<Value> {
        let marked = |value: &Value| SIGNS.iter().find_map(|sign| value.option(&format!("{sign}{name}")));
        let known = self.values.iter().find_map(|value| value.option(name).or_else(|| marked(value)));
        known.or_else(|| self.of_whole(name))
    }

    /// The same where a row that was read is given as a whole, or put into an object with others: `{ ...row, ...changes }`.
    fn of_whole(&self, name: &str) -> Option<Value> {
        let is_whole = |value: &&Value| {
            let holds = value.object().is_some() || self.values.len() == 1 && value.is_vague();
            holds && !value.origins.is_empty()
        };
        let whole = self.values.iter().find(is_whole)?;
        Some(Value::joined(&[&whole.name, ".", name]).from(&whole.origins))
    }

    fn value(&self, operand: &Operand) -> Option<&Value> {
        match operand {
            Operand::Hole(hole) => self.holes.get(*hole),
            operand => self.values.get(place(operand)?),
        }
    }

    /// The same, also of one that is bound by its name.
    fn given_to(&self, operand: &Operand) -> Option<Cow<'_, Value>> {
        match operand {
            Operand::Placeholder(Placeholder::Name(name)) => self.named(name).map(Cow::Owned),
            operand => self.value(operand).map(Cow::Borrowed),
        }
    }

    /// Whether it is known which of the values stands there.
    pub(super) fn has(operand: &Operand) -> bool {
        !matches!(operand, Operand::Placeholder(Placeholder::Number(0)))
    }

    pub(super) fn name(&self, operand: &Operand) -> String {
        match operand {
            Operand::Placeholder(Placeholder::Name(name)) => {
                self.named(name).map_or_else(|| format!(":{name}"), |value| value.name.to_string())
            }
            Operand::Placeholder(_) => {
                self.value(operand).map_or_else(|| "?".to_owned(), |value| value.name.to_string())
            }
            Operand::Hole(hole) => self.names.get(*hole).cloned().unwrap_or_default(),
            Operand::Literal(text) => text.clone(),
            Operand::Column(column) => format!(".{column}"),
            Operand::Other(parts) => parts.iter().map(|part| self.name(part)).collect::<Vec<_>>().join("~"),
        }
    }

    pub(super) fn origins(&self, operand: &Operand) -> Origins {
        match operand {
            Operand::Placeholder(Placeholder::Name(name)) => {
                self.named(name).map(|value| value.deep_origins()).unwrap_or_default()
            }
            Operand::Other(parts) => parts.iter().fold(Origins::default(), |all, part| all.with(&self.origins(part))),
            Operand::Placeholder(_) => self.value(operand).map_or_else(|| self.rest.clone(), Value::deep_origins),
            _ => self.value(operand).map(Value::deep_origins).unwrap_or_default(),
        }
    }

    /// Columns of a new row into which another caller would put the same: not a name that nobody can know, nor the time.
    pub(super) fn given(&self, statement: &Statement) -> Vec<Rc<str>> {
        let is_fresh = |operand: &Operand| is_fresh(&self.name(operand));
        let given = statement.insert.iter().filter(|(_, operand)| !is_fresh(operand));
        given.map(|(column, _)| column.as_str().into()).collect()
    }

    /// What is written derives from these.
    pub(super) fn deps(&self, statement: &Statement) -> Origins {
        // What the database computes from the row as it is then overwrites nothing: beside other columns it does not count.
        let computed = statement.set.iter().all(|set| set.relative);
        let set = statement.set.iter().filter(|set| computed || !set.relative).map(|set| &set.operand);
        // Of a row that is there only what is set is replaced, and its key is none of that.
        let replaces = |column: &str| {
            let sets = |set: &Assignment| set.column == "*" || set.column == column || names(&set.operand, column);
            statement.verb != Verb::Upsert
                || statement.set.is_empty()
                || column.is_empty()
                || statement.set.iter().any(sets)
        };
        let inserted = statement.insert.iter().filter(|(column, _)| replaces(column)).map(|(_, operand)| operand);
        let keys: Vec<Cow<'_, Value>> = match statement.verb {
            Verb::Upsert => {
                let keys = statement.insert.iter().filter(|(column, _)| !replaces(column));
                keys.filter_map(|(_, operand)| self.given_to(operand)).collect()
            }
            _ => Vec::new(),
        };
        // What is made of the key alone keeps nothing of the row, wherever the key comes from.
        let of_key = |operand: &&Operand| {
            let value = self.given_to(operand);
            value.is_some_and(|value| keys.iter().any(|key| is_made_of(&value, key)))
        };
        let written = set.chain(inserted).filter(|operand| !of_key(operand));
        let from = |operand: &Operand| match (operand, self.given_to(operand)) {
            (Operand::Placeholder(_) | Operand::Hole(_), Some(value)) => set_from(statement, &value),
            _ => self.origins(operand),
        };
        let from = written.fold(Origins::default(), |all, operand| all.with(&from(operand)));
        // More is bound than has a place here: it may stand before what has one.
        let bound = |operand: &Operand| !matches!(operand, Operand::Placeholder(_)) || self.value(operand).is_some();
        if !self.rest.is_empty() && !statement.filter.iter().all(|condition| bound(&condition.operand)) {
            return from.with(&self.rest);
        }
        if !statement.set.is_empty() && self.is_any(statement) {
            return from.with(&self.set_by_any(statement));
        }
        if statement.partial || statement.set.is_empty() && statement.insert.is_empty() {
            return self.values.iter().fold(from.with(&self.rest), |all, value| all.with(&value.deep_origins()));
        }
        from
    }

    /// More is set than it seems, or nobody knows by what: what is bound to the conditions is known from the end.
    pub(super) fn align(&self, statement: &mut Statement) {
        let at_place = |operand: &Operand| {
            matches!(operand, Operand::Placeholder(Placeholder::Position(_) | Placeholder::Number(0)))
        };
        let is_plain = |operand: &Operand| at_place(operand) || !matches!(operand, Operand::Other(_));
        let is_short = |operand: &Operand| at_place(operand) && self.value(operand).is_none();
        let operands = || statement.filter.iter().map(|condition| &condition.operand);
        let is_loose = self.is_any(statement) || operands().any(is_short);
        let count = operands().filter(|operand| at_place(operand)).count();
        let Some(first) = self.values.len().checked_sub(count) else { return };
        let known = self.rest.is_empty() && statement.limit.is_none() && operands().all(is_plain);
        if statement.set.is_empty() || !is_loose || !known {
            return;
        }
        let operands = statement.filter.iter_mut().map(|condition| &mut condition.operand);
        for (at, operand) in operands.filter(|operand| at_place(operand)).enumerate() {
            *operand = Operand::Placeholder(Placeholder::Position(first + at));
        }
    }

    /// Whether it is not known what is bound to which of the columns that are set.
    fn is_any(&self, statement: &Statement) -> bool {
        let is_known = |set: &Assignment| {
            let placed = matches!(set.operand, Operand::Placeholder(Placeholder::Position(_) | Placeholder::Number(_)));
            set.column != "*" && (!placed || self.value(&set.operand).is_some())
        };
        !statement.set.iter().all(is_known)
    }

    /// What is bound to columns of which nobody knows which ones they are: all that is not bound to the conditions.
    fn set_by_any(&self, statement: &Statement) -> Origins {
        let operands = || statement.filter.iter().map(|condition| &condition.operand);
        let places: Vec<usize> = operands().filter_map(place).collect();
        let is_named = |field: &str| {
            operands().any(|operand| matches!(operand, Operand::Placeholder(Placeholder::Name(name)) if name == field))
        };
        let set = self.values.iter().enumerate().filter(|(at, _)| !places.contains(at));
        set.fold(self.rest.clone(), |all, (_, value)| match value.object() {
            Some(object) => {
                let fields = object.fields.borrow();
                let set = fields.iter().filter(|(field, _)| !is_named(field));
                set.fold(all.with(&value.origins), |all, (_, field)| all.with(&field.deep_origins()))
            }
            None => all.with(&set_from(statement, value)),
        })
    }
}

/// The place of a value among those that are bound.
fn place(operand: &Operand) -> Option<usize> {
    match operand {
        Operand::Placeholder(Placeholder::Number(number)) => (*number as usize).checked_sub(1),
        Operand::Placeholder(Placeholder::Position(at)) => Some(*at),
        _ => None,
    }
}

/// Whether a value is computed from another one and nothing else that was read where that was.
fn is_made_of(value: &Value, key: &Value) -> bool {
    let origins = key.deep_origins();
    let (mut others, mut end) = (String::new(), 0);
    for at in occurrences(&value.name, &key.name) {
        others += value.name.get(end..at).unwrap_or_default();
        end = at + key.name.len();
    }
    if origins.is_empty() || end == 0 {
        return false;
    }
    others += value.name.get(end..).unwrap_or_default();
    // No other part of the same thing is in it.
    let root = key.name.split(['.', '[', '(']).next().unwrap_or_default();
    !root.is_empty() && !others.contains(root) && value.deep_origins().iter().all(|id| origins.contains(id))
}

/// What columns get derives from these, without the reads of which it has only the key of another row, or that as a part of a
/// text: nobody else would have changed it.
fn set_from(statement: &Statement, value: &Value) -> Origins {
    let is_set = |field: &str| statement.set.iter().any(|set| set.column.eq_ignore_ascii_case(field));
    let is_field = |value: &Value, is_key: fn(&str) -> bool| {
        let field = match &value.shape {
            Shape::Method(of, field) => Some((&*of.name, &**field)),
            _ => value.name.rsplit_once('.'),
        };
        field.is_some_and(|(of, field)| of.starts_with(ROWS) && is_key(field) && !is_set(field))
    };
    let whole = || value.deep_origins();
    if statement.verb != Verb::Update || value.origins.is_empty() {
        return whole();
    }
    match &value.shape {
        Shape::Template(parts) => {
            let others = parts.iter().filter(|part| !is_field(part, is_identity));
            others.fold(Origins::default(), |all, part| all.with(&part.deep_origins()))
        }
        Shape::Unknown | Shape::Method(..) if is_field(value, is_row_key) => Origins::default(),
        _ => whole(),
    }
}

/// Whether a value with this name is another one for every caller.
pub(super) fn is_fresh(name: &str) -> bool {
    Mark::Unique.is_in(name)
}

/// Whether it is computed from this column.
fn names(operand: &Operand, column: &str) -> bool {
    match operand {
        Operand::Column(name) => name == column,
        Operand::Other(parts) => parts.iter().any(|part| names(part, column)),
        _ => false,
    }
}

impl Bound {
    /// By which columns a statement finds the rows that it changes, and what the values of those derive from; nothing if it
    /// is not known what else is asked for.
    pub(super) fn chosen(&self, statement: &Statement) -> (Rc<[Rc<str>]>, Origins) {
        if statement.filter_other || !matches!(statement.verb, Verb::Update | Verb::Delete) {
            return Default::default();
        }
        let columns = statement.filter.iter().map(|condition| condition.column.as_str().into()).collect();
        let from = statement.filter.iter().map(|condition| self.origins(&condition.operand));
        (columns, from.fold(Origins::default(), |all, one| all.with(&one)))
    }

    /// Whether an update says only when that was.
    pub(super) fn is_stamp(&self, statement: &Statement) -> bool {
        let is_time = |operand: &Operand| match operand {
            // The database's own clock.
            Operand::Other(parts) if parts.iter().all(|part| matches!(part, Operand::Literal(_))) => true,
            operand => Mark::Unique.is_in(&self.name(operand)),
        };
        !statement.set.is_empty() && statement.set.iter().all(|set| is_time(&set.operand))
    }

    /// What columns are set to, as it is named, and whether that is the same for every caller but for the time.
    pub(super) fn set_to(&self, statement: &Statement) -> Vec<(Rc<str>, String, bool)> {
        let to = |set: &Assignment| {
            // An upsert mostly sets what it would have inserted.
            let inserted = statement.insert.iter().find(|(column, _)| names(&set.operand, column));
            let operand = inserted.map_or(&set.operand, |(_, operand)| operand);
            let name = self.name(operand);
            let is_given = name.replace("${", "").contains('$') || name == "?" || Mark::Random.is_in(&name);
            let is_same = !is_given && self.origins(operand).is_empty();
            (set.column.as_str().into(), name, is_same)
        };
        statement.set.iter().map(to).collect()
    }
}

/// Whether rows are changed only if a column is as it was given, which is raised at the same time.
pub(super) fn by_version(statement: &Statement) -> bool {
    let asked = |column: &str| {
        statement.filter.iter().any(|condition| condition.operator == Operator::Equal && condition.column == column)
    };
    statement.set.iter().any(|set| set.relative && asked(&set.column))
}

/// Columns that become one more than they were, by the database or from what was read.
pub(super) fn raised(statement: &Statement, bound: &Bound, known: &Known<'_>) -> Vec<Rc<str>> {
    let text: String = known.at().map(|text| text.name.to_lowercase()).unwrap_or_default();
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let by_one = |value: &Value| value.name.ends_with("+1)") && !value.deep_origins().is_empty();
    let set = statement.set.iter().filter(|set| match &set.operand {
        _ if set.relative => text.contains(&format!("{}+1", set.column)),
        operand => bound.value(operand).is_some_and(by_one),
    });
    let raised: Vec<Rc<str>> = set.map(|set| set.column.as_str().into()).collect();
    // Beside nothing but marks and times, it counts what happens and not the changes of a content.
    let is_mark = |operand: &Operand| match operand {
        Operand::Literal(_) => true,
        operand => bound.value(operand).is_some_and(|value| Mark::Unique.is_in(&value.name)),
    };
    let mut others = statement.set.iter().filter(|set| raised.iter().all(|column| **column != *set.column)).peekable();
    if others.peek().is_some() && others.all(|set| is_mark(&set.operand)) { Vec::new() } else { raised }
}

/// Columns that are to be less than something in the rows that a statement finds: what is counted or timed anew is mostly
/// more, and then they are no longer among them.
pub(super) fn within(statement: &Statement) -> Vec<Rc<str>> {
    let less = |condition: &&Condition| matches!(condition.operator, Operator::Less | Operator::LessEqual);
    statement.filter.iter().filter(less).map(|condition| condition.column.as_str().into()).collect()
}

/// The columns by whose values alone a statement finds its rows.
pub(super) fn columns_only(statement: &Statement) -> Option<Vec<Rc<str>>> {
    let is_equal = |condition: &Condition| condition.operator == Operator::Equal;
    let plain = !statement.filter_other && statement.filter.iter().all(is_equal);
    plain.then(|| statement.filter.iter().map(|condition| condition.column.as_str().into()).collect())
}
