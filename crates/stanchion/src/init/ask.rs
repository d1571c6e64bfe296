//! A question at the terminal.

use std::io::{BufRead, Write as _};

use stanchion_core::{Error, ErrorKind, Result};

/// Whether the answer is yes; an empty one and the end of input are no.
pub(super) fn yes(question: &str) -> Result<bool> {
    write!(std::io::stderr(), "{question}").and_then(|()| std::io::stderr().flush()).unwrap_or_default();
    let failed = |e| Error::new(ErrorKind::Denied, "the answer cannot be read; nothing was changed").because(e);
    answer(&mut std::io::stdin().lock()).map_err(failed)
}

fn answer(input: &mut impl BufRead) -> std::io::Result<bool> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn only_a_yes_is_a_yes() {
        let said = |text: &str| answer(&mut text.as_bytes()).expect("memory can be read");
        assert!(said("y\n") && said("Yes\n") && said(" YES \r\n"));
        assert!(!said("") && !said("\n") && !said("n\n") && !said("yeah\n") && !said("no\ny\n"));
    }
}
