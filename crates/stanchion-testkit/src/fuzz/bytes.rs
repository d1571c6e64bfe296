//! Bytes made of other bytes.

use super::Random;

const MOST: usize = 100_000;

/// Numbers at which something ends, in the text of many protocols.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "+1",
    "00",
    "4294967295",
    "2147483648",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "1e9",
    "0x10",
];

/// Changes bytes in some places; `other` is what pieces may be taken from.
///
/// ```
/// use stanchion_testkit::fuzz::{Random, mutate_bytes};
/// assert_eq!(mutate_bytes(&mut Random::new(7), b"ab", b"c"), mutate_bytes(&mut Random::new(7), b"ab", b"c"));
/// ```
pub fn mutate_bytes(random: &mut Random, bytes: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(5) {
        change(random, &mut bytes, other);
        bytes.truncate(MOST);
    }
    bytes
}

fn piece(random: &mut Random, long: usize) -> std::ops::Range<usize> {
    let start = random.below(long + 1);
    let most = if random.once_in(4) { long } else { 8 };
    start..(start + random.below(most + 1)).min(long)
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(bytes.len() + 1);
    let span = piece(random, bytes.len());
    match random.below(10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(span)),
        2 => {
            let again = bytes[span.clone()].repeat(1 + random.below(40));
            bytes.splice(span, again);
        }
        3 => {
            let taken = piece(random, other.len());
            bytes.splice(span, other[taken].iter().copied());
        }
        4 => bytes.extend_from_slice(other),
        5 => digits(random, bytes),
        6 => {
            // A length of four bytes, in either order.
            let number = [0_u32, 1, 3, 0x7fff_ffff, 0xffff_ffff, 0xff_ffff][random.below(6)];
            let four = if random.once_in(2) { number.to_be_bytes() } else { number.to_le_bytes() };
            let end = (at + 4).min(bytes.len());
            bytes.splice(at..end, four);
        }
        7 => bytes
            .splice(at..at, [b"\r\n".as_slice(), b"\n", b"\0", b"\xff"][random.below(4)].iter().copied())
            .for_each(drop),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// Another number where one stands.
fn digits(random: &mut Random, bytes: &mut Vec<u8>) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[*at - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[random.below(starts.len())];
    let end = bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |length| start + length);
    bytes.splice(start..end, random.pick(NUMBERS).bytes());
}
