use std::fs;
use std::path::PathBuf;

pub struct Position {
    path: PathBuf,
}

impl Position {
    pub fn store(&self, offset: u64) -> std::io::Result<()> {
        fs::write(&self.path, offset.to_string()) // expect: RC302
    }

    pub fn load(&self) -> std::io::Result<u64> {
        let text = fs::read_to_string(&self.path)?;
        Ok(text.trim().parse().unwrap_or(0))
    }
}
