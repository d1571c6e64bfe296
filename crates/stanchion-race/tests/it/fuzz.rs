//! Mutated specifications and schedules: problems have a place, and what is read is what was written.

use stanchion_race::{Schedule, Spec};
use stanchion_testkit::fuzz::Target;

/// The examples of the reference.
fn examples() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/race-spec.md");
    page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn mutated_specifications_are_read_or_refused_with_a_place() {
    Target::text("spec", examples()).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(()) };
        let spec = match Spec::parse(text, "p.toml") {
            Ok(spec) => spec,
            Err(wrong) => {
                let lines = text.split('\n').count();
                return match wrong
                    .problems()
                    .iter()
                    .find(|one| one.line == 0 || one.line > lines || one.column == 0 || one.what.is_empty())
                {
                    Some(out) => Err(format!("{out:?} of {lines} lines")),
                    None if wrong.problems().is_empty() => Err("refused, and nothing is wrong".to_owned()),
                    None => Ok(()),
                };
            }
        };
        let schedule = Schedule::generate(&spec, 17, 3);
        if schedule != Schedule::generate(&spec, 17, 3) {
            return Err("one seed, two schedules".to_owned());
        }
        match Schedule::from_json(&schedule.to_json(), &spec) {
            Ok(again) if again == schedule => Ok(()),
            other => Err(format!("the schedule of its own seed is {:?}", other.map(|one| one.steps.len()))),
        }
    });
}

#[test]
fn mutated_schedules_are_read_as_they_are_written() {
    let specs: Vec<Spec> = examples().iter().map(|text| Spec::parse(text, "p.toml").unwrap()).collect();
    let schedules: Vec<String> = specs.iter().map(|spec| Schedule::generate(spec, 7, 0).to_json()).collect();
    Target::text("schedule", schedules.iter().map(String::as_str)).run(|input| {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(()) };
        for spec in &specs {
            let Ok(schedule) = Schedule::from_json(text, spec) else { continue };
            if schedule.steps.len() > spec.limits.calls || schedule.instances > spec.target.instances {
                return Err(format!("{} calls, {} instances", schedule.steps.len(), schedule.instances));
            }
            if Schedule::from_json(&schedule.to_json(), spec).ok().as_ref() != Some(&schedule) {
                return Err("written and read again it is another".to_owned());
            }
        }
        Ok(())
    });
}
