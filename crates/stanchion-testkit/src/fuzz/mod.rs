//! Mutated inputs, and what must be true of whatever reads them.
//!
//! A target is a test: it has inputs to begin with, and a function that looks at one input and says what is wrong. A short run of a fixed number of inputs is part
//! of the tests; `cargo xtask fuzz TARGET --seconds 3600 --seed 7` makes a long one. There is no coverage to steer by and nothing to install: seeds that hold everything
//! that is read, and mutations that know tokens, brackets and lengths, take its place.

mod bytes;
mod measure;
mod random;
mod text;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use self::bytes::mutate_bytes;
pub use self::measure::{Meter, Spent, Watch};
pub use self::random::Random;
pub use self::text::mutate;

/// Inputs of a short run.
const SHORT: u64 = 1_500;
/// So many are measured together: to measure costs more than to read one.
const GROUP: usize = 50;
/// The most for a group. Debug builds are slower.
const MOST: Spent = Spent { time: Duration::from_secs(if cfg!(debug_assertions) { 30 } else { 6 }), memory: 256 << 20 };
/// After so many, it is not worth going on.
const BAD: usize = 10;

/// What is looked at, and what it is made of.
#[derive(Debug)]
pub struct Target<'a> {
    /// As in `cargo xtask fuzz NAME`.
    pub name: &'a str,
    /// What inputs are made of.
    pub seeds: Vec<Vec<u8>>,
    /// Text is cut at tokens, anything else at bytes.
    pub is_text: bool,
}

impl<'a> Target<'a> {
    /// A target that reads text.
    ///
    /// ```
    /// use stanchion_testkit::fuzz::Target;
    /// Target::text("numbers", ["1", "-2.5"]).run(|input| match std::str::from_utf8(input) {
    ///     Ok(text) if text.parse::<f64>().is_ok_and(|number| number.to_string().parse() != Ok(number)) && text != "NaN" => {
    ///         Err("another number".to_owned())
    ///     }
    ///     _ => Ok(()),
    /// });
    /// ```
    pub fn text<'s>(name: &'a str, seeds: impl IntoIterator<Item = &'s str>) -> Self {
        Self { name, seeds: seeds.into_iter().map(|seed| seed.as_bytes().to_vec()).collect(), is_text: true }
    }

    /// A target that reads bytes.
    ///
    /// ```
    /// use stanchion_testkit::fuzz::Target;
    /// Target::bytes("lengths", [b"\x03abc".as_slice()]).run(|_| Ok(()));
    /// ```
    pub fn bytes<'s>(name: &'a str, seeds: impl IntoIterator<Item = &'s [u8]>) -> Self {
        Self { name, seeds: seeds.into_iter().map(<[u8]>::to_vec).collect(), is_text: false }
    }

    /// Looks at the seeds as they are, then at mutated ones.
    ///
    /// `STANCHION_FUZZ_SECONDS` and `STANCHION_FUZZ_SEED` make another run; `STANCHION_FUZZ_KEEP` is where bad inputs go; with
    /// `STANCHION_FUZZ_REPLAY`, one of them is looked at again.
    ///
    /// # Panics
    /// If something is wrong with an input: `look` said so or panicked, or a few inputs took too much time or memory.
    pub fn run(&self, look: impl Fn(&[u8]) -> Result<(), String>) {
        if let Some(file) = std::env::var_os("STANCHION_FUZZ_REPLAY") {
            let input = fs::read(&file).expect("the input that was kept can be read");
            return look(&input).unwrap_or_else(|what| panic!("{}: {what}", Path::new(&file).display()));
        }
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seed = number("STANCHION_FUZZ_SEED").unwrap_or(7);
        let mut run = Run::new(self, seed, number("STANCHION_FUZZ_SECONDS"));
        let problems = run.all(&look);
        eprintln!("{}", run.line(problems.len()));
        assert!(problems.is_empty(), "{}\n{}", run.line(problems.len()), problems.join("\n"));
    }

    fn input(&self, random: &mut Random) -> Vec<u8> {
        let pick = |random: &mut Random| &self.seeds[random.below(self.seeds.len())];
        let (seed, other) = (pick(random), pick(random));
        // Text can be damaged in its bytes as well.
        if self.is_text && !random.once_in(8) {
            let text = mutate(random, &String::from_utf8_lossy(seed), &String::from_utf8_lossy(other));
            return text.into_bytes();
        }
        mutate_bytes(random, seed, other)
    }
}

struct Run<'a> {
    target: &'a Target<'a>,
    seed: u64,
    seconds: Option<u64>,
    start: Instant,
    inputs: u64,
    bytes: usize,
    worst: Spent,
}

impl<'a> Run<'a> {
    fn new(target: &'a Target<'a>, seed: u64, seconds: Option<u64>) -> Self {
        Self { target, seed, seconds, start: Instant::now(), inputs: 0, bytes: 0, worst: Spent::default() }
    }

    fn is_over(&self) -> bool {
        match self.seconds {
            Some(seconds) => self.start.elapsed() >= Duration::from_secs(seconds),
            None => self.inputs >= SHORT,
        }
    }

    fn all(&mut self, look: &impl Fn(&[u8]) -> Result<(), String>) -> Vec<String> {
        let mut random = Random::new(self.seed);
        let mut problems = self.group(self.target.seeds.clone(), look);
        while !self.is_over() && problems.len() < BAD {
            let group = (0..GROUP).map(|_| self.target.input(&mut random)).collect();
            problems.extend(self.group(group, look));
        }
        problems
    }

    fn group(&mut self, group: Vec<Vec<u8>>, look: &impl Fn(&[u8]) -> Result<(), String>) -> Vec<String> {
        let judged = |input: &Vec<u8>| match catch_unwind(AssertUnwindSafe(|| look(input))) {
            Ok(said) => said.err(),
            Err(_) => Some("it panicked".to_owned()),
        };
        let meter = Meter::start();
        let mut bad: Vec<(&Vec<u8>, String)> = group.iter().filter_map(|input| Some((input, judged(input)?))).collect();
        let spent = meter.stop();
        self.worst.time = self.worst.time.max(spent.time);
        self.worst.memory = self.worst.memory.max(spent.memory);
        if spent.time > MOST.time || spent.memory > MOST.memory {
            let cost = |input: &&Vec<u8>| {
                let meter = Meter::start();
                judged(input);
                meter.stop()
            };
            let worst = group.iter().max_by_key(|input| (cost(input).time, input.len()));
            bad.extend(worst.map(|input| (input, format!("too much: {spent} with its neighbours"))));
        }
        self.inputs += group.len() as u64;
        self.bytes += group.iter().map(Vec::len).sum::<usize>();
        bad.into_iter().enumerate().map(|(nth, (input, what))| self.keep(nth, input, &what)).collect()
    }

    /// Writes a bad input to a file, and says what is wrong with it.
    fn keep(&self, nth: usize, input: &[u8], what: &str) -> String {
        let folder = std::env::var_os("STANCHION_FUZZ_KEEP").map_or_else(std::env::temp_dir, PathBuf::from);
        let file = folder.join(format!("bad-{}-{}-{}-{nth}", self.target.name, self.seed, self.inputs));
        let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, input));
        let place = kept.map_or_else(|e| format!("(not kept: {e})"), |()| file.display().to_string());
        format!("{place}: {what}: {:?}", String::from_utf8_lossy(&input[..input.len().min(300)]))
    }

    fn line(&self, bad: usize) -> String {
        let Self { target, seed, inputs, bytes, worst, .. } = self;
        let seconds = self.start.elapsed().as_secs();
        format!(
            "{}, seed {seed}: {inputs} inputs, {} KiB, in {seconds} s; at worst {worst} for {GROUP}; {bad} bad",
            target.name,
            bytes >> 10
        )
    }
}
