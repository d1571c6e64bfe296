//! A timer on the clock that counts suspend: when the laptop wakes up, it has already gone off.

use std::time::Duration;

use stanchion_core::BootTime;

/// `time` minus `by`.
pub(super) fn before(time: BootTime, by: Duration) -> BootTime {
    BootTime::from_boot(time.since_boot().saturating_sub(by))
}

/// Sleeps until `time`; for ever without one.
pub(super) async fn sleep_until(time: Option<BootTime>) {
    match time {
        Some(time) if time.since_boot() < Duration::from_secs(u32::MAX as u64) => alarm(time).await,
        _ => std::future::pending().await,
    }
}

#[cfg(target_os = "linux")]
async fn alarm(time: BootTime) {
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use tokio::io::unix::AsyncFd;

    let armed = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
        .and_then(|fd| {
            let (secs, nanos) = (time.since_boot().as_secs(), time.since_boot().subsec_nanos());
            // All zeros would disarm the timer; a nanosecond later is soon enough.
            let at = Timespec { tv_sec: i64::try_from(secs).unwrap_or(i64::MAX), tv_nsec: i64::from(nanos.max(1)) };
            let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
            timerfd_settime(&fd, TimerfdTimerFlags::ABSTIME, &spec).map(|_| fd)
        })
        .map_err(std::io::Error::from);
    #[expect(
        deprecated,
        reason = "its successor is unsafe; an owned descriptor cannot be closed behind the runtime's back"
    )]
    let armed = armed.and_then(AsyncFd::new);
    match armed {
        Ok(fd) => drop(fd.readable().await),
        Err(error) => {
            tracing::warn!(%error, "no boot-time timer; suspend is noticed up to 100 ms late");
            slices(time).await;
        }
    }
}

#[cfg(not(target_os = "linux"))]
async fn alarm(time: BootTime) {
    slices(time).await;
}

/// The runtime's own timers stand still in suspend, so it sleeps in slices and looks at the clock.
async fn slices(time: BootTime) {
    use stanchion_core::{Clock as _, SystemClock};
    while SystemClock.now() < time {
        tokio::time::sleep((time - SystemClock.now()).min(Duration::from_millis(100))).await;
    }
}
