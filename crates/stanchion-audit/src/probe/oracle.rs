//! What has to hold after calls at the same time, by rule.

/// How a rule's findings show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oracle {
    /// Different calls; what each acknowledged one brought must be there.
    Kept(&'static [&'static str]),
    /// Equal calls; their value must be there once.
    Once,
    /// A call whose effect goes to a recorder that loses replies; the effect must arrive once.
    Effect,
    /// Calls while their writers die; what they leave must be readable. Whether all is there is another rule's question.
    Readable,
    /// Calls while holders die; all later ones must be answered.
    Answered(&'static [&'static str]),
}

/// The oracle of a rule, or why no calls can show what it finds.
pub(super) fn oracle(code: &str) -> Result<Oracle, &'static str> {
    Ok(match code {
        "RC101" | "RC102" | "RC103" | "RC104" | "RC105" | "RC106" | "RC107" | "RC108" => Oracle::Kept(&[]),
        "RC201" | "RC206" | "RC207" | "RC209" | "RC210" | "RC211" | "RC303" => Oracle::Kept(&[]),
        // The lock has to pass to another while its holder still works.
        "RC202" | "RC204" | "RC208" => Oracle::Kept(&["pause"]),
        // Half a file is left only by one who dies while writing: seen as such, or as an empty state to which the next
        // call adds.
        "RC302" => Oracle::Readable,
        "RC304" => Oracle::Kept(&["kill"]),
        "RC203" => Oracle::Answered(&["kill"]),
        "RC205" => Oracle::Answered(&["lost-reply", "reset"]),
        "RC301" | "RC401" => Oracle::Once,
        "RC402" | "RC404" => Oracle::Effect,
        "RC403" => return Err("retries without a pause make load, and no wrong state that a call could show"),
        "RC405" => return Err("it shows only after the time for which ids are kept, which is longer than a run"),
        "RC406" => return Err("a timer starts it, not a call"),
        "RC407" => {
            return Err("it is about what the tool says of itself: one call, and a look, show it without a race");
        }
        _ => return Err("no oracle is known for its rule"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::RULES;

    #[test]
    fn every_rule_has_an_oracle_or_a_reason() {
        let without: Vec<_> = RULES.iter().filter(|rule| oracle(rule.code).is_err()).map(|rule| rule.code).collect();
        assert_eq!(without, ["RC403", "RC405", "RC406", "RC407"]);
        let unknown = RULES.iter().filter(|rule| oracle(rule.code).is_err_and(|why| why.starts_with("no oracle")));
        assert_eq!(unknown.count(), 0);
    }
}
