//! The commands that reports and page print: each can be copied into a shell, in the root of the repository.

/// How `layer` is run; arguments follow.
#[must_use]
pub fn command(layer: &str) -> String {
    let (before, folder) = match layer {
        // Without its bugs there is nothing to be found.
        "museum" => (r#"RUSTFLAGS="--cfg stanchion_museum" "#, " --target-dir target/museum"),
        // What is killed is built beside the program that kills it.
        "crash" => ("cargo build --profile evidence -p stanchion && ", ""),
        _ => ("", ""),
    };
    format!("{before}cargo run --profile evidence -p stanchion-evidence{folder} -- {layer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_run_with_the_build_that_it_needs() {
        let run = "cargo run --profile evidence -p stanchion-evidence";
        assert_eq!(command("models"), format!("{run} -- models"));
        assert_eq!(command("crash"), format!("cargo build --profile evidence -p stanchion && {run} -- crash"));
        let museum = r#"RUSTFLAGS="--cfg stanchion_museum" "#;
        assert_eq!(command("museum"), format!("{museum}{run} --target-dir target/museum -- museum"));
    }
}
