//! Runs a program up to its n-th call that matters, and ends it there, or lets the disk refuse that call.
//!
//! A small `ptrace` loop, so that nothing has to be installed. Every thread stops before and after each system call. A program is started by a
//! shell that stops itself first, because to be traced from the first instruction on it must be found standing still.

use std::collections::HashMap;
use std::io;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::calls::{self, Call};
use super::program::{DEADLINE, Program, Talk};

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Killed before it.
    Before,
    /// Killed when half of a write is done.
    Torn,
    /// Killed after it, before the program knows.
    After,
    /// The call fails, once.
    Error(Errno),
    /// Half of a write is done, and from then on there is no room.
    Full,
}

#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// From 1.
    pub nth: usize,
    pub moment: Moment,
}

/// What was seen of one run.
#[derive(Debug)]
pub struct Traced<T> {
    /// What the one who talked to the program has to say.
    pub told: T,
    pub calls: Vec<Call>,
    /// The call at which it happened; `None` if it was not reached, or is another one this time, to which this cannot happen.
    pub hit: Option<Call>,
    /// It did not end by itself, and was not meant to be killed.
    pub hung: bool,
}

/// Runs the program while `talk` talks to it; when that has ended, the program's input ends.
pub fn run<T: Send>(
    program: &Program,
    point: Option<Point>,
    talk: impl FnOnce(Talk) -> T + Send,
) -> io::Result<Traced<T>> {
    std::thread::scope(|scope| {
        let ((tell, started), (ending, ended)) = (mpsc::channel(), mpsc::channel());
        // Only the thread that traces may ask anything of what is traced, and it waits for its own children only.
        let tracer = scope.spawn(move || {
            let (mut tracer, talk) = Tracer::start(program, point)?;
            // They wait for it as long as this thread lives.
            tell.send((tracer.main, talk)).ok();
            tracer.follow();
            ending.send(()).ok();
            Ok::<_, io::Error>(tracer)
        });
        let Ok((pid, pipes)) = started.recv() else {
            let failed = tracer.join().unwrap_or_else(|_| Err(io::Error::other("the tracer panicked")));
            return Err(failed.err().unwrap_or_else(|| io::Error::other("the program did not start")));
        };
        let talking = scope.spawn(move || talk(pipes));
        let hung = ended.recv_timeout(DEADLINE).is_err();
        if hung {
            // Perhaps it has just ended: that is as good.
            kill(pid, Signal::SIGKILL).ok();
        }
        let Tracer { calls, hit, .. } = tracer.join().map_err(|_| io::Error::other("the tracer panicked"))??;
        let told = talking.join().map_err(|_| io::Error::other("whoever talked to the program panicked"))?;
        Ok(Traced { told, calls, hit, hung })
    })
}

/// What is to be done when a call comes back.
#[derive(Clone, Copy)]
enum AtExit {
    Kill,
    Fail(Errno),
}

struct Tracer {
    main: Pid,
    point: Option<Point>,
    /// The shell before it does not count.
    runs: bool,
    is_full: bool,
    calls: Vec<Call>,
    hit: Option<Call>,
    at_exit: HashMap<Pid, AtExit>,
}

impl Tracer {
    fn start(program: &Program, point: Option<Point>) -> io::Result<(Self, Talk)> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "kill -STOP $$; exec \"$0\" \"$@\""])
            .arg(&program.path)
            .args(&program.arguments)
            .envs(program.variables.clone())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let main = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        waitpid(main, Some(WaitPidFlag::WUNTRACED))?;
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        if let Err(refused) = ptrace::seize(main, options) {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("ptrace is not allowed: {refused}")));
        }
        kill(main, Signal::SIGCONT)?;
        let (calls, at_exit) = (Vec::new(), HashMap::new());
        let tracer = Self { main, point, runs: false, is_full: false, calls, hit: None, at_exit };
        Ok((tracer, Talk::with(&mut child)?))
    }

    /// Until nothing of it is left.
    fn follow(&mut self) {
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
                Ok(WaitStatus::PtraceSyscall(pid)) => {
                    self.at_call(pid);
                    go_on(pid, None);
                }
                Ok(WaitStatus::PtraceEvent(pid, _, event)) => {
                    self.runs |= event == libc::PTRACE_EVENT_EXEC;
                    go_on(pid, None);
                }
                Ok(WaitStatus::Stopped(pid, signal)) => go_on(pid, Some(signal)),
                Err(Errno::ECHILD) => return,
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn at_call(&mut self, pid: Pid) {
        // What cannot be asked any more was killed.
        let (Ok(info), Ok(regs)) = (ptrace::syscall_info(pid), ptrace::getregs(pid)) else { return };
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            if self.runs
                && let Some(call) = calls::of(pid, &regs)
            {
                self.calls.push(call.clone());
                self.at_entry(pid, regs, call);
            }
            return;
        }
        match self.at_exit.remove(&pid) {
            Some(AtExit::Kill) => self.kill(),
            Some(AtExit::Fail(error)) => {
                let code = (-(error as i64)).cast_unsigned();
                ptrace::setregs(pid, calls::Registers { rax: code, ..regs }).ok();
            }
            None => {}
        }
    }

    fn at_entry(&mut self, pid: Pid, mut regs: calls::Registers, call: Call) {
        let is_it = self.point.filter(|point| point.nth == self.calls.len());
        if let Some(Point { moment, .. }) = is_it {
            let can = match moment {
                Moment::Torn => call.tears && calls::halve(&mut regs),
                Moment::Full => call.takes_room,
                Moment::Before | Moment::After => true,
                Moment::Error(_) => call.kind != calls::Kind::Answer && !call.unlocks,
            };
            self.hit = can.then_some(call);
            match moment {
                _ if !can => {}
                Moment::Before => self.kill(),
                Moment::After => self.then(pid, AtExit::Kill),
                Moment::Torn => {
                    ptrace::setregs(pid, regs).ok();
                    self.then(pid, AtExit::Kill);
                }
                Moment::Error(error) => self.refuse(pid, regs, error),
                Moment::Full => {
                    self.is_full = true;
                    if calls::halve(&mut regs) {
                        ptrace::setregs(pid, regs).ok();
                    } else {
                        self.refuse(pid, regs, Errno::ENOSPC);
                    }
                }
            }
        } else if self.is_full && call.takes_room {
            self.refuse(pid, regs, Errno::ENOSPC);
        }
    }

    fn then(&mut self, pid: Pid, what: AtExit) {
        self.at_exit.insert(pid, what);
    }

    /// No call has this number: the kernel does nothing, and what it says is replaced on the way back.
    fn refuse(&mut self, pid: Pid, regs: calls::Registers, error: Errno) {
        ptrace::setregs(pid, calls::Registers { orig_rax: u64::MAX, ..regs }).ok();
        self.then(pid, AtExit::Fail(error));
    }

    fn kill(&self) {
        // Dead already is as good.
        kill(self.main, Signal::SIGKILL).ok();
    }
}

/// To the next stop. What was killed meanwhile does not go on, and is waited for.
fn go_on(pid: Pid, signal: Option<Signal>) {
    ptrace::syscall(pid, signal).ok();
}
