//! Lines of files that the change under review adds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::reviewed_change::{ReviewedChange, file_name, lines};
use crate::configuration::terragrunt;
use crate::diagnostic::{Location, SourceFile};
use crate::hcl::code_lines::{CodeLine, code_lines, code_without_space};
use crate::lockfile::LOCK_FILE_NAME;
use crate::system::{Tree, canonicalize, files};

/// Ends of the names of files in HCL.
const HCL: [&str; 3] = [".hcl", ".tf", ".tofu"];

impl ReviewedChange {
    /// Returns the new lines by which Terragrunt stacks create units from outside the repository,
    /// from an unknown source, from an included file or over existing ones, and computed sources in
    /// files whose locals are altered.
    pub(super) fn new_unread_stack_lines(&self) -> Vec<Location> {
        let mut comparison = LineComparison::new(self);
        let alters_included_files = self.alters_included_files();
        let mut new = Vec::new();
        for path in self.current_files_named(terragrunt::STACK) {
            let Some(directory) = path.parent() else {
                continue;
            };
            if !self.touched.contains(directory) {
                continue;
            }
            let shown = self.shown_path(path);
            let unread =
                terragrunt::unread_locations(&Tree::Work, path, shown, &self.top, |directory| {
                    self.has_files_of_unit(directory)
                });
            if unread.is_empty() {
                continue;
            }
            let alters_locals = self.alters_lines(path, |line| line.block.starts_with("locals"));
            for location in unread {
                let span = location.span.clone();
                let source = location.file.text.get(span).unwrap_or_default();
                let is_plain = source.starts_with('"') && !source.contains("${");
                let is_computed = !source.is_empty() && !is_plain;
                if comparison.is_new(&location)
                    || (source == terragrunt::INCLUDE && alters_included_files)
                    || (is_computed && alters_locals)
                {
                    new.push(location);
                }
            }
        }
        new
    }

    /// Whether a directory below a stack has other files than users keep beside a generated
    /// unit: a lock file and `.gitignore`.
    fn has_files_of_unit(&self, directory: &Path) -> bool {
        let mut files = self.current_files_below(directory);
        files.any(|path| file_name(path) != LOCK_FILE_NAME && file_name(path) != ".gitignore")
    }

    /// Whether the change alters a file of HCL that Terragrunt reads only if a different file names
    /// it.
    fn alters_included_files(&self) -> bool {
        for path in self.changed_read_files(terragrunt::may_read) {
            let name = file_name(path);
            if !terragrunt::FILE_NAMES.contains(&name) && name != terragrunt::STACK {
                return true;
            }
        }
        false
    }

    /// Whether the change alters code in a file of HCL, in lines that meet a condition.
    pub(super) fn alters_lines(&self, path: &Path, is_meant: impl Fn(&CodeLine) -> bool) -> bool {
        let before = self.file_before(path).unwrap_or_default();
        let now = match files::read(path, terragrunt::MAX_FILE_SIZE) {
            Ok(now) => effective_lines(&now, &is_meant),
            Err(_) => None,
        };
        now.is_none() || now != effective_lines(before, &is_meant)
    }

    /// Whether a line at a location is in its file more often than before the change, in the same
    /// kind of block in HCL, where comments do not count. A line of JSON is new if the change
    /// alters the file. Without a line, whether the change touches the directory of the file.
    pub(super) fn is_new_line(&self, location: &Location) -> bool {
        LineComparison::new(self).is_new(location)
    }

    /// The path of a file without symlinks above it, if the change touches its directory.
    fn touched_path(&self, file: &SourceFile) -> Option<PathBuf> {
        let path = self.current_directory.join(&file.path);
        let directory = canonicalize(path.parent()?).ok()?;
        let is_touched = self.touched.contains(&directory);
        is_touched.then(|| directory.join(path.file_name().unwrap_or_default()))
    }

    /// Compares the lines of a file with the base. In a directory that the change does not touch,
    /// none is new.
    fn compared_lines(&self, file: &SourceFile) -> ComparedLines {
        let Some(path) = self.touched_path(file) else {
            return ComparedLines::All { are_new: false };
        };
        // Without a text no line can be compared, and what is not known to be old is new.
        if file.text.is_empty() {
            return ComparedLines::All { are_new: true };
        }
        let before = self.file_before(&path).unwrap_or_default();
        let name = file_name(&path);
        // A JSON file may be a single line, so that any change of it may be at the location.
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let are_new = lines(before) != lines(file.text.as_bytes());
            return ComparedLines::All { are_new };
        }

        let is_hcl = HCL.iter().any(|end| name.ends_with(end));
        let now = comparable_lines(&file.text, is_hcl);
        // A line that the change only moves within its block is there as often as before, and not
        // new.
        let mut excess: HashMap<CodeLine, i64> = HashMap::new();
        for line in &now {
            *excess.entry(line.clone()).or_default() += 1;
        }
        for line in comparable_lines(&String::from_utf8_lossy(before), is_hcl) {
            *excess.entry(line).or_default() -= 1;
        }
        ComparedLines::Each { now, excess }
    }
}

/// The lines of a file, compared with the base.
enum ComparedLines {
    /// All lines are new, or none is.
    All { are_new: bool },
    /// The lines now, and how many times more often each is in the file than before.
    Each {
        now: Vec<CodeLine>,
        excess: HashMap<CodeLine, i64>,
    },
}

impl ComparedLines {
    /// Whether a line at a location is new: in its file more often than at the base. Empty lines
    /// are not.
    fn is_new(&self, location: &Location) -> bool {
        let (now, excess) = match self {
            Self::All { are_new } => return *are_new,
            Self::Each { now, excess } => (now, excess),
        };
        let first = line_of(&location.file.text, location.span.start);
        let last = line_of(&location.file.text, location.span.end);
        // All text of a block that generates a file is compared.
        let block = now.get(first).map(|line| line.block.as_str());
        let generating_block = block.filter(|block| block.starts_with("generate"));
        for (number, line) in now.iter().enumerate() {
            let is_in_block = generating_block == Some(line.block.as_str());
            if line.code.is_empty() || !(is_in_block || (first..=last).contains(&number)) {
                continue;
            }
            if excess.get(line).is_some_and(|more| *more > 0) {
                return true;
            }
        }
        false
    }
}

/// Compares locations with the base. Each file is compared once, because a file may have thousands
/// of locations.
struct LineComparison<'a> {
    change: &'a ReviewedChange,
    files: Vec<(Arc<SourceFile>, ComparedLines)>,
}

impl<'a> LineComparison<'a> {
    fn new(change: &'a ReviewedChange) -> Self {
        Self {
            change,
            files: Vec::new(),
        }
    }

    /// [`ReviewedChange::is_new_line`].
    fn is_new(&mut self, location: &Location) -> bool {
        let file = &location.file;
        for (known, compared) in &self.files {
            if Arc::ptr_eq(known, file) {
                return compared.is_new(location);
            }
        }
        let compared = self.change.compared_lines(file);
        let is_new = compared.is_new(location);
        self.files.push((Arc::clone(file), compared));
        is_new
    }
}

/// The lines of a file of HCL that have an effect and meet a condition; `None` if it cannot be
/// read.
fn effective_lines(bytes: &[u8], is_meant: impl Fn(&CodeLine) -> bool) -> Option<Vec<CodeLine>> {
    let mut lines = code_lines(&String::from_utf8_lossy(bytes)).ok()?;
    lines.retain(|line| !line.code.is_empty() && is_meant(line));
    Some(lines)
}

/// The lines of a text, in HCL without comments and differences of formatting. HCL that cannot be
/// parsed is split like any other text.
fn comparable_lines(text: &str, is_hcl: bool) -> Vec<CodeLine> {
    if is_hcl && let Ok(mut lines) = code_lines(text) {
        for line in &mut lines {
            // Formatting moves equal signs.
            if !line.is_text {
                line.code = code_without_space(&line.code);
            }
        }
        return lines;
    }
    // Outside of HCL, every line has an effect.
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(CodeLine {
            block: String::new(),
            is_text: false,
            code: line.trim().to_owned(),
        });
    }
    lines
}

/// Number of lines before the line of a byte.
fn line_of(text: &str, at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text.as_bytes()[..at]).count()
}
