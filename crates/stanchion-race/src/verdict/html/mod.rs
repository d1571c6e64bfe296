//! The verdict as a page that needs nothing else: no network, no other file.

mod scale;
#[cfg(test)]
mod tests;
mod timeline;

use std::fmt::Write as _;

use self::timeline::{Round, Told, draw};
use super::escape::{escaped, in_script};
use super::text::{plural, time, told, whole};
use super::{Comparison, Outcome, Tone, Verdict};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Of the script: no other one runs on the page. A test says what it has to be.
const SCRIPT_HASH: &str = "sha256-y9QS71dKFbcxtMZ+a6J4qUBPDlMNNRChOHxNvWJYTE4=";

const LEGEND: [(&str, &str); 14] = [
    ("ack", "acknowledged"),
    ("ack kept", "acknowledged, kept"),
    ("ack lost", "acknowledged, lost"),
    ("ack twice", "there twice"),
    ("wrong", "≠ in conflict: no order explains these answers"),
    ("failed", "failed"),
    ("unknown", "no answer: unknown"),
    ("held", "held back"),
    ("dropped", "reply lost"),
    ("again", "delivered again"),
    ("reset", "connection reset"),
    ("pause", "process paused"),
    ("kill", "process killed, started again"),
    ("cut", "time cut short"),
];

impl Verdict {
    /// A page with the verdict, the smallest schedule and the timeline. `again` is the command that plays it again.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// # let text = "version = 1\nname = \"x\"\nseed = 17\n[target]\nkind = \"mcp-stdio\"\ncommand = [\"true\"]\n[[call]]\ntool = \"add\"\n[read]\ntool = \"list\"\n[expect]\nreadable = true\n";
    /// # let spec = stanchion_race::Spec::parse(text, "probe.toml").unwrap();
    /// # let verdict = stanchion_race::race(&spec, &Default::default()).await;
    /// assert!(verdict.to_html("stanchion race probe.toml --seed 17").contains("race probe.toml --seed 17</code>"));
    /// # });
    /// ```
    #[must_use]
    pub fn to_html(&self, again: &str) -> String {
        let (words, tone) = self.outcome.words();
        let mut body = String::new();
        let mut told = Vec::new();
        head(&mut body, tone, words, &self.name, &self.html_gist());
        // Writing to a string does not fail.
        self.facts(&mut body).unwrap_or_default();
        replay(&mut body, again);
        body.push_str("</header>");
        self.reasons(&mut body).unwrap_or_default();
        self.rounds_drawn(&mut body, &mut told).unwrap_or_default();
        page(&format!("{words}: {}", self.name), &body, &told)
    }

    fn html_gist(&self) -> String {
        match self.outcome {
            Outcome::Inconclusive => self.reason.clone().unwrap_or_default(),
            Outcome::NothingFound => self.total(),
            Outcome::Race => self.gist(),
        }
    }

    fn facts(&self, out: &mut String) -> std::fmt::Result {
        let faults = if self.faults.is_empty() { "none".into() } else { self.faults_met() };
        let minimal = self.minimal.as_ref().map(ToString::to_string);
        let facts = [
            ("smallest", minimal),
            ("schedules", Some(self.rounds.to_string())),
            ("calls", Some(self.calls.to_string())),
            ("faults", Some(faults)),
            ("seed", Some(self.seed.to_string())),
            ("took", Some(time(self.milliseconds.saturating_mul(1000)))),
        ];
        out.push_str("<dl class=\"facts\">");
        for (name, value) in facts.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value))?;
        }
        out.push_str("</dl>");
        Ok(())
    }

    /// What does not hold, or how far that can be believed.
    fn reasons(&self, out: &mut String) -> std::fmt::Result {
        if self.outcome == Outcome::NothingFound {
            let missed = "A race that was not found is not refuted: the schedules may have missed it.";
            write!(out, "<p class=\"note\">{} {missed}</p>", escaped(&self.bound()))?;
        }
        let Some(found) = &self.found else { return Ok(()) };
        out.push_str("<ul class=\"broken\">");
        for (violation, on) in told(&found.violations) {
            let on = if on.is_empty() { String::new() } else { format!(", read on instance {}", on.join(", ")) };
            write!(out, "<li><b>{}</b>{on}: {}", violation.expectation, escaped(&violation.what))?;
            for example in &violation.examples {
                write!(out, "<code>{}</code>", escaped(example))?;
            }
            out.push_str("</li>");
        }
        out.push_str("</ul>");
        Ok(())
    }

    fn rounds_drawn<'v>(&'v self, out: &mut String, told: &mut Vec<Told<'v>>) -> std::fmt::Result {
        if self.found.is_some() || self.sound.is_some() {
            legend(out)?;
        }
        if let Some(minimal) = &self.minimal {
            let title = if minimal.is_complete { "The smallest schedule" } else { "The smallest schedule so far" };
            draw(out, self, &Round::minimal(title.into(), minimal), told)?;
            copied(out, "schedule", "its schedule, for --schedule FILE", &minimal.schedule.to_json())?;
        }
        if let Some(found) = &self.found {
            draw(out, self, &Round::found(format!("Round {}, which showed it", found.round), found), told)?;
        }
        if let Some(sound) = &self.sound {
            draw(out, self, &Round::found(format!("Round {}, one of those that held", sound.round), sound), told)?;
        }
        Ok(())
    }
}

impl Comparison {
    /// A page with both sides. `again` is the command that plays it again.
    #[must_use]
    pub fn to_html(&self, again: &str) -> String {
        let (title, tone) = self.title();
        let mut body = String::new();
        let mut told = Vec::new();
        let words = title.strip_suffix(&format!(": {}", self.guarded.name)).unwrap_or(&title);
        head(&mut body, tone, words, &self.guarded.name, &self.gist());
        // Writing to a string does not fail.
        self.table(&mut body).unwrap_or_default();
        replay(&mut body, again);
        body.push_str("</header>");
        self.sides(&mut body, &mut told).unwrap_or_default();
        page(&title, &body, &told)
    }

    fn table(&self, out: &mut String) -> std::fmt::Result {
        out.push_str("<table><thead><tr><th></th><th>bare</th><th>guarded</th></tr></thead><tbody>");
        for [name, bare, guarded] in self.rows() {
            write!(
                out,
                "<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
                escaped(&name),
                escaped(&bare),
                escaped(&guarded)
            )?;
        }
        write!(out, "</tbody></table><p class=\"note\">{}</p>", escaped(&self.says()))?;
        write!(out, "<p class=\"note\">{}</p>", escaped(&self.guard_did()))?;
        if self.guarded.outcome == Outcome::NothingFound {
            write!(out, "<p class=\"note\">{}</p>", escaped(&self.guarded.bound()))?;
        }
        Ok(())
    }

    fn sides<'v>(&'v self, out: &mut String, told: &mut Vec<Told<'v>>) -> std::fmt::Result {
        legend(out)?;
        for (side, how) in [(&self.bare, "without the guard"), (&self.guarded, "with the guard")] {
            if let Some(minimal) = &side.minimal {
                draw(out, side, &Round::minimal(format!("The smallest schedule, {how}"), minimal), told)?;
                copied(out, "schedule", "its schedule, for --schedule FILE", &minimal.schedule.to_json())?;
            }
        }
        out.push_str("<div class=\"both\">");
        for (side, how) in [(&self.bare, "bare"), (&self.guarded, "guarded")] {
            match side.found.as_ref().or(side.sound.as_ref()) {
                Some(round) => draw(out, side, &Round::found(format!("Round {}, {how}", round.round), round), told)?,
                None => {
                    let why = side.reason.as_deref().unwrap_or_default();
                    write!(
                        out,
                        "<section><h2>{how}</h2><p class=\"note\">Nothing can be said: {}</p></section>",
                        escaped(why)
                    )?;
                }
            }
        }
        out.push_str("</div>");
        Ok(())
    }
}

fn head(out: &mut String, tone: Tone, words: &str, name: &str, gist: &str) {
    let class = match tone {
        Tone::Bad => "bad",
        Tone::Good => "good",
        Tone::Doubtful | Tone::Plain => "doubtful",
    };
    let (words, name, gist) = (escaped(words), escaped(name), escaped(gist));
    out.push_str(&format!(
        "<header class=\"{class}\"><p class=\"outcome\">{words}</p><h1>{name}</h1><p class=\"gist\">{gist}</p>"
    ));
}

fn replay(out: &mut String, again: &str) {
    let command = escaped(again);
    out.push_str(&format!("<p class=\"copy\"><code>{command}</code><button type=\"button\">copy</button></p>"));
}

fn copied(out: &mut String, class: &str, what: &str, text: &str) -> std::fmt::Result {
    let text = escaped(text);
    write!(
        out,
        "<details class=\"{class}\"><summary>{what}</summary><div class=\"copy\"><code>{text}</code><button type=\"button\">copy</button></div></details>"
    )
}

fn legend(out: &mut String) -> std::fmt::Result {
    out.push_str("<ul class=\"legend\">");
    for (class, words) in LEGEND {
        write!(
            out,
            "<li><button type=\"button\" aria-pressed=\"false\" data-shows=\"{class}\"><span class=\"sample {class}\"><i></i></span>{words}</button></li>"
        )?;
    }
    out.push_str("</ul>");
    Ok(())
}

fn page(title: &str, body: &str, told: &[Told<'_>]) -> String {
    let data = in_script(&serde_json::to_string(told).unwrap_or_else(|_| "[]".into()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
    );
    let title = escaped(title);
    let calls = plural(whole(u64::try_from(told.len()).unwrap_or(0)), "call");
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{STYLE}</style></head>\n<body><main>{body}\n\
         <footer>Made by <code>stanchion race</code>, with {calls} drawn. It proves races; it proves no absence.</footer></main>\n\
         <aside id=\"told\" aria-live=\"polite\" hidden></aside>\n\
         <script type=\"application/json\" id=\"calls\">{data}</script>\n<script>{SCRIPT}</script></body></html>\n"
    )
}
