//! What is to happen, in the order of time; at the same microsecond, in the order in which it was planned.

use super::wire::What;

/// A heap with four children per node: fewer levels, and a level is one cache line.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: Vec<(u64, What)>,
    planned: u16,
}

/// Microseconds since the beginning of a world; 2^48 of them are nine years.
const ORDER_BITS: u32 = 16;

impl Queue {
    pub(super) fn clear(&mut self) {
        self.heap.clear();
        self.planned = 0;
    }

    pub(super) fn push(&mut self, at: u64, what: What) {
        self.planned = self.planned.wrapping_add(1);
        let entry = (at << ORDER_BITS | u64::from(self.planned), what);
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent].0 <= entry.0 {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    pub(super) fn pop(&mut self) -> Option<(u64, What)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some((last.0 >> ORDER_BITS, last.1));
        };
        let (len, mut hole) = (self.heap.len(), 0);
        loop {
            let child = hole * 4 + 1;
            if child >= len {
                break;
            }
            let mut least = child;
            for other in child + 1..(child + 4).min(len) {
                if self.heap[other].0 < self.heap[least].0 {
                    least = other;
                }
            }
            if last.0 <= self.heap[least].0 {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = last;
        Some((first.0 >> ORDER_BITS, first.1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::rng::Rng;
    use super::*;

    #[test]
    fn what_was_planned_comes_in_the_order_of_time_and_of_planning() {
        let (mut queue, mut rng) = (Queue::default(), Rng::new(1));
        let mut expected = Vec::new();
        for number in 0..5000 {
            let at = rng.below(300);
            expected.push((at, number));
            queue.push(at, What::Arrive { message: number });
        }
        expected.sort_unstable();
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let arrive = |&(at, message)| (at, What::Arrive { message });
        assert_eq!(popped, expected.iter().map(arrive).collect::<Vec<_>>());
    }
}
