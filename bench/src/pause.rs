//! Holding a lock for a given time. Tokio's timer counts whole milliseconds, too coarse for a hold of one.

use std::time::Duration;

use crate::Outcome;

/// A timer of the kernel, for one task.
#[derive(Debug)]
pub(crate) struct Pause {
    #[cfg(target_os = "linux")]
    timer: tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>,
}

#[cfg(target_os = "linux")]
impl Pause {
    pub(crate) fn new() -> Outcome<Self> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(deprecated, reason = "its successor is unsafe, and this descriptor is never replaced by another")]
        let timer = tokio::io::unix::AsyncFd::new(timer)?;
        Ok(Self { timer })
    }

    pub(crate) async fn pause(&self, time: Duration) -> Outcome {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        if time.is_zero() {
            return Ok(());
        }
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: Timespec::try_from(time)? };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut ready = self.timer.readable().await?;
            match rustix::io::read(&self.timer, &mut [0; 8]) {
                Ok(_) => {
                    ready.clear_ready();
                    return Ok(());
                }
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Pause {
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self {})
    }

    pub(crate) async fn pause(&self, time: Duration) -> Outcome {
        if !time.is_zero() {
            tokio::time::sleep(time).await;
        }
        Ok(())
    }
}

/// The same for a thread.
pub(crate) fn pause_thread(time: Duration) {
    if !time.is_zero() {
        #[expect(clippy::disallowed_methods, reason = "the measured work is to hold a lock this long")]
        std::thread::sleep(time);
    }
}
