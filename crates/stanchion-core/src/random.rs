//! The system's random source, and nothing else.

/// 128 random bits.
///
/// A buffer per thread would save a system call per lock, but a forked or resumed process would then
/// draw the same owner twice; uniqueness of owners is what release and renewal stand on.
pub(crate) fn u128() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    u128::from_ne_bytes(bytes)
}

/// A uniform number below `bound` (which is not 0), for jitter. The bias of the modulo is below 2^-64.
pub(crate) fn below(bound: u64) -> u64 {
    u64::try_from(u128() % u128::from(bound)).unwrap_or(0)
}
