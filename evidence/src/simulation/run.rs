//! The layer: worlds on all cores until the time is up, then the controls, then what it all shows.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Player;
use super::controls;
use super::fault::FAULTS;
use super::property::PROPERTIES;
use super::rng::mix;
use super::scenario::{BACKENDS, Scenario};
use super::shrink::shrink;
use super::tally::{Found, Tally};
use crate::budget::Budget;
use crate::command::command;
use crate::report::{Report, Table, Violation};

/// Worlds that one thread takes at a time.
const PIECE: u64 = 256;

/// The seed of a world of a run. The first is the run's own, so that `--seed` shows a found world again.
#[must_use]
pub fn world_seed(run: u64, index: u64) -> u64 {
    if index == 0 { run } else { mix(run ^ mix(index)) }
}

/// Plays as many worlds as are asked for, or until the time is up; the first piece always. How many are played depends on the
/// time alone, and what comes out on their number alone.
fn play_all(budget: &Budget, threads: usize) -> Tally {
    let (pieces, start) = (Mutex::new(0), Instant::now());
    // Whether there is time is asked where the piece is taken: else one that was taken in time could be left out, and a later one not.
    let take = || {
        let mut pieces = pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let worlds = *pieces * PIECE..budget.worlds.unwrap_or(u64::MAX).min((*pieces + 1) * PIECE);
        let is_over = budget.worlds.is_none() && *pieces > 0 && start.elapsed() >= budget.time;
        *pieces += 1;
        (!is_over && !worlds.is_empty()).then_some(worlds)
    };
    let work = || {
        let (mut player, mut tally) = (Player::default(), Tally::default());
        while let Some(worlds) = take() {
            play_piece(&mut player, &mut tally, budget.seed, worlds);
        }
        tally.worked = on_processor();
        tally
    };
    std::thread::scope(|scope| {
        let players: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Tally::default();
        for player in players {
            all.add(&player.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

/// Time that this thread has had of a processor: the machine has other work as well. Nothing where the system does not tell.
fn on_processor() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(told.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn play_piece(player: &mut Player, tally: &mut Tally, run: u64, worlds: std::ops::Range<u64>) {
    for index in worlds {
        let seed = world_seed(run, index);
        let scenario = Scenario::of(seed);
        let outcome = player.play(seed, &scenario);
        tally.take(seed, &scenario, &outcome);
    }
}

/// Runs the layer.
#[must_use]
pub fn run(budget: &Budget) -> Report {
    let mut report = Report::new("simulation", budget.seed);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let tally = play_all(budget, threads);

    let all = tally.all();
    report.count("operations", all.operations);
    report.count("faults", all.faults_in_all());
    report.count("events", all.events);
    report.count("worlds", tally.cells.iter().map(|cell| cell.worlds).sum());
    report.tables.push(engines(&tally));
    report.tables.push(faults(&tally));
    report.tables.push(not_promised(&tally));
    report.tables.push(sometimes(&tally, &mut report.void));
    let speed = speed(&tally, threads, budget.seed, &mut report);
    report.tables.push(speed);
    let mut player = Player::default();
    report.violations.extend(tally.found.iter().map(|found| violation(&mut player, found)));
    report.controls = controls::run(budget.seed);
    report
}

fn violation(player: &mut Player, found: &Found) -> Violation {
    let Found { seed, breach } = found;
    let small = shrink(player, *seed, &Scenario::of(*seed), breach.property);
    let kinds: Vec<_> = FAULTS.iter().filter(|fault| small.has(**fault)).collect();
    let what = format!(
        "{} ({:?} {:?}; in small: {} clients, {} operations, at most {} faults of {kinds:?})",
        breach.what, small.backend, small.work, small.clients, small.operations, small.faults_max
    );
    let replay = format!("{} --seed {seed} --worlds 1", command("simulation"));
    Violation { property: format!("{:?}", breach.property), what, replay }
}

fn cells(tally: &Tally) -> impl Iterator<Item = (String, &super::tally::Cell)> {
    tally.cells.iter().enumerate().filter(|(_, cell)| cell.worlds > 0).map(|(at, cell)| {
        let work = if at % 2 == 1 { "calls" } else { "locks" };
        (format!("{:?}, {work}", BACKENDS[at / 2]), cell)
    })
}

fn table(heading: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { heading: heading.to_owned(), columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows }
}

fn engines(tally: &Tally) -> Table {
    let row = |(name, cell): (String, &super::tally::Cell)| {
        let broken = tally.found.iter().filter(|found| {
            let scenario = Scenario::of(found.seed);
            let calls = scenario.work == super::scenario::Work::Calls;
            name == format!("{:?}, {}", scenario.backend, if calls { "calls" } else { "locks" })
        });
        let hours = cell.counts.simulated / 3_600_000_000;
        let numbers = [cell.worlds, cell.counts.operations, cell.counts.faults_in_all(), hours];
        let numbers = numbers.iter().map(u64::to_string);
        std::iter::once(name.clone()).chain(numbers).chain([broken.count().to_string()]).collect()
    };
    let columns = ["engine", "worlds", "operations", "faults", "simulated hours", "broken promises"];
    table("What was simulated", &columns, cells(tally).map(row).collect())
}

fn faults(tally: &Tally) -> Table {
    let names: Vec<_> = cells(tally).map(|(name, _)| name).collect();
    let columns: Vec<_> = std::iter::once("fault").chain(names.iter().map(String::as_str)).collect();
    let row = |(at, fault): (usize, &super::fault::Fault)| {
        let numbers = cells(tally).map(|(_, cell)| cell.counts.faults[at].to_string());
        std::iter::once(format!("{fault:?}")).chain(numbers).collect()
    };
    table("Faults by kind", &columns, FAULTS.iter().enumerate().map(row).collect())
}

fn not_promised(tally: &Tally) -> Table {
    let mut rows = Vec::new();
    for (name, cell) in cells(tally) {
        for (property, (worlds, first)) in PROPERTIES.iter().zip(cell.excused) {
            if worlds > 0 {
                rows.push(vec![name.clone(), format!("{property:?}"), worlds.to_string(), first.to_string()]);
            }
        }
    }
    let columns = ["engine", "does not hold", "worlds", "shown by --seed"];
    table("Not promised, and seen not to hold", &columns, rows)
}

/// What must happen, did.
fn sometimes(tally: &Tally, void: &mut Vec<String>) -> Table {
    let all = tally.sometimes.all();
    void.extend(all.iter().filter(|(_, times)| *times == 0).map(|(name, _)| format!("{name} never happened")));
    let rows = all.iter().map(|(name, times)| vec![name.replace('_', " "), times.to_string()]).collect();
    table("What has to happen now and then", &["event", "times"], rows)
}

/// How fast it was; and that the same seeds give the same worlds, by playing the first piece again.
fn speed(tally: &Tally, threads: usize, run: u64, report: &mut Report) -> Table {
    let (mut once, mut again) = (Tally::default(), Tally::default());
    for tally in [&mut once, &mut again] {
        play_piece(&mut Player::default(), tally, run, 0..PIECE);
    }
    if once.hash != again.hash {
        let replay = format!("{} --seed {run} --worlds {PIECE}", command("simulation"));
        let what = format!("the first {PIECE} worlds have other traces the second time");
        report.violations.push(Violation { property: "D1".to_owned(), what, replay });
    }
    let all = tally.all();
    let per_core = |number: u64| (u128::from(number) * 1000 / tally.worked.as_millis().max(1)).to_string();
    let rows = vec![
        vec!["events per second of a processor".to_owned(), per_core(all.events)],
        vec!["operations per second of a processor".to_owned(), per_core(all.operations)],
        vec!["threads".to_owned(), threads.to_string()],
        vec!["trace of all worlds".to_owned(), format!("{:016x}", tally.hash)],
        vec![format!("trace of the first {PIECE}, twice"), format!("{:016x} {:016x}", once.hash, again.hash)],
    ];
    table("Speed and determinism", &["what", "value"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_out_does_not_depend_on_the_number_of_threads() {
        let budget = Budget::new(5, Duration::ZERO);
        let (one, three) = (play_all(&budget, 1), play_all(&budget, 3));
        assert_eq!((one.hash, one.all()), (three.hash, three.all()));
        assert_ne!(one.hash, play_all(&Budget { seed: 6, ..budget }, 1).hash);
    }

    #[test]
    fn as_many_worlds_as_there_was_time_for_are_the_same_worlds_again() {
        let timed = play_all(&Budget::new(7, Duration::from_millis(200)), 3);
        let worlds = timed.cells.iter().map(|cell| cell.worlds).sum::<u64>();
        let counted = play_all(&Budget { worlds: Some(worlds), ..Budget::new(7, Duration::ZERO) }, 1);
        assert_eq!((timed.hash, timed.all()), (counted.hash, counted.all()));
        let other = play_all(&Budget { worlds: Some(worlds - 1), ..Budget::new(7, Duration::ZERO) }, 1);
        assert_ne!(timed.hash, other.hash, "the last world is left out, and nobody sees it");
    }

    /// The page names it. It changes with the simulator and with what it runs, and with nothing else: then it is written here anew.
    #[test]
    fn the_first_worlds_have_the_trace_that_the_page_names() {
        let budget = Budget { worlds: Some(PIECE), ..Budget::new(1, Duration::ZERO) };
        assert_eq!(format!("{:016x}", play_all(&budget, 2).hash), "e155fa259edb1b5d");
    }

    #[test]
    fn the_first_world_of_a_run_is_the_one_of_its_seed() {
        assert_eq!(world_seed(17, 0), 17);
        assert_ne!(world_seed(17, 1), world_seed(18, 1));
    }
}
