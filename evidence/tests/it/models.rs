//! Cases and controls of the models by name; the long ones run with the binary.

use stanchion_evidence::models::{cases, controls};

/// Visits every reachable state; panics if a property fails, or if something that must happen never did.
pub(crate) fn holds(model: &str, name: &str, clients: usize) {
    let wanted = |case: &&_| {
        let case: &stanchion_evidence::models::check::Case = case;
        case.model.starts_with(model) && case.name == name && case.clients == clients && !case.long
    };
    let cases = cases();
    let [case] = cases.iter().filter(wanted).collect::<Vec<_>>()[..] else {
        panic!("{model}: {name}, {clients} clients: none or several")
    };
    let held = case.check(1);
    eprintln!("{case:?}: {} unique states, {} deep, {} ms", held.states, held.depth, held.took.as_millis());
    assert!(held.broken.is_empty(), "{case:?}: {:?}", held.broken);
    assert!(held.void.is_empty(), "void: {case:?}: {:?}", held.void);
}

/// Finds the shortest way to break each property that the control says it breaks.
pub(crate) fn is_found(model: &str, name: &str) {
    let controls = controls();
    let wanted: Vec<_> = controls.iter().filter(|c| c.model.starts_with(model) && c.name == name).collect();
    assert!(!wanted.is_empty(), "no control of {model} is called {name:?}");
    for control in wanted {
        let found = control.find();
        let found = found.unwrap_or_else(|| panic!("void: {control:?} should break {:?}", control.property));
        eprintln!("{control:?}: {} in {} steps: {:?}", control.property, found.steps.len(), found.steps);
    }
}

#[test]
fn a_case_can_be_found_by_its_name() {
    let mut names: Vec<_> = cases().iter().map(|case| (case.model, case.name, case.clients)).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}
