//! Where a moment is drawn. Long times in which nothing happens are cut short, so that a pause of seconds does not hide
//! calls of milliseconds.

/// The whole width, in hundredths of a percent.
pub(super) const WHOLE: u64 = 10_000;
/// How wide a cut is drawn.
const CUT: u64 = 700;
/// Shorter times are not cut.
const CUT_LEAST_US: u64 = 50_000;
/// So many moments are named, about.
const TICKS: u64 = 5;
/// Names that stand closer cannot be read.
const APART: u64 = WHOLE / 10;

#[derive(Debug)]
struct Piece {
    us: (u64, u64),
    at: (u64, u64),
    is_cut: bool,
}

#[derive(Debug)]
pub(super) struct Scale(Vec<Piece>);

impl Scale {
    /// For these moments, from 0 to the last of them.
    pub(super) fn new(moments: impl IntoIterator<Item = u64>) -> Self {
        let mut moments: Vec<u64> = moments.into_iter().chain([0]).collect();
        moments.sort_unstable();
        moments.dedup();
        if moments.len() == 1 {
            moments.push(1);
        }
        let gaps: Vec<(u64, u64)> =
            moments.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect();
        let mut lengths: Vec<u64> = gaps.iter().map(|(from, to)| to - from).collect();
        lengths.sort_unstable();
        let (mut shorter, mut longest) = (0, u64::MAX);
        for length in lengths {
            // Longer than all shorter ones together.
            if length >= CUT_LEAST_US && length > shorter && shorter > 0 {
                longest = length - 1;
                break;
            }
            shorter += length;
        }
        let cuts = u64::try_from(gaps.iter().filter(|(from, to)| to - from > longest).count()).unwrap_or(0);
        let cut = CUT.min(WHOLE / 2 / cuts.max(1));
        let (shown, room) = (shorter.max(1), WHOLE - cuts * cut);
        let (mut pieces, mut passed, mut cut_before): (Vec<Piece>, u64, u64) = (Vec::new(), 0, 0);
        for (from, to) in gaps {
            let is_cut = to - from > longest;
            let place = |passed: u64, cuts: u64| wide(passed, room, shown) + cuts * cut;
            let start = place(passed, cut_before);
            if is_cut {
                cut_before += 1;
            } else {
                passed += to - from;
            }
            pieces.push(Piece { us: (from, to), at: (start, place(passed, cut_before)), is_cut });
        }
        Self(pieces)
    }

    /// In hundredths of a percent.
    pub(super) fn at(&self, us: u64) -> u64 {
        let last = self.0.len().saturating_sub(1);
        let place = self.0.partition_point(|piece| piece.us.1 < us).min(last);
        self.0.get(place).map_or(0, |piece| {
            let into = us.clamp(piece.us.0, piece.us.1) - piece.us.0;
            piece.at.0 + wide(into, piece.at.1 - piece.at.0, (piece.us.1 - piece.us.0).max(1))
        })
    }

    pub(super) fn end_us(&self) -> u64 {
        self.0.last().map_or(0, |piece| piece.us.1)
    }

    /// From where to where, and how long the time is that is cut short.
    pub(super) fn cuts(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.0.iter().filter(|piece| piece.is_cut).map(|piece| (piece.at.0, piece.at.1, piece.us.1 - piece.us.0))
    }

    /// Round moments that are worth a name.
    pub(super) fn ticks(&self) -> Vec<u64> {
        let shown: u64 = self.0.iter().filter(|piece| !piece.is_cut).map(|piece| piece.us.1 - piece.us.0).sum();
        let step = round_up(shown / TICKS);
        let mut ticks: Vec<u64> = Vec::new();
        let mut at = 0;
        for piece in self.0.iter().filter(|piece| !piece.is_cut) {
            at = at.max(piece.us.0.div_ceil(step) * step);
            while at <= piece.us.1 {
                ticks.push(at);
                at += step;
            }
        }
        apart(ticks, APART, |tick| self.at(*tick))
    }

    /// Cuts with room for a name: those that touch have one together, and where many are close, pointing at one says how
    /// long it is.
    pub(super) fn named_cuts(&self) -> Vec<(u64, u64, u64)> {
        let mut named: Vec<(u64, u64, u64)> = Vec::new();
        for (from, to, us) in self.cuts() {
            match named.last_mut().filter(|last| last.1 == from) {
                Some(last) => (last.1, last.2) = (to, last.2 + us),
                None => named.push((from, to, us)),
            }
        }
        apart(named, APART / 2, |(from, to, _)| u64::midpoint(*from, *to))
    }
}

/// Without those that stand too close to the one before.
fn apart<T>(mut all: Vec<T>, least: u64, place: impl Fn(&T) -> u64) -> Vec<T> {
    let mut last: Option<u64> = None;
    all.retain(|one| {
        let place = place(one);
        let is_far = last.is_none_or(|last| place >= last + least);
        if is_far {
            last = Some(place);
        }
        is_far
    });
    all
}

fn wide(part: u64, room: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * u128::from(room) / u128::from(whole)).unwrap_or(room)
}

/// 1, 2 or 5 times a power of ten.
fn round_up(us: u64) -> u64 {
    let mut power: u64 = 1;
    loop {
        for factor in [1, 2, 5] {
            if power.saturating_mul(factor) >= us {
                return power.saturating_mul(factor);
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_keep_their_order_and_fill_the_width() {
        let scale = Scale::new([100, 5000, 5400]);
        assert_eq!((scale.at(0), scale.at(5400), scale.cuts().count()), (0, WHOLE, 0));
        assert!(scale.at(2700).abs_diff(WHOLE / 2) <= 2, "{scale:?}");
        assert_eq!(scale.at(u64::MAX), WHOLE);
        assert_eq!(scale.ticks(), [0, 2000, 4000]);
        assert_eq!(Scale::new([]).at(7), WHOLE);
    }

    #[test]
    fn a_long_time_in_which_nothing_happens_is_cut() {
        let scale = Scale::new([1000, 2000, 3000, 2_003_000, 2_004_000]);
        let cuts: Vec<_> = scale.cuts().collect();
        assert_eq!(cuts.iter().map(|cut| cut.2).collect::<Vec<_>>(), [2_000_000]);
        assert!(scale.at(3000) > WHOLE / 2 && scale.at(2_003_000) < WHOLE, "{scale:?}");
        let places: Vec<u64> = [0, 1000, 2999, 3000, 900_000, 2_003_000, 2_004_000].map(|us| scale.at(us)).into();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        assert!(scale.ticks().iter().all(|tick| *tick <= 3000 || *tick >= 2_003_000), "{:?}", scale.ticks());
    }

    #[test]
    fn names_stand_apart_from_each_other() {
        // Thirty bursts of calls, half a second between each.
        let bursts = (0..30).flat_map(|burst| (0..5).map(move |call| burst * 500_000 + call * 1000));
        let scale = Scale::new(bursts);
        assert_eq!(scale.cuts().count(), 29);
        let cuts: Vec<u64> = scale.named_cuts().iter().map(|(from, to, _)| u64::midpoint(*from, *to)).collect();
        let ticks: Vec<u64> = scale.ticks().iter().map(|tick| scale.at(*tick)).collect();
        for (places, least) in [(cuts, APART / 2), (ticks, APART)] {
            assert!(places.len() > 2 && places.windows(2).all(|pair| pair[1] - pair[0] >= least), "{places:?}");
        }
    }

    #[test]
    fn cuts_that_touch_have_one_name() {
        let scale = Scale::new([1000, 2000, 3000, 203_000, 503_000, 504_000]);
        assert_eq!(scale.cuts().map(|cut| cut.2).collect::<Vec<_>>(), [200_000, 300_000]);
        assert_eq!(scale.named_cuts().iter().map(|cut| cut.2).collect::<Vec<_>>(), [500_000]);
    }
}
