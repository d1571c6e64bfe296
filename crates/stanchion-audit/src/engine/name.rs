//! Names of values, put together of other names. The same ones are made again and again, by every call that does the same;
//! so short ones are kept.

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write as _};
use std::rc::Rc;

use foldhash::{HashSet, HashSetExt as _};

use super::mark::Mark;

/// Names longer than this are cut and told apart by their length and a sum.
pub(super) const NAME_MOST: usize = 160;
/// Names up to this length are kept, and so many of them.
const SHORT: usize = 48;
const KEPT_MOST: usize = 100_000;

thread_local! {
    static KEPT: RefCell<HashSet<Rc<str>>> = RefCell::new(HashSet::new());
    static PLACE: Cell<String> = const { Cell::new(String::new()) };
}

/// A word of the program, or a name as it is.
pub(super) fn word(text: &str) -> Rc<str> {
    if text.len() > SHORT {
        return text.into();
    }
    KEPT.with_borrow_mut(|kept| {
        if let Some(known) = kept.get(text) {
            return Rc::clone(known);
        }
        if kept.len() >= KEPT_MOST {
            kept.clear();
        }
        let new: Rc<str> = text.into();
        kept.insert(Rc::clone(&new));
        new
    })
}

/// Where a name stands in another one, neither as a part of a longer word nor as a field of something else.
pub(super) fn occurrences<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        let begins_before = name.starts_with(is_word) && before.is_some_and(|c| is_word(c) || c == '.');
        let goes_on = name.ends_with(is_word) && after.is_some_and(is_word);
        !begins_before && !goes_on
    })
}

/// Nothing is kept any more.
pub(super) fn forget() {
    KEPT.with_borrow_mut(|kept| *kept = HashSet::new());
}

/// The name of a value, cut if it is long.
pub(super) fn named(name: &dyn fmt::Display) -> Rc<str> {
    written(|text| {
        // A string takes everything.
        write!(text, "{name}").ok();
    })
}

/// The same of parts that follow each other: most names are made of other names, and this is quicker.
pub(super) fn joined(parts: &[&str]) -> Rc<str> {
    written(|text| parts.iter().for_each(|part| text.push_str(part)))
}

/// `callee(one,other)`; further arguments are left out when it has become long.
pub(super) fn called<'a>(callee: &str, args: impl Iterator<Item = &'a str>) -> Rc<str> {
    written(|text| {
        text.push_str(callee);
        text.push('(');
        let start = text.len();
        for (index, arg) in args.enumerate() {
            if text.len() - start > 4 * NAME_MOST {
                text.push('…');
                break;
            }
            if index > 0 {
                text.push(',');
            }
            text.push_str(arg);
        }
        text.push(')');
    })
}

fn written(write: impl FnOnce(&mut String)) -> Rc<str> {
    let mut text = PLACE.take();
    text.clear();
    write(&mut text);
    let made = cut(&text);
    PLACE.set(text);
    made
}

pub(super) fn cut(name: &str) -> Rc<str> {
    if name.len() <= NAME_MOST {
        return word(name);
    }
    let sum = name.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let head: String = name.chars().take(NAME_MOST / 2).collect();
    // What was cut off may be what makes it unique.
    let marks: String = Mark::ALL.iter().filter(|mark| mark.is_in(name)).map(ToString::to_string).collect();
    format!("{head}…{marks}{}~{sum:x}", name.len()).into()
}

/// Names in a row; further ones are left out when it has become long.
pub(super) struct Joined<I>(pub(super) I);

impl<'a, I: Iterator<Item = &'a str> + Clone> fmt::Display for Joined<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut length = 0;
        for (index, name) in self.0.clone().enumerate() {
            if length > 4 * NAME_MOST {
                return f.write_str("…");
            }
            if index > 0 {
                f.write_str(",")?;
            }
            f.write_str(name)?;
            length += name.len() + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_kept_and_long_ones_are_told_apart() {
        let (one, other) = (named(&format_args!("a.{}", "b")), named(&"a.b"));
        assert!(Rc::ptr_eq(&one, &other));
        forget();
        assert!(!Rc::ptr_eq(&one, &named(&"a.b")), "void: it is not forgotten");
        let long = |end: &str| named(&format_args!("{}{end}", "x".repeat(2 * NAME_MOST)));
        assert!(long("a").len() <= NAME_MOST && long("a") != long("b") && long("a") == long("a"));
        assert!(Mark::Unique.is_in(&long(&format!("{}1", Mark::Unique))));
    }

    #[test]
    fn parts_and_calls_are_named_as_if_they_were_formatted() {
        assert_eq!((joined(&["a", ".", "b"]), joined(&[])), (named(&"a.b"), named(&"")));
        assert_eq!(called("f", ["a", "b"].into_iter()), named(&format_args!("f({})", Joined(["a", "b"].into_iter()))));
        assert_eq!(called("f", std::iter::empty()), named(&"f()"));
        assert!(called("f", std::iter::repeat_n("abc", 10_000)).len() <= NAME_MOST);
    }

    #[test]
    fn a_row_of_names_ends_when_it_is_long() {
        assert_eq!(Joined(["a", "b"].into_iter()).to_string(), "a,b");
        let all = Joined(std::iter::repeat_n("abc", 10_000)).to_string();
        assert!(all.ends_with('…') && all.len() < 5 * NAME_MOST, "{}", all.len());
    }
}
