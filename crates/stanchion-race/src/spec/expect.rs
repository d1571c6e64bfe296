//! `[expect]`.

use toml::de::DeValue;

use super::calls::is_pointer;
use super::operation::Ordered;
use super::reader::Table;
use super::template::Words;
use super::{Amount, Expect, Model, Read};

const MODELS: [(&str, Model); 4] =
    [("register", Model::Register), ("counter", Model::Counter), ("set", Model::Set), ("mutex", Model::Mutex)];
const COUNTS: [(&str, Amount); 2] =
    [("acknowledged", Amount::Acknowledged), ("before+acknowledged", Amount::BeforeAndAcknowledged)];
const SUMS: [(&str, Amount); 2] = [("before", Amount::Before), ("before+acknowledged", Amount::BeforeAndAcknowledged)];

/// Whether calls are operations, before `[expect]` is read.
pub(super) fn ordered(top: &Table<'_, '_>) -> Ordered {
    let table = top.item("expect").and_then(|it| it.value.as_table());
    let Some(named) = table.and_then(|table| table.get("linearizable")) else { return Ordered::No };
    let known = named.get_ref().as_str().and_then(|word| MODELS.iter().find(|(it, _)| *it == word));
    known.map_or(Ordered::Misspelt, |(_, model)| Ordered::By(*model))
}

pub(super) fn expect(top: &Table<'_, '_>, read: Option<&Read>, has_upstream: bool) -> Option<Expect> {
    if !top.has("expect") {
        top.wrong("expect", "[expect] is needed", "", "say what must hold afterwards");
    }
    let table = top.table("expect")?;
    let sum = table.table("sum").and_then(|sum| {
        let select = sum.text("select").map(str::to_owned);
        if select.as_deref().is_some_and(|it| !is_pointer(it)) {
            sum.wrong("select", "not a JSON pointer", "/a/*/b", "say where the numbers are");
        }
        let is = amount(&sum, "is", &SUMS);
        if !sum.has("is") {
            sum.wrong("is", "`is` is needed", "a number, \"before\", \"before+acknowledged\"", "");
        }
        sum.finish();
        Some((select, is?))
    });
    let effects = table.choice("effects", &[("once", ())]).is_some();
    let expect = Expect {
        every: table.template("every", Words::Call),
        once: table.template("once", Words::Call),
        unique: table.yes("unique"),
        count: amount(&table, "count", &COUNTS),
        sum,
        effects,
        answers: table.yes("answers"),
        readable: table.yes("readable"),
        linearizable: table.choice("linearizable", &MODELS),
    };
    table.finish();
    let reads = ["every", "once", "unique", "count", "sum", "readable"];
    let none = !effects && !expect.answers && !table.has("linearizable") && reads.iter().all(|name| !table.has(name));
    if none {
        table.wrong("", "nothing is expected", "", "add at least one expectation");
    }
    for name in reads.iter().filter(|name| table.has(name) && !top.has("read")) {
        table.wrong(name, "nothing can be read back", "", "add [read]");
    }
    for name in ["unique", "count"] {
        if table.has(name) && read.is_some_and(|read| read.select.is_none()) {
            table.wrong(name, "nothing is selected", "", "add `select` to [read]");
        }
    }
    if effects && !has_upstream {
        table.wrong("effects", "nothing is recorded", "", "add [upstream]");
    }
    if expect.count.is_some_and(|it| matches!(it, Amount::Fixed(number) if number < 0.0 || number.fract() != 0.0)) {
        table.wrong("count", "not such a number", "a whole number, \"acknowledged\", \"before+acknowledged\"", "");
    }
    Some(expect)
}

fn amount(table: &Table<'_, '_>, name: &'static str, words: &[(&'static str, Amount)]) -> Option<Amount> {
    let item = table.item(name)?;
    let number = match item.value {
        DeValue::Integer(it) => i32::from_str_radix(it.as_str(), it.radix()).ok().map(f64::from),
        DeValue::Float(it) => it.as_str().parse().ok().filter(|it: &f64| it.is_finite()),
        _ => return table.choice(name, words),
    };
    if number.is_none() {
        table.wrong(name, "not such a number", "up to 2147483647", "");
    }
    number.map(Amount::Fixed)
}
