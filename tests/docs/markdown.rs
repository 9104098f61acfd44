//! As much of Markdown as our documents use: fences, code in a line, rows of tables.

/// A document.
pub struct Document<'a> {
    fences: Vec<Fence<'a>>,
    /// All that is in no fence.
    prose: Vec<&'a str>,
}

/// A block of code.
struct Fence<'a> {
    language: &'a str,
    text: &'a str,
}

impl<'a> Document<'a> {
    pub fn read(text: &'a str) -> Self {
        let (mut fences, mut prose) = (Vec::new(), Vec::new());
        for (number, part) in text.split("\n```").enumerate() {
            match part.split_once('\n') {
                Some((language, text)) if number % 2 == 1 => fences.push(Fence { language, text }),
                _ => prose.push(part),
            }
        }
        assert_eq!(prose.len(), fences.len() + 1, "a fence has no end");
        Self { fences, prose }
    }

    /// What files hold: a block whose first line is a comment with the file's name.
    pub fn files(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let first = format!("# {name}\n");
        self.fences
            .iter()
            .filter(|fence| fence.language == "yaml")
            .filter_map(move |fence| fence.text.strip_prefix(&first))
    }

    /// All blocks for a shell, in their order.
    pub fn script(&self) -> String {
        let blocks = self.fences.iter().filter(|fence| fence.language == "sh").map(|fence| fence.text);
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// All that somebody may type or write: lines of blocks, and code in lines.
    pub fn typed(&self) -> impl Iterator<Item = String> {
        let whole =
            self.fences.iter().filter(|fence| fence.language != "text").map(|fence| fence.text.replace("\\\n", " "));
        let lines = whole.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
        lines.chain(self.codes().map(str::to_owned))
    }

    /// Code in lines.
    pub fn codes(&self) -> impl Iterator<Item = &'a str> {
        self.prose.iter().flat_map(|part| part.split('`').skip(1).step_by(2))
    }

    /// Rows of tables, by cell.
    pub fn rows(&self) -> impl Iterator<Item = Vec<&'a str>> {
        let rows = self.prose.iter().flat_map(|part| part.lines().filter_map(|line| line.strip_prefix("| ")));
        rows.map(|row| row.trim_end_matches(" |").split(" | ").map(str::trim).collect())
    }
}
