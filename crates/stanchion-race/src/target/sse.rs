//! The events of a stream, as far as MCP needs them: the data of each.

use bytes::{Buf as _, Bytes, BytesMut};

/// Cuts bytes into events.
#[derive(Debug, Default)]
pub(super) struct Events {
    rest: BytesMut,
    data: Vec<u8>,
}

impl Events {
    /// Takes bytes; returns the data of every event that is whole.
    pub(super) fn feed(&mut self, bytes: &Bytes) -> Vec<Vec<u8>> {
        self.rest.extend_from_slice(bytes);
        let mut whole = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line = self.rest.split_to(end);
            self.rest.advance(1);
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                let data = std::mem::take(&mut self.data);
                whole.extend((!data.is_empty()).then_some(data));
            } else if let Some(data) = line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
        }
        whole
    }

    /// How much is kept that is not whole yet.
    pub(super) fn kept(&self) -> usize {
        self.rest.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_found_wherever_the_bytes_are_cut() {
        let stream = b": hello\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\nid: 3\n\ndata:x\n\ndata: rest";
        let expected: Vec<Vec<u8>> = vec![b"{\"a\":\n1}".to_vec(), b"x".to_vec()];
        for size in 1..stream.len() {
            let mut events = Events::default();
            let found: Vec<_> =
                stream.chunks(size).flat_map(|chunk| events.feed(&Bytes::copy_from_slice(chunk))).collect();
            assert_eq!(found, expected, "in pieces of {size}");
            assert_eq!(events.kept(), "data: rest".len());
        }
    }
}
