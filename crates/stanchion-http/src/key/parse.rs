//! A structured-field string (RFC 8941 3.3.3) with parameters, or a bare key.

use super::BadKey;

/// The key in the header's value. Parameters of the quoted form are checked and ignored, as the RFC asks for
/// unknown ones; the bare form is no structured field, so all of it is the key.
pub(super) fn value(header: &[u8], max_chars: usize) -> Result<String, BadKey> {
    let start = header.iter().take_while(|b| **b == b' ').count();
    let end = header.len() - header[start..].iter().rev().take_while(|b| **b == b' ').count();
    let mut text = Text { bytes: &header[..end], at: start };
    let key = if text.peek() == Some(b'"') {
        let key = text.string()?;
        text.parameters()?;
        key
    } else {
        text.bare()?
    };
    if key.trim_ascii().is_empty() {
        return Err(BadKey::Empty);
    }
    if key.len() > max_chars {
        return Err(BadKey::TooLong { max_chars });
    }
    Ok(key)
}

struct Text<'h> {
    bytes: &'h [u8],
    at: usize,
}

impl Text<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
    }

    /// A comma is what an intermediary puts between two header lines when it joins them, and a quote is what a
    /// client forgets: a bare key has neither.
    fn bare(&mut self) -> Result<String, BadKey> {
        let mut key = String::new();
        while let Some(byte) = self.peek() {
            match byte {
                b',' => return Err(BadKey::Repeated),
                b' '..=b'~' if byte != b'"' => key.push(char::from(byte)),
                _ => return Err(BadKey::BadCharacter { at: self.at }),
            }
            self.at += 1;
        }
        Ok(key)
    }

    fn string(&mut self) -> Result<String, BadKey> {
        let mut key = String::new();
        self.at += 1;
        while let Some(byte) = self.peek() {
            let at = self.at;
            self.at += 1;
            match byte {
                b'"' => return Ok(key),
                b'\\' => match self.peek() {
                    Some(escaped @ (b'"' | b'\\')) => {
                        key.push(char::from(escaped));
                        self.at += 1;
                    }
                    Some(_) => return Err(BadKey::BadEscape { at }),
                    None => return Err(BadKey::UnterminatedQuote),
                },
                b' '..=b'~' => key.push(char::from(byte)),
                _ => return Err(BadKey::BadCharacter { at }),
            }
        }
        Err(BadKey::UnterminatedQuote)
    }

    /// `*( ";" *SP name [ "=" value ] )` up to the end.
    fn parameters(&mut self) -> Result<(), BadKey> {
        while let Some(byte) = self.peek() {
            let wrong = BadKey::AfterTheKey { at: self.at };
            if byte != b';' {
                let list = self.bytes[self.at..].trim_ascii_start().starts_with(b",");
                return Err(if list { BadKey::Repeated } else { wrong });
            }
            self.at += 1;
            self.skip(|b| b == b' ');
            if !self.peek().is_some_and(|b| b.is_ascii_lowercase() || b == b'*') {
                return Err(wrong);
            }
            self.skip(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.*".contains(&b));
            if self.peek() == Some(b'=') {
                self.at += 1;
                self.parameter_value().map_err(|()| wrong)?;
            }
        }
        Ok(())
    }

    /// A string, or a run of the characters that tokens, numbers, booleans and byte sequences are made of. What
    /// kind of item it is does not matter, because nobody reads it.
    fn parameter_value(&mut self) -> Result<(), ()> {
        if self.peek() == Some(b'"') {
            return self.string().map(drop).map_err(drop);
        }
        let start = self.at;
        self.skip(|b| b.is_ascii_graphic() && !b"\",;\\".contains(&b));
        if self.at > start { Ok(()) } else { Err(()) }
    }
}
