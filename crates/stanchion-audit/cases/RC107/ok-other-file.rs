// also: RC302
pub struct Report {
    out: std::path::PathBuf,
    title: String,
}

impl Report {
    pub fn open(config: std::path::PathBuf, out: std::path::PathBuf) -> std::io::Result<Self> {
        let title = std::fs::read_to_string(&config)?;
        Ok(Self { out, title })
    }

    pub fn write(&self) -> std::io::Result<()> {
        std::fs::write(&self.out, &self.title)
    }
}
