//! The fix of a finding, taken from the page of its rule: what fits the way in which its code is reached.

use crate::catalogue::Rule;
use crate::finding::Fix;

/// How calls come to the code, and so where Stanchion can stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Through an MCP server.
    Mcp,
    /// Over HTTP.
    Http,
    /// Somebody runs it.
    Command,
    /// It is Rust, and can call the library.
    Library,
}

impl Way {
    /// What a bullet for it has in it: the verb with an option, so that it is a command and not only spoken of.
    const fn mark(self) -> &'static str {
        match self {
            Self::Mcp => "`stanchion wrap -",
            Self::Http => "`stanchion proxy -",
            Self::Command => "`stanchion run -",
            Self::Library => LIBRARY,
        }
    }
}

/// How bullets about the library begin.
const LIBRARY: &str = "In Rust";

/// The first way without a library, and the first with Stanchion that fits.
pub(crate) fn fix(rule: &Rule, way: Way) -> Fix {
    let with = bullets(rule.doc, "## Fix with Stanchion");
    let fits = with.iter().find(|bullet| bullet.contains(way.mark()));
    let general = with.iter().find(|bullet| !bullet.starts_with(LIBRARY));
    let stanchion = fits.or(general).or_else(|| with.first()).cloned().unwrap_or_default();
    let plain = bullets(rule.doc, "## Fix without a library").into_iter().next().unwrap_or_default();
    Fix { plain, stanchion }
}

/// The bullets below a heading, each on one line.
fn bullets(doc: &str, heading: &str) -> Vec<String> {
    let section = doc.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "));
    let mut bullets: Vec<String> = Vec::new();
    for line in section {
        match (line.strip_prefix("- "), bullets.last_mut()) {
            (Some(text), _) => bullets.push(text.replace("**", "")),
            (None, Some(bullet)) if !line.trim().is_empty() => {
                bullet.push(' ');
                bullet.push_str(&line.trim().replace("**", ""));
            }
            _ => {}
        }
    }
    bullets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{RULES, rule};

    #[test]
    fn every_rule_has_both_fixes_for_every_way() {
        for rule in RULES {
            for way in [Way::Mcp, Way::Http, Way::Command, Way::Library] {
                let fix = fix(rule, way);
                assert!(!fix.plain.is_empty() && !fix.stanchion.is_empty(), "{}", rule.code);
                let code = [&fix.plain, &fix.stanchion].map(|text| text.matches('`').count() % 2);
                assert_eq!(code, [0, 0], "{}: a bullet was cut", rule.code);
            }
        }
    }

    #[test]
    fn the_fix_fits_the_way_and_says_so_where_none_is_needed() {
        let text = |code: &str, way| fix(rule(code).unwrap(), way).stanchion;
        assert!(text("RC101", Way::Mcp).starts_with("An MCP server, unchanged: `stanchion wrap -- CMD`"));
        assert!(text("RC101", Way::Http).contains("`stanchion proxy --listen"));
        assert!(text("RC101", Way::Command).starts_with("A script: `stanchion run --lock"));
        assert!(text("RC202", Way::Library).starts_with("In Rust: `Lease::release`"));
        for way in [Way::Mcp, Way::Http, Way::Command] {
            assert!(text("RC302", way).starts_with("None is needed"), "{way:?}");
            assert!(text("RC303", way).starts_with("The name is the fix"), "{way:?}");
        }
    }
}
