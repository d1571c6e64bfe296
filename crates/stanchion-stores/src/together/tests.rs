//! A server whose calls come back when the test says so.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, yield_now};
use tokio::time::{advance, timeout};

use super::*;

type Asked = Single<u32, u32>;
type Asking = JoinHandle<Result<u32, Left>>;

const LIMITS: Limits = Limits { turns: 1, count: 3, bytes: 100, waiting: 4, wait: None };
const FIRST: Load = Load { bytes: 1, stage: Stage::First };
const FURTHER: Load = Load { bytes: 1, stage: Stage::Further };
/// How long a call may be silent before the next one leaves.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call as the server sees it.
struct Call {
    questions: Vec<u32>,
    /// Dropped, it panics.
    back: oneshot::Sender<()>,
    task: AbortHandle,
}

struct Server {
    asks: Arc<Together<&'static str, Asked>>,
    calls: mpsc::UnboundedSender<Call>,
}

impl Server {
    fn new(limits: Limits) -> (Arc<Self>, mpsc::UnboundedReceiver<Call>) {
        let (calls, seen) = mpsc::unbounded_channel();
        (Arc::new(Self { asks: Together::new(limits), calls }), seen)
    }

    fn start(self: &Arc<Self>, turn: Turn<&'static str, Asked>) {
        let (task, own) = oneshot::channel();
        task.send(tokio::spawn(Arc::clone(self).serve(turn, own)).abort_handle()).unwrap_or_default();
    }

    async fn serve(self: Arc<Self>, mut turn: Turn<&'static str, Asked>, own: oneshot::Receiver<AbortHandle>) {
        let (start, task) = (|turn| self.start(turn), own.await.unwrap());
        while let Some(batch) = turn.next(start).await {
            let (back, mut came) = oneshot::channel();
            let questions = batch.iter().map(|ask| ask.question).collect();
            self.calls.send(Call { questions, back, task: task.clone() }).unwrap();
            if timeout(PATIENCE, &mut came).await.map(Result::unwrap).is_err() {
                turn.cede(start);
                came.await.unwrap();
            }
            for ask in batch {
                let answer = 10 * ask.question;
                ask.answer(answer);
            }
        }
    }

    /// Asks, and is in line or answered when this returns.
    async fn ask_of(self: &Arc<Self>, key: &'static str, number: u32, load: Load) -> Asking {
        let (server, (begun, begins)) = (Arc::clone(self), oneshot::channel());
        let asking = tokio::spawn(async move {
            let mut asking = Box::pin(server.asks.ask(&key, number, load, |turn| server.start(turn)));
            let mut begun = Some(begun);
            std::future::poll_fn(move |cx| {
                let polled = asking.as_mut().poll(cx);
                begun.take().map(|begun| begun.send(()));
                polled
            })
            .await
        });
        begins.await.unwrap();
        asking
    }

    async fn ask(self: &Arc<Self>, number: u32) -> Asking {
        self.ask_of("a", number, FIRST).await
    }

    /// Nobody waits, and it is nobody's turn.
    async fn comes_to_rest(&self) {
        while !self.asks.lines().is_empty() {
            yield_now().await;
        }
    }
}

impl Call {
    /// It comes back; every answer is ten times the question.
    fn answer(self) {
        self.back.send(()).unwrap();
    }
}

async fn answers<const N: usize>(asking: [Asking; N]) -> Vec<Result<u32, Left>> {
    let mut answers = Vec::new();
    for asking in asking {
        answers.push(asking.await.unwrap());
    }
    answers
}

#[tokio::test]
async fn a_lone_ask_leaves_at_once_and_what_arrives_meanwhile_leaves_together() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    assert_eq!(first.questions, [1]);
    let (two, three) = (server.ask(2).await, server.ask(3).await);
    first.answer();
    let second = calls.recv().await.unwrap();
    assert_eq!(second.questions, [2, 3]);
    second.answer();
    assert_eq!(answers([one, two, three]).await, [Ok(10), Ok(20), Ok(30)]);
    server.comes_to_rest().await;
}

#[tokio::test]
async fn a_call_is_bounded_in_count_and_bytes_and_first_come_is_first_served() {
    let (server, mut calls) = Server::new(Limits { waiting: 100, ..LIMITS });
    let mut asking = vec![server.ask(0).await];
    let mut call = calls.recv().await.unwrap();
    for (number, bytes) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 60), (6, 60), (7, 500), (8, 1)] {
        asking.push(server.ask_of("a", number, Load { bytes, ..FIRST }).await);
    }
    for expected in [&[1, 2, 3][..], &[4, 5], &[6], &[7], &[8]] {
        call.answer();
        call = calls.recv().await.unwrap();
        assert_eq!(call.questions, expected);
    }
    call.answer();
    for (number, asking) in (0..).zip(asking) {
        assert_eq!(asking.await.unwrap(), Ok(10 * number));
    }
}

#[tokio::test]
async fn who_gives_up_before_it_leaves_is_never_sent_and_takes_no_place() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let (gone, rest) = (server.ask(2).await, [server.ask(3).await, server.ask(4).await, server.ask(5).await]);
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    first.answer();
    let second = calls.recv().await.unwrap();
    assert_eq!(second.questions, [3, 4, 5]);
    // During the call, and with nobody behind it: nobody else is taken along, and no turn stays behind.
    let [three, four, five] = rest;
    four.abort();
    let last = server.ask(6).await;
    last.abort();
    assert!(last.await.unwrap_err().is_cancelled());
    second.answer();
    assert_eq!(answers([one, three, five]).await, [Ok(10), Ok(30), Ok(50)]);
    server.comes_to_rest().await;
    assert!(calls.try_recv().is_err(), "what nobody wants any more is not sent");
}

#[tokio::test]
async fn who_is_in_a_call_that_panics_may_have_run_and_the_others_go_on() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let (two, three) = (server.ask(2).await, server.ask(3).await);
    drop(first);
    assert_eq!(one.await.unwrap(), Err(Left::Lost));
    let second = calls.recv().await.unwrap();
    assert_eq!(second.questions, [2, 3], "they wait anew, in their order");
    second.answer();
    assert_eq!(answers([two, three]).await, [Ok(20), Ok(30)]);
    server.comes_to_rest().await;
}

#[tokio::test]
async fn a_cancelled_task_hands_its_turn_on() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let two = server.ask(2).await;
    first.task.abort();
    assert_eq!(one.await.unwrap(), Err(Left::Lost), "its call was under way");
    let second = calls.recv().await.unwrap();
    assert_eq!(second.questions, [2]);
    second.answer();
    assert_eq!(two.await.unwrap(), Ok(20));
    server.comes_to_rest().await;
}

#[test]
fn a_runtime_that_ends_hands_on_to_one_that_lives() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (ends, lives) = (runtime(), runtime());
    let (server, mut calls) = Server::new(LIMITS);
    let one = ends.block_on(server.ask(1));
    let first = ends.block_on(calls.recv()).unwrap();
    let two = lives.block_on(server.ask(2));
    drop(ends);
    drop((one, first));
    let answer = lives.block_on(async {
        let second = calls.recv().await.unwrap();
        assert_eq!(second.questions, [2]);
        second.answer();
        two.await.unwrap()
    });
    assert_eq!(answer, Ok(20));
}

#[tokio::test]
async fn tasks_that_never_begin_end_in_an_error_that_says_that_nothing_ran() {
    let (server, _calls) = Server::new(LIMITS);
    let begun = AtomicU32::new(0);
    let start = |turn| {
        begun.fetch_add(1, Ordering::Relaxed);
        drop(turn);
    };
    assert_eq!(server.asks.ask(&"a", 1, FIRST, start).await, Err(Left::Unsent(Unsent::Abandoned)));
    assert_eq!(begun.into_inner(), 4);
    server.comes_to_rest().await;
}

#[tokio::test]
async fn a_full_line_refuses_what_begins_and_nothing_else() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let rest = [server.ask(2).await, server.ask(3).await, server.ask(4).await, server.ask(5).await];
    assert_eq!(server.ask(6).await.await.unwrap(), Err(Left::Unsent(Unsent::Full)));
    let further = server.ask_of("a", 7, FURTHER).await;
    let elsewhere = server.ask_of("b", 8, FIRST).await;
    let other = calls.recv().await.unwrap();
    assert_eq!(other.questions, [8], "another line is not full");
    other.answer();
    first.answer();
    calls.recv().await.unwrap().answer();
    let last = calls.recv().await.unwrap();
    assert_eq!(last.questions, [5, 7]);
    last.answer();
    assert_eq!(answers(rest).await, [Ok(20), Ok(30), Ok(40), Ok(50)]);
    assert_eq!(answers([one, further, elsewhere]).await, [Ok(10), Ok(70), Ok(80)]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_to_leave_learns_that_nothing_ran() {
    let (server, mut calls) = Server::new(Limits { wait: Some(Duration::from_secs(10)), ..LIMITS });
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let (two, three) = (server.ask(2).await, server.ask_of("a", 3, FURTHER).await);
    advance(Duration::from_secs(8)).await;
    let four = server.ask(4).await;
    advance(Duration::from_secs(3)).await;
    first.answer();
    let second = calls.recv().await.unwrap();
    assert_eq!(second.questions, [3, 4], "what goes on is late and still wanted");
    second.answer();
    let late = Err(Left::Unsent(Unsent::Late));
    assert_eq!(answers([one, two, three, four]).await, [Ok(10), late, Ok(30), Ok(40)]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_call_holds_up_the_next_ones_no_longer_than_it_may() {
    let (server, mut calls) = Server::new(LIMITS);
    let one = server.ask(1).await;
    let silent = calls.recv().await.unwrap();
    let asked = Instant::now();
    let two = server.ask(2).await;
    let second = calls.recv().await.unwrap();
    assert_eq!((second.questions.as_slice(), asked.elapsed()), (&[2][..], PATIENCE));
    second.answer();
    assert_eq!(two.await.unwrap(), Ok(20));
    // Also without anybody who waits at that moment.
    advance(PATIENCE).await;
    let three = server.ask(3).await;
    calls.recv().await.unwrap().answer();
    assert_eq!(three.await.unwrap(), Ok(30));
    assert!(!one.is_finished());
    silent.answer();
    assert_eq!(one.await.unwrap(), Ok(10), "its answer is not lost");
    server.comes_to_rest().await;
}

#[tokio::test]
async fn a_second_turn_serves_what_does_not_fit_and_also_when_the_first_is_gone() {
    let (server, mut calls) = Server::new(Limits { turns: 2, waiting: 100, ..LIMITS });
    let one = server.ask(1).await;
    let first = calls.recv().await.unwrap();
    let mut rest = Vec::new();
    for number in 2..=11 {
        rest.push(server.ask(number).await);
    }
    assert!(calls.try_recv().is_err(), "one call is under way, and what waits makes up the next");
    first.answer();
    let (second, third) = (calls.recv().await.unwrap(), calls.recv().await.unwrap());
    assert_eq!((&second.questions[..], &third.questions[..]), (&[2, 3, 4][..], &[5, 6, 7][..]));
    for _ in 0..3 {
        yield_now().await;
    }
    assert!(calls.try_recv().is_err(), "two calls, not three");
    second.task.abort();
    third.answer();
    let fourth = calls.recv().await.unwrap();
    assert_eq!(fourth.questions, [8, 9, 10]);
    fourth.answer();
    calls.recv().await.unwrap().answer();
    assert_eq!(one.await.unwrap(), Ok(10));
    for (number, asking) in (2..).zip(rest) {
        let expected = if number <= 4 { Err(Left::Lost) } else { Ok(10 * number) };
        assert_eq!(asking.await.unwrap(), expected);
    }
    server.comes_to_rest().await;
}

/// Callers on four threads, a third of which give up at some moment, and a call in eight whose task is cancelled: everybody
/// learns the truth, and nobody is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_learns_what_became_of_its_ask() {
    const ASKS: u32 = 3000;
    let (server, mut calls) = Server::new(Limits { turns: 2, count: 5, waiting: ASKS as usize, ..LIMITS });
    let running = tokio::spawn(async move {
        let (mut ran, mut number) = (vec![0_u32; ASKS as usize], 0_u32);
        while let Some(call) = calls.recv().await {
            number += 1;
            assert!(!call.questions.is_empty() && call.questions.len() <= 5);
            call.questions.iter().for_each(|asked| ran[*asked as usize] += 1);
            if number % 8 > 0 {
                call.answer()
            } else {
                drop(call)
            };
        }
        ran
    });
    let mut asking = Vec::new();
    for number in 0..ASKS {
        let ask = server.ask_of("a", number, FIRST).await;
        if number % 3 == 0 {
            ask.abort();
        }
        asking.push(ask);
        if number % 7 == 0 {
            yield_now().await;
        }
    }
    let mut learned = Vec::new();
    for ask in asking {
        learned.push(timeout(Duration::from_secs(60), ask).await.expect("an answer"));
    }
    server.comes_to_rest().await;
    drop(server);
    let ran = running.await.unwrap();
    for ((number, learned), ran) in (0..).zip(learned).zip(ran) {
        match learned {
            Ok(Ok(answer)) => assert_eq!((answer, ran), (10 * number, 1)),
            Ok(Err(Left::Lost)) => assert_eq!(ran, 1, "{number}"),
            Ok(Err(Left::Unsent(why))) => assert_eq!((ran, why), (0, Unsent::Abandoned), "{number}"),
            Err(gone) => assert!(gone.is_cancelled() && ran <= 1, "{number}"),
        }
    }
}
