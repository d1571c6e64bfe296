//! The number by which a name goes where PostgreSQL takes only a number.

/// "stanchion" and "advisory", as two words. **Do not change this key or the function: two versions of Stanchion
/// with different numbers would both hold one lock.**
const KEY: (u64, u64) = (0x7374_616e_6368_696f, 0x6e61_6476_6973_6f72);

/// SipHash-2-4 of `namespace`, a zero byte, `name`. A collision of two names is a false conflict, never a false grant;
/// with a million names it has a chance of 3 in 100 million.
pub(crate) fn number(namespace: &str, name: &str) -> u64 {
    let mut bytes = Vec::with_capacity(namespace.len() + name.len() + 1);
    bytes.extend_from_slice(namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(name.as_bytes());
    sip_2_4(KEY, &bytes)
}

fn sip_2_4((k0, k1): (u64, u64), bytes: &[u8]) -> u64 {
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let chunks = bytes.chunks_exact(8);
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    last[7] = bytes.len().to_le_bytes()[0];
    for word in chunks.map(|c| c.try_into().unwrap_or([0; 8])).chain([last]).map(u64::from_le_bytes) {
        v[3] ^= word;
        rounds(&mut v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], count: u32) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_siphash_2_4() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let input: Vec<u8> = (0..15).collect();
        assert_eq!(sip_2_4(key, &input), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn the_numbers_of_released_versions_stay() {
        assert_eq!(number("stanchion", "deploy"), number("stanchion", "deploy"));
        assert_ne!(number("stanchion", "deploy"), number("stanchio", "ndeploy"));
    }
}
