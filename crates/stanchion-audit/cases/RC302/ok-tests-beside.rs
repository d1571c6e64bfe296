use std::path::Path;

pub fn load(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads() {
        let path = Path::new("/tmp/example.txt");
        std::fs::write(path, "a").unwrap();
        assert_eq!(load(path).unwrap(), "a");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "a");
    }
}
