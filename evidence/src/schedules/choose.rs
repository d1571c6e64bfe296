//! Where a run goes next: along every path in turn, or along one that a seed draws.

/// Answers "which of so many?".
#[derive(Debug)]
pub(super) enum Chooser {
    /// Depth first: the last choice that has an alternative is changed, and all before it are repeated.
    Every {
        path: Vec<(usize, usize)>,
        at: usize,
    },
    Drawn(u64),
}

impl Chooser {
    pub(super) const fn every() -> Self {
        Self::Every { path: Vec::new(), at: 0 }
    }

    /// The choices of run number `run`.
    pub(super) const fn drawn(seed: u64, run: u64) -> Self {
        Self::Drawn(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ run)
    }

    pub(super) fn choose(&mut self, of: usize) -> usize {
        match self {
            Self::Every { path, at } => {
                if *at == path.len() {
                    path.push((0, of));
                }
                // Random pauses of the code under test can make a repetition differ; then the last choice is as good.
                path[*at].1 = of;
                let chosen = path[*at].0.min(of - 1);
                *at += 1;
                chosen
            }
            Self::Drawn(state) => usize::try_from(draw(state) % of as u64).unwrap_or(0),
        }
    }

    /// Prepares the next run; no, if every path has been taken.
    pub(super) fn next(&mut self) -> bool {
        let Self::Every { path, at } = self else { return true };
        path.truncate(*at);
        *at = 0;
        while let Some((chosen, of)) = path.pop() {
            if chosen + 1 < of {
                path.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

/// splitmix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_taken_once() {
        let mut chooser = Chooser::every();
        let mut paths = Vec::new();
        loop {
            let first = chooser.choose(2);
            let second = if first == 0 { chooser.choose(3) } else { 0 };
            paths.push((first, second));
            if !chooser.next() {
                break;
            }
        }
        assert_eq!(paths, [(0, 0), (0, 1), (0, 2), (1, 0)]);
    }
}
