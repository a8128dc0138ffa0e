//! Screen of a terminal, drawn from the output of a program.

use std::collections::BTreeSet;

/// A terminal of a fixed width that never scrolls. It knows what progress bars use: lines that
/// wrap, carriage returns, moves of the cursor, and clearing. Colours and other sequences change
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    width: usize,
    lines: Vec<Vec<char>>,
    /// The rows whose line continues in the next row, because it is wider than the terminal.
    torn: BTreeSet<usize>,
    row: usize,
    column: usize,
}

impl Screen {
    /// An empty screen.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// Every state of the screen: the text whenever the program began to overwrite it, and the text
    /// at the end.
    pub fn shown(mut self, output: &str) -> Vec<String> {
        let mut shown = Vec::new();
        let mut rest = output;
        let mut is_changed = false;
        while let Some(next) = rest.chars().next() {
            rest = &rest[next.len_utf8()..];
            let is_over = match next {
                '\r' => {
                    self.column = 0;
                    false
                }
                '\n' => {
                    (self.row, self.column) = (self.row + 1, 0);
                    false
                }
                '\u{1b}' => {
                    let length = rest
                        .find(|c: char| c.is_ascii_alphabetic())
                        .map_or(rest.len(), |end| end + 1);
                    let (sequence, after) = rest.split_at(length);
                    rest = after;
                    if is_changed && sequence.ends_with(['A', 'K']) {
                        shown.push(self.text());
                        is_changed = false;
                    }
                    self.obey(sequence);
                    false
                }
                c if c.is_control() => false,
                c => {
                    self.put(c);
                    true
                }
            };
            is_changed |= is_over;
        }
        shown.push(self.text());
        shown
    }

    /// A sequence without its escape character.
    fn obey(&mut self, sequence: &str) {
        let parameters = sequence
            .trim_start_matches('[')
            .trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let number = parameters.parse().unwrap_or(1);
        match sequence.chars().next_back() {
            Some('A') => self.row = self.row.saturating_sub(number),
            Some('B') => self.row += number,
            Some('K') => {
                let row = self.row;
                self.torn.remove(&row);
                if let Some(line) = self.lines.get_mut(row) {
                    line.truncate(if parameters == "2" { 0 } else { self.column });
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, c: char) {
        // A terminal wraps when there is something to put beyond its last column.
        if self.column == self.width {
            // Progress fills its lines with spaces.
            if self.lines[self.row].last() != Some(&' ') {
                self.torn.insert(self.row);
            }
            (self.row, self.column) = (self.row + 1, 0);
        }
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = c;
        self.column += 1;
    }

    /// The rows. A row that continues in the next ends with an arrow beyond the last column.
    fn text(&self) -> String {
        let text = |(row, line): (usize, &Vec<char>)| {
            let arrow = if self.torn.contains(&row) { "↩" } else { "" };
            line.iter().collect::<String>().trim_end().to_owned() + arrow
        };
        let lines: Vec<String> = self.lines.iter().enumerate().map(text).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;

    #[test]
    fn lines_are_drawn_over() {
        let shown = Screen::new(4)
            .shown("one\r\nab  cd  \u{1b}[1A\r\u{1b}[36mAB\u{1b}[0m\r\u{1b}[2K\u{1b}[1B\r\u{1b}[2K\u{1b}[1Aend\r\n");
        assert_eq!(
            Screen::new(4).shown("longer ab cd\r\ne"),
            ["long↩\ner a↩\nb cd\ne"]
        );
        assert_eq!(shown, ["one\nab\ncd", "one\nAB\ncd", "one\nend"]);
    }
}
