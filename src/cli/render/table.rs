//! Tables: one model, drawn as text, Markdown and HTML. Each drawing escapes the texts in its own
//! way.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::foreign::safe_line;
use super::style::{
    Color, Symbol, TextStyle, align_in_columns, align_rows_with_symbols, count, wrap_options,
    wrapped,
};

/// Rows below the names of their columns.
pub(crate) struct Table {
    pub(crate) header: Vec<&'static str>,
    pub(crate) rows: Vec<TableRow>,
}

#[derive(Default)]
pub(crate) struct TableRow {
    pub(crate) symbol: Option<Symbol>,
    pub(crate) cells: Vec<Cell>,
    /// Whether the first cell repeats that of the row above.
    pub(crate) repeats: bool,
}

/// Pieces of text, one below the other; in a row with a symbol, one after the other.
#[derive(Default)]
pub(crate) struct Cell {
    pieces: Vec<Piece>,
    /// Page with more information.
    page: Option<String>,
}

pub(crate) enum Piece {
    /// Words of this program.
    Own(String),
    /// Words of this program that stand out.
    Strong(String),
    /// Text from outside, such as a name or a version.
    Foreign(String),
    /// Names of root modules. Text shows only their number.
    RootModules(Vec<String>),
}

/// A table drawn as text.
#[derive(Default)]
struct Layout {
    text: String,
    /// Length of the longest line of the columns, without the texts below the rows.
    longest_line: usize,
}

impl TableRow {
    /// The cells of these columns, line by line. A repeated first cell is empty.
    fn lines_of_columns(&self, columns: &[usize]) -> Vec<Vec<String>> {
        // A row without any text still has a line.
        let mut height = 1;
        for &column in columns {
            height = height.max(self.cells[column].pieces.len());
        }
        let mut lines = Vec::new();
        for number in 0..height {
            let mut line = Vec::new();
            for &column in columns {
                let is_repeated = column == 0 && self.repeats;
                line.push(if is_repeated {
                    String::new()
                } else {
                    self.cells[column].piece_text(number)
                });
            }
            lines.push(line);
        }
        lines
    }
}

impl Piece {
    /// The piece as HTML. `most` is the largest number of root modules in the table.
    fn html(&self, most: usize, escape: impl Fn(&str) -> String) -> String {
        let Self::RootModules(names) = self else {
            return escape(&self.text());
        };
        let meter = format!("<meter max=\"{most}\" value=\"{}\"></meter>", names.len());
        meter + &unfolding_names(names.iter().map(|name| escape(name)))
    }

    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Own(text) | Self::Strong(text) | Self::Foreign(text) => text.into(),
            Self::RootModules(names) => names.len().to_string().into(),
        }
    }

    /// Text from outside is shown as code, in which GitHub and GitLab see neither markup nor
    /// mentions.
    fn markdown(&self) -> String {
        match self {
            Self::Strong(text) => format!("**{text}**"),
            Self::Foreign(text) => code_span(text).replace('|', "\\|"),
            Self::Own(_) | Self::RootModules(_) => self.text().into_owned(),
        }
    }
}

impl Cell {
    /// A cell with these pieces, without the empty ones.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let pieces = pieces
            .into_iter()
            .filter(|piece| !piece.text().is_empty())
            .collect();
        Self { pieces, page: None }
    }

    pub(crate) fn own(text: impl Into<String>) -> Self {
        Self::new([Piece::Own(text.into())])
    }

    pub(crate) fn foreign(text: impl Into<String>) -> Self {
        Self::new([Piece::Foreign(text.into())])
    }

    pub(crate) fn with_page(self, page: Option<String>) -> Self {
        Self { page, ..self }
    }

    fn joined(&self) -> String {
        self.pieces
            .iter()
            .map(Piece::text)
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// The text of a piece; empty if there are fewer.
    fn piece_text(&self, index: usize) -> String {
        self.pieces
            .get(index)
            .map(|piece| piece.text().into_owned())
            .unwrap_or_default()
    }

    fn markdown(&self) -> String {
        let text = self
            .pieces
            .iter()
            .map(Piece::markdown)
            .collect::<Vec<_>>()
            .join("<br>");
        match &self.page {
            Some(page) if !text.is_empty() => format!("[{text}]({page})"),
            _ => text,
        }
    }
}

impl Table {
    fn has_text(&self, column: usize) -> bool {
        self.rows
            .iter()
            .any(|row| !row.cells[column].pieces.is_empty())
    }

    /// Draws rows with symbols as text, a line each, without the header.
    pub(crate) fn lines(&self, style: TextStyle) -> Vec<String> {
        let rows = self
            .rows
            .iter()
            .filter_map(|row| Some((row.symbol?, row.cells.iter().map(Cell::joined).collect())));
        align_rows_with_symbols(rows.collect(), style)
    }

    /// Draws rows as text in columns below the header. The columns `below` are omitted if they have
    /// no text, and move below their rows, in this order, until no line is longer than `width`.
    pub(crate) fn text(&self, below: &[&str], width: usize) -> String {
        for number in 0..below.len() {
            let layout = self.draw_with_columns_below(below, &below[..number], width);
            if layout.longest_line <= width {
                return layout.text;
            }
        }
        let layout = self.draw_with_columns_below(below, below, width);
        if layout.longest_line <= width {
            return layout.text;
        }
        // A terminal would break words.
        let mut text = String::new();
        for line in layout.text.lines() {
            text += &wrapped(line, width);
            text.push('\n');
        }
        text
    }

    /// Draws rows with the texts of the columns `below` under each. Columns that are `optional` and
    /// have no text are omitted.
    fn draw_with_columns_below(&self, optional: &[&str], below: &[&str], width: usize) -> Layout {
        let mut columns_beside = Vec::new();
        for (column, name) in self.header.iter().enumerate() {
            let is_omitted = optional.contains(name) && !self.has_text(column);
            if !below.contains(name) && !is_omitted {
                columns_beside.push(column);
            }
        }

        let header = columns_beside
            .iter()
            .map(|column| self.header[*column].to_owned())
            .collect();
        let mut lines = vec![header];
        // Texts below each of the lines. Only the last line of a row has any.
        let mut texts_below = vec![Vec::new()];
        for row in &self.rows {
            lines.extend(row.lines_of_columns(&columns_beside));
            texts_below.resize(lines.len() - 1, Vec::new());
            texts_below.push(self.texts_below(row, below, width));
        }

        let mut layout = Layout::default();
        for (line, texts) in align_in_columns(&lines).into_iter().zip(texts_below) {
            layout.longest_line = layout.longest_line.max(line.chars().count());
            layout.text.push_str(&line);
            layout.text.push('\n');
            for text in texts {
                layout.text.push_str(&text);
                layout.text.push('\n');
            }
        }
        layout
    }

    /// The texts below the last line of a row: its cells of the columns `below`, and the pages of
    /// all cells.
    fn texts_below(&self, row: &TableRow, below: &[&str], width: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for (name, cell) in self.header.iter().zip(&row.cells) {
            if below.contains(name) {
                for piece in &cell.pieces {
                    texts.push(format!("{name} {}", piece.text()));
                }
            }
        }
        texts.extend(row.cells.iter().filter_map(|cell| cell.page.clone()));

        let wrap = wrap_options(width).initial_indent("  ");
        texts
            .iter()
            .map(|text| textwrap::fill(&safe_line(text), &wrap))
            .collect()
    }

    /// Draws a table of Markdown without empty columns, of at most `limit` bytes.
    pub(crate) fn markdown(&self, limit: usize) -> String {
        let has_symbols = self.rows.iter().any(|row| row.symbol.is_some());
        let mut columns: Vec<usize> = (0..self.header.len()).collect();
        columns.retain(|column| self.has_text(*column));

        let mut text = "|".to_owned();
        if has_symbols {
            text += " |";
        }
        for column in &columns {
            let _ = write!(text, " {} |", capitalized(self.header[*column]));
        }
        text += "\n|";
        text += &"---|".repeat(columns.len() + usize::from(has_symbols));
        text += "\n";
        for (index, row) in self.rows.iter().enumerate() {
            let mut cells = Vec::new();
            if let Some((symbol, _)) = row.symbol {
                // A minus sign as wide as the plus sign.
                cells.push(format!("**{}**", symbol.replace('-', "−")));
            }
            for column in &columns {
                cells.push(row.cells[*column].markdown());
            }
            let line = format!("| {} |\n", cells.join(" | "));
            if text.len() + line.len() > limit {
                let omitted = count(self.rows.len() - index, "more row");
                return text + &format!("\n{omitted} not listed here.\n");
            }
            text += &line;
        }
        text
    }

    /// Draws a table of HTML. Names of root modules unfold below their number, beside a bar.
    /// `escape` makes a text safe.
    pub(crate) fn html(&self, escape: impl Fn(&str) -> String) -> String {
        let mut most_roots = 0;
        for cell in self.rows.iter().flat_map(|row| &row.cells) {
            for piece in &cell.pieces {
                if let Piece::RootModules(names) = piece {
                    most_roots = most_roots.max(names.len());
                }
            }
        }

        let mut rows = String::new();
        for row in &self.rows {
            let class = if row.repeats { "other" } else { "first" };
            let mut cells = Vec::new();
            for cell in &row.cells {
                let mut pieces = Vec::new();
                for piece in &cell.pieces {
                    pieces.push(piece.html(most_roots, &escape));
                }
                cells.push(pieces.join("<br/>"));
            }
            let cells = cells.join("</td><td>");
            let _ = writeln!(rows, "<tr class=\"{class}\"><td>{cells}</td></tr>");
        }
        let names: Vec<_> = self.header.iter().map(|name| capitalized(name)).collect();
        let names = names.join("</th><th>");
        format!("<table>\n<tr><th>{names}</th></tr>\n{rows}</table>\n")
    }
}

/// The number of root modules, which unfolds to their names, which are safe.
pub(crate) fn unfolding_names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.collect();
    format!(
        "<details><summary>{}</summary>{}</details>\n",
        count(names.len(), "root module"),
        names.join("<br/>")
    )
}

fn capitalized(name: &str) -> String {
    name.chars()
        .take(1)
        .flat_map(char::to_uppercase)
        .chain(name.chars().skip(1))
        .collect()
}

/// Longest row of backticks in a code span. `cmark` and others look for the end of a span up to a
/// limit.
const MOST_BACKTICKS: usize = 8;

/// A code span between more backticks than the text has in a row (`CommonMark` 0.31, section 6.1).
pub(crate) fn code_span(text: &str) -> String {
    let text = safe_line(text);
    if text.is_empty() {
        return text;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    // Readers of tables differ in a backslash before an escaped bar.
    if longest > MOST_BACKTICKS || text.contains("\\|") {
        let mut references = String::new();
        for c in text.chars() {
            if c.is_ascii_punctuation() {
                let _ = write!(references, "&#{};", c as u32);
            } else {
                references.push(c);
            }
        }
        return format!("<code>{references}</code>");
    }
    let fence = "`".repeat(longest + 1);
    // A backtick at an end would belong to the fence, and readers remove one blank at each end.
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Symbol of a row that a user should look at.
pub(crate) const ALARM: Symbol = ("!", Color::Red);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_file_cannot_leave_its_code_span() {
        assert_eq!(code_span("~> 5.0"), "`~> 5.0`");
        assert_eq!(code_span("a`b``c"), "```a`b``c```");
        assert_eq!(code_span("`a"), "`` `a ``");
        assert_eq!(Cell::foreign("a|b").markdown(), "`a\\|b`");
        assert_eq!(Cell::foreign("").markdown(), "");
        assert_eq!(
            Cell::foreign("a\\|<b").markdown(),
            "<code>a&#92;&#124;&#60;b</code>"
        );
        assert_eq!(
            code_span(&format!("<{}", "`".repeat(9))),
            format!("<code>&#60;{}</code>", "&#96;".repeat(9))
        );
        assert_eq!(code_span("a\n# b\u{202e}"), "`a\\n# b\\u{202e}`");
    }
}
