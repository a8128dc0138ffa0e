//! Reads what `git cat-file --batch` prints.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::modules::contents::{LONGEST_NAME, Problem};

/// The longest line that says what an object is, in bytes.
const LONGEST_HEADER: u64 = 256;

/// Objects, one after the other: `OBJECT TYPE SIZE`, a line break, the content and another line break.
pub(super) struct Objects(BufReader<File>);

impl Objects {
    pub(super) fn new(printed: File) -> Self {
        Self(BufReader::new(printed))
    }

    /// Gives `read` the content of the next object, which has the id `expected` if there is one, and must read all of
    /// it. Returns the id.
    pub(super) fn next(
        &mut self,
        expected: Option<&str>,
        read: impl FnOnce(&mut io::Take<&mut BufReader<File>>) -> Result<(), Problem>,
    ) -> Result<String, Problem> {
        let mut header = String::new();
        (&mut self.0).take(LONGEST_HEADER).read_line(&mut header).map_err(Problem::of_reading)?;
        let mut words = header.trim_end_matches('\n').split(' ');
        let (object, size) = (words.next(), words.nth(1).and_then(|size| size.parse().ok()));
        let (Some(object), Some(size)) = (object, size) else { return Err(unreadable()) };
        if expected.is_some_and(|expected| expected != object) {
            return Err(unreadable());
        }
        read(&mut (&mut self.0).take(size))?;
        let mut end = [0];
        self.0.read_exact(&mut end).map_err(Problem::of_reading)?;
        if end == *b"\n" { Ok(object.to_owned()) } else { Err(unreadable()) }
    }
}

/// The target of a link.
pub(super) fn target(content: &mut io::Take<&mut BufReader<File>>) -> Result<String, Problem> {
    if content.limit() > LONGEST_NAME as u64 {
        return Err(Problem::LongName);
    }
    let mut target = Vec::new();
    content.read_to_end(&mut target).map_err(Problem::of_reading)?;
    Ok(String::from_utf8_lossy(&target).into_owned())
}

fn unreadable() -> Problem {
    Problem::Damaged("git printed something that is not an object".to_owned())
}
