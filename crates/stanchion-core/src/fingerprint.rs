//! What a call asks for, as 32 bytes: two payloads that mean the same have the same fingerprint.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::{Error, ErrorKind, Result};

/// Nesting beyond this is refused: the reader calls itself once per level.
const DEPTH_MAX: usize = 128;

/// SHA-256 over a payload: over canonical JSON, or over bytes as they are.
///
/// Canonical means: members in any order, any white space, any spelling of a string or a number (`1`, `1.0`,
/// `10e-1`) are one. Numbers are compared as decimal text, so large integers that differ stay different.
/// Texts are compared byte by byte: Unicode is not normalised.
///
/// ```
/// use stanchion_core::Fingerprint;
/// let a = Fingerprint::of_json(r#"{"amount": 1.0, "to": "bob"}"#)?;
/// let b = Fingerprint::of_json(r#"{"to":"b\u006fb","amount":1}"#)?;
/// assert_eq!(a, b);
/// assert_ne!(a, Fingerprint::of_json(r#"{"to":"bob","amount":2}"#)?);
/// # Ok::<(), stanchion_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a JSON document.
    ///
    /// # If it fails
    /// `Invalid` if it is not JSON, names a member twice (readers disagree which one counts), or nests deeper than 128.
    ///
    /// ```
    /// # use stanchion_core::Fingerprint;
    /// assert!(Fingerprint::of_json(r#"{"a":1,"a":2}"#).is_err());
    /// ```
    pub fn of_json(text: &str) -> Result<Self> {
        let mut reader = Reader { text, at: 0 };
        let mut out = Vec::with_capacity(text.len());
        reader.value(&mut out, 0)?;
        reader.space();
        if reader.at < text.len() {
            return Err(reader.wrong("text after the end of the document"));
        }
        Ok(Self::of_parts(&[b"json", &out]))
    }

    /// Of bytes as they are.
    ///
    /// ```
    /// # use stanchion_core::Fingerprint;
    /// assert_ne!(Fingerprint::of_bytes(b"1"), Fingerprint::of_bytes(b"1.0"));
    /// ```
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::of_parts(&[b"bytes", bytes])
    }

    /// Of several parts, so that no two lists of parts run together.
    ///
    /// ```
    /// # use stanchion_core::Fingerprint;
    /// assert_ne!(Fingerprint::of_parts(&[b"ab", b"c"]), Fingerprint::of_parts(&[b"a", b"bc"]));
    /// ```
    #[must_use]
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The bytes.
    ///
    /// ```
    /// assert_eq!(stanchion_core::Fingerprint::of_bytes(b"").as_bytes().len(), 32);
    /// ```
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&hex).unwrap_or_default())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl FromStr for Fingerprint {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self> {
        let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let mut out = [0; 32];
        let bytes = text.as_bytes();
        for (i, byte) in out.iter_mut().enumerate() {
            let pair = (bytes.get(2 * i).copied().and_then(digit), bytes.get(2 * i + 1).copied().and_then(digit));
            let (Some(high), Some(low), 64) = (pair.0, pair.1, bytes.len()) else {
                return Err(Error::new(ErrorKind::Invalid, "a fingerprint is 64 hex digits"));
            };
            *byte = high << 4 | low;
        }
        Ok(Self(out))
    }
}

/// Reads JSON and writes it canonically. Our own, because a parsed number has lost the digits that tell two large
/// integers apart.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn wrong(&self, what: &'static str) -> Error {
        Error::new(ErrorKind::Invalid, "the payload is not JSON").with("why", what).with("at byte", self.at)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("more than 128 levels"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(out, depth),
            Some(b'[') => self.array(out, depth),
            Some(b'"') => {
                let text = self.string()?;
                write_string(out, &text);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(out),
            _ => {
                let rest = &self.text[self.at..];
                let Some(word) = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word)) else {
                    return Err(self.wrong("a value is expected"));
                };
                self.at += word.len();
                out.extend_from_slice(word.as_bytes());
                Ok(())
            }
        }
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        self.at += 1;
        let mut members: Vec<(String, Vec<u8>)> = Vec::new();
        if !self.take(b'}') {
            loop {
                self.space();
                if self.peek() != Some(b'"') {
                    return Err(self.wrong("the name of a member is expected"));
                }
                let name = self.string()?;
                if !self.take(b':') {
                    return Err(self.wrong("a colon is expected"));
                }
                let mut value = Vec::new();
                self.value(&mut value, depth + 1)?;
                members.push((name, value));
                if self.take(b'}') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.wrong("a comma or a closing brace is expected"));
                }
            }
        }
        members.sort();
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(self.wrong("a member is named twice"));
        }
        out.push(b'{');
        for (name, value) in members {
            write_string(out, &name);
            out.push(b':');
            out.extend_from_slice(&value);
            out.push(b',');
        }
        out.push(b'}');
        Ok(())
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<()> {
        self.at += 1;
        out.push(b'[');
        if !self.take(b']') {
            loop {
                self.value(out, depth + 1)?;
                out.push(b',');
                if self.take(b']') {
                    break;
                }
                if !self.take(b',') {
                    return Err(self.wrong("a comma or a closing bracket is expected"));
                }
            }
        }
        out.push(b']');
        Ok(())
    }

    fn string(&mut self) -> Result<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(self.wrong("a text does not end")),
            }
        }
        self.at += 1;
        let spelled: Option<&'a str> = self.text.get(start..self.at);
        spelled.and_then(|text| serde_json::from_str(text).ok()).ok_or_else(|| self.wrong("a text is badly spelled"))
    }

    /// Writes sign, digits without zeros at either end, and the power of ten they are multiplied with.
    fn number(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let digits = |reader: &mut Self| {
            let start = reader.at;
            while matches!(reader.peek(), Some(b'0'..=b'9')) {
                reader.at += 1;
            }
            &reader.text[start..reader.at]
        };
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative);
        let whole = digits(self);
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return Err(self.wrong("a number is badly spelled"));
        }
        let mut fraction = "";
        if self.peek() == Some(b'.') {
            self.at += 1;
            fraction = digits(self);
            if fraction.is_empty() {
                return Err(self.wrong("a number is badly spelled"));
            }
        }
        let mut exponent = 0_i64;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            let minus = self.peek() == Some(b'-');
            self.at += usize::from(minus || self.peek() == Some(b'+'));
            let spelled = digits(self);
            exponent = spelled.parse::<i32>().map_err(|_| self.wrong("an exponent is too large"))?.into();
            exponent = if minus { -exponent } else { exponent };
        }
        let all = [whole, fraction].concat();
        let kept = all.trim_start_matches('0').trim_end_matches('0');
        if kept.is_empty() {
            out.push(b'0');
            return Ok(());
        }
        let zeros = all.len() - all.trim_end_matches('0').len();
        let size = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let power = exponent.saturating_add(size(zeros)).saturating_sub(size(fraction.len()));
        let sign = if negative { "-" } else { "" };
        out.extend_from_slice(format!("{sign}{kept}e{power}").as_bytes());
        Ok(())
    }
}

/// With its length in front, nothing needs to be escaped.
fn write_string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(format!("\"{}:", text.len()).as_bytes());
    out.extend_from_slice(text.as_bytes());
}
