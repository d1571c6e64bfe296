//! One round as lanes: when each call was sent and answered, what it met, and what is left of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::scale::Scale;
use crate::oracle::Violation;
use crate::run::{End, ReadBack, Record};
use crate::schedule::Fault;
use crate::verdict::escape::escaped;
use crate::verdict::fate::{Fate, Fates};
use crate::verdict::text::{plural, time};
use crate::verdict::{Found, Minimal, Verdict};

/// More lanes than this are not drawn.
const LANES_MAX: usize = 2000;

/// What is drawn.
pub(super) struct Round<'v> {
    pub(super) title: String,
    pub(super) violations: &'v [Violation],
    pub(super) history: &'v [Record],
    pub(super) afterwards: &'v [Record],
    pub(super) reads: &'v [ReadBack],
    pub(super) instances: usize,
}

impl<'v> Round<'v> {
    pub(super) fn found(title: String, found: &'v Found) -> Self {
        let Found { violations, history, afterwards, reads, schedule, .. } = found;
        Self { title, violations, history, afterwards, reads, instances: schedule.instances }
    }

    pub(super) fn minimal(title: String, minimal: &'v Minimal) -> Self {
        let Minimal { violations, history, afterwards, reads, schedule, .. } = minimal;
        Self { title, violations, history, afterwards, reads, instances: schedule.instances }
    }
}

/// What is told about a call when somebody points at it.
#[derive(Serialize)]
pub(super) struct Told<'v> {
    title: &'v str,
    is_afterwards: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<&'static str>,
    #[serde(flatten)]
    record: &'v Record,
}

struct Lane<'v> {
    record: &'v Record,
    fate: Option<Fate>,
    is_afterwards: bool,
}

/// Draws a round, and adds what is told about its calls: each lane has the place of its call in there as its number.
pub(super) fn draw<'v>(
    out: &mut String,
    verdict: &'v Verdict,
    round: &Round<'v>,
    told: &mut Vec<Told<'v>>,
) -> std::fmt::Result {
    let fates = Fates::new(verdict, round.violations);
    let lane = |is_afterwards| {
        let fates = &fates;
        move |record| Lane { record, fate: fates.of(record), is_afterwards }
    };
    let mut lanes: Vec<Lane<'v>> = round.history.iter().map(lane(false)).collect();
    lanes.extend(round.afterwards.iter().map(lane(true)));
    lanes.sort_by_key(|lane| (lane.is_afterwards, lane.record.started_us, lane.record.ended_us, lane.record.n));
    let all = lanes.len();
    lanes.truncate(LANES_MAX);
    let scale = Scale::new(lanes.iter().flat_map(|lane| moments(lane.record)));
    let size = match lanes.len() {
        0..=60 => "large",
        61..=250 => "small",
        _ => "tiny",
    };
    let over = time(scale.end_us());
    // Those that are made when all is over are no part of the schedule.
    let after = match round.afterwards.len() {
        0 => String::new(),
        after => format!(" and {after} afterwards"),
    };
    let (title, what) = (escaped(&round.title), format!("{}{after}, over {over}", plural(round.history.len(), "call")));
    write!(
        out,
        "<section class=\"round {size}\"><h2>{title} <small>{what}</small></h2>{}<div class=\"scroll\" tabindex=\"0\" role=\"group\" \
         aria-label=\"{title}: {what}. Arrow keys go from call to call.\"><div class=\"plot\">",
        share(&lanes)
    )?;
    axis(out, &scale)?;
    for instance in 0..round.instances {
        let here = lanes.iter().filter(|lane| lane.record.instance == instance);
        let is_wrong = round.violations.iter().any(|it| it.conflicting_reads.contains(&instance));
        head(out, instance, round.reads.iter().find(|read| read.instance == instance), is_wrong)?;
        let banded = if here.clone().any(|lane| lane.record.disturbed_us.is_some()) { " banded" } else { "" };
        write!(out, "<div class=\"lanes{banded}\"><div class=\"bands\">")?;
        for (from, to, us) in scale.cuts() {
            write!(out, "<i class=\"cut\" style=\"{}\" title=\"{} cut short\"></i>", place(from, to), time(us))?;
        }
        here.clone().try_for_each(|lane| band(out, lane.record, &scale))?;
        out.push_str("</div>");
        for lane in here {
            draw_lane(out, lane, &scale, told.len())?;
            let title = verdict.titles.get(lane.record.call).map_or("", String::as_str);
            let (fate, is_afterwards) = (lane.fate.map(Fate::word), lane.is_afterwards);
            told.push(Told { title, is_afterwards, fate, record: lane.record });
        }
        out.push_str("</div>");
    }
    out.push_str("</div></div>");
    if all > lanes.len() {
        write!(
            out,
            "<p class=\"note\">The first {} of {all} calls are drawn; --json has all of them.</p>",
            lanes.len()
        )?;
    }
    out.push_str("</section>");
    Ok(())
}

/// The moments of a call that must be seen.
fn moments(record: &Record) -> impl Iterator<Item = u64> {
    let held = match record.fault {
        Some(Fault::Delay { before_us, .. }) => Some(record.started_us.saturating_sub(before_us)),
        _ => None,
    };
    let disturbed = record.disturbed_us.map(|(from, to)| [from, to]).into_iter().flatten();
    [record.started_us, record.ended_us].into_iter().chain(held).chain(disturbed)
}

/// A style: from where to where.
fn place(from: u64, to: u64) -> String {
    let percent = |it: u64| format!("{}.{:02}%", it / 100, it % 100);
    format!("left:{};width:{}", percent(from), percent(to.saturating_sub(from)))
}

fn axis(out: &mut String, scale: &Scale) -> std::fmt::Result {
    // Cuts have a row of their own: their lengths would stand over the moments beside them.
    let cuts = scale.named_cuts();
    let class = if cuts.is_empty() { "ticks" } else { "ticks cuts" };
    write!(out, "<div class=\"axis\"><div class=\"{class}\">")?;
    for tick in scale.ticks() {
        let at = scale.at(tick);
        write!(out, "<span style=\"{}\">{}</span>", place(at, at), time(tick))?;
    }
    for (from, to, us) in cuts {
        write!(out, "<b style=\"{}\">+{}</b>", place(from, to), time(us))?;
    }
    out.push_str("</div></div>");
    Ok(())
}

fn head(out: &mut String, instance: usize, read: Option<&ReadBack>, is_wrong: bool) -> std::fmt::Result {
    write!(out, "<h3>instance {instance}")?;
    if let Some(read) = read {
        let shown = match (&read.why, read.values) {
            (Some(why), _) => format!("failed: {why}"),
            (None, Some(values)) => plural(values, "value"),
            (None, None) => "answered".into(),
        };
        let (at, answer) = (time(read.started_us), read.answer.as_deref().unwrap_or_default());
        let wrong = if is_wrong { "<b class=\"conflict\">in conflict</b>" } else { "" };
        write!(
            out,
            " <small title=\"{}\"><i class=\"look\"></i>read back after {at}: {}{wrong}</small>",
            escaped(answer),
            escaped(&shown)
        )?;
    }
    out.push_str("</h3>");
    Ok(())
}

/// The time in which the process was away, over all lanes of its instance.
fn band(out: &mut String, record: &Record, scale: &Scale) -> std::fmt::Result {
    let Some((from, to)) = record.disturbed_us else { return Ok(()) };
    let (class, word) = match record.fault {
        Some(Fault::Kill { .. }) => ("kill", "killed"),
        _ => ("pause", "paused"),
    };
    let style = place(scale.at(from), scale.at(to));
    write!(out, "<i class=\"band {class}\" style=\"{style}\"><b>{word} {}</b></i>", time(to - from))
}

impl Lane<'_> {
    /// Its classes: how it ended, and what is left of it.
    fn classes(&self) -> (&'static str, &'static str) {
        let end = match self.record.end {
            End::Acknowledged => "ack",
            End::Failed => "failed",
            End::Unknown => "unknown",
        };
        let fate = match self.fate {
            Some(Fate::Kept) => "kept",
            Some(Fate::Lost) => "lost",
            Some(Fate::Doubled) => "twice",
            Some(Fate::Conflicting) => "wrong",
            None => "",
        };
        (end, fate)
    }
}

/// How many calls ended how, as one bar.
fn share(lanes: &[Lane<'_>]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for lane in lanes {
        let (end, fate) = lane.classes();
        *counts.entry(if fate.is_empty() { end } else { fate }).or_default() += 1;
    }
    let part = |(class, count): (&&str, &usize)| {
        format!("<i class=\"{class}\" style=\"flex:{count}\" title=\"{count} {class}\"></i>")
    };
    format!("<div class=\"share\">{}</div>", counts.iter().map(part).collect::<String>())
}

fn draw_lane(out: &mut String, lane: &Lane<'_>, scale: &Scale, number: usize) -> std::fmt::Result {
    let Lane { record, fate, is_afterwards } = lane;
    let (end, class) = lane.classes();
    let (from, to) = (record.started_us, record.ended_us);
    let what = if *is_afterwards { "after" } else { "call" };
    write!(
        out,
        "<div class=\"lane {end} {class}\" data-i=\"{number}\"><span class=\"name\">{what} {}</span><span class=\"track\">",
        record.n
    )?;
    let fault = record.fault.map(|fault| fault.name());
    if let Some(Fault::Delay { before_us, .. }) = record.fault {
        let held = scale.at(from.saturating_sub(before_us));
        write!(out, "<i class=\"held\" style=\"{}\"></i>", place(held, scale.at(from)))?;
    }
    write!(out, "<i class=\"bar\" style=\"{}\"></i>", place(scale.at(from), scale.at(to)))?;
    let mark = match record.fault {
        Some(Fault::Delay { after_us, .. }) => Some((to.saturating_sub(after_us), to, "held")),
        Some(Fault::LostReply) => Some((to, to, "dropped")),
        Some(Fault::Duplicate { after_us, .. }) => {
            Some(((from + after_us).min(to), (from + after_us).min(to), "again"))
        }
        Some(Fault::Reset { after_us }) => Some(((from + after_us).min(to), (from + after_us).min(to), "reset")),
        _ => None,
    };
    if let Some((from, to, class)) = mark.filter(|(from, to, class)| *class != "held" || from < to) {
        write!(out, "<i class=\"{class}\" style=\"{}\"></i>", place(scale.at(from), scale.at(to)))?;
    }
    let word = match fate {
        None => fault.unwrap_or_default(),
        // Its sign says it.
        Some(Fate::Conflicting) => "",
        Some(_) => class,
    };
    write!(out, "</span><span class=\"fate\">{word}</span></div>")
}
