//! Warnings of the library, on stderr. Twenty lines, because a full subscriber costs start-up time that
//! `run` does not have.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

struct Warnings;

pub(crate) fn init() {
    // Fails only if a subscriber is there already; then that one does the job.
    tracing::subscriber::set_global_default(Warnings).unwrap_or_default();
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.unwrap_or_default();
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("stanchion")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(format!("stanchion: {}:", event.metadata().level().as_str().to_lowercase()));
        event.record(&mut line);
        crate::exit::say(&line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
