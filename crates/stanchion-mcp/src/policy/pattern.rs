//! Names of tools with `*` in them.

/// `create_*`: each `*` stands for any number of characters, also none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<char>);

impl Pattern {
    /// A name with a `*` is a pattern; any other is exact.
    pub(super) fn of(name: &str) -> Option<Self> {
        name.contains('*').then(|| Self(name.chars().collect()))
    }

    /// How much it says: of two patterns that match, the one that says more counts.
    pub(super) fn literals(&self) -> usize {
        self.0.iter().filter(|c| **c != '*').count()
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        meet(&self.0, &name.chars().collect::<Vec<_>>(), false)
    }

    /// Is there a name that both match?
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        meet(&self.0, &other.0, true)
    }
}

/// Is there a text for both? In `b`, a `*` is a star only if `stars`. Row by row, so that no pattern is slow.
fn meet(a: &[char], b: &[char], stars: bool) -> bool {
    // reached[j]: the parts of `a` so far and the first j of `b` have a text in common.
    let mut reached: Vec<bool> = Vec::with_capacity(b.len() + 1);
    reached.push(true);
    for &c in b {
        reached.push(stars && c == '*' && reached[reached.len() - 1]);
    }
    for &c in a {
        let mut next = vec![c == '*' && reached[0]];
        for (j, &d) in b.iter().enumerate() {
            let star = stars && d == '*';
            next.push(match (c == '*', star) {
                (true, _) | (_, true) => reached[j + 1] || next[j] || (star && c == '*' && reached[j]),
                (false, false) => reached[j] && c == d,
            });
        }
        reached = next;
    }
    reached[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern(text.chars().collect())
    }

    #[test]
    fn stars_stand_for_anything() {
        for (text, name, matches) in [
            ("*", "", true),
            ("*", "anything", true),
            ("create_*", "create_entities", true),
            ("create_*", "create_", true),
            ("create_*", "recreate_x", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxcyyb", false),
            ("a**", "a", true),
            ("a", "a", true),
            ("*é", "café", true),
            ("x*", "*", false),
            ("*a", "*", false),
        ] {
            assert_eq!(pattern(text).matches(name), matches, "{text} {name}");
        }
    }

    #[test]
    fn overlaps_are_found_and_only_those() {
        for (a, b, overlaps) in [
            ("list_*", "*_list", true),
            ("list_*", "read_*", false),
            ("a*", "a**", true),
            ("*a", "*b", false),
            ("a*b", "b*a", false),
            ("a*b", "ac*cb", true),
            ("*", "*", true),
            ("ab*", "a*c", true),
            ("x*y*z", "xy*yz", true),
        ] {
            assert_eq!(pattern(a).overlaps(&pattern(b)), overlaps, "{a} {b}");
            assert_eq!(pattern(b).overlaps(&pattern(a)), overlaps, "{b} {a}");
        }
    }

    /// Against the definition: some text of at most five letters that both match.
    #[test]
    fn overlaps_agree_with_trying_every_text() {
        let letters = ['a', 'b', '*'];
        let all = |alphabet: &[char], most: usize| {
            let mut texts = vec![String::new()];
            let mut last = texts.clone();
            for _ in 0..most {
                last = last.iter().flat_map(|t| alphabet.iter().map(move |c| format!("{t}{c}"))).collect();
                texts.extend(last.iter().cloned());
            }
            texts
        };
        let (patterns, texts) = (all(&letters, 3), all(&['a', 'b'], 6));
        for a in &patterns {
            for b in &patterns {
                let (a, b) = (pattern(a), pattern(b));
                let tried = texts.iter().any(|text| a.matches(text) && b.matches(text));
                assert_eq!(a.overlaps(&b), tried, "{a:?} {b:?}");
            }
        }
    }
}
