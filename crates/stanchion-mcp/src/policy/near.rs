//! Which known word was meant.

/// The known word that is closest to `word`, if it is close: at most a third of its letters are wrong.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word this long was not mistyped, and the table below grows with it.
    if word.chars().count() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1);
    let ranked = known.into_iter().map(|candidate| (distance(word, candidate), candidate));
    ranked.filter(|(distance, _)| *distance <= limit).min().map(|(_, candidate)| candidate)
}

/// How many letters must be added, removed, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_close_and_other_words_are_not() {
        let known = ["wait", "ttl", "max_hold", "response_cap", "rate"];
        for (word, meant) in [
            ("wiat", "wait"),
            ("tll", "ttl"),
            ("maxhold", "max_hold"),
            ("max-hold", "max_hold"),
            ("response_cpa", "response_cap"),
        ] {
            assert_eq!(nearest(word, known), Some(meant), "{word}");
        }
        for word in ["banana", "x", "timeout", ""] {
            assert_eq!(nearest(word, known), None, "{word}");
        }
        assert_eq!(nearest(&"w".repeat(65), known), None);
    }
}
