//! The values of YAML documents by their paths, to compare two revisions of a file.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use saphyr_parser::{Event, Parser};

/// Longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 1 << 20;
/// Most values. Aliases repeat values.
const MAX_VALUES: usize = 50_000;
/// Deepest nesting.
const MAX_DEPTH: usize = 50;
/// Key whose value is a mapping that becomes part of the mapping with the key.
const MERGE: &str = "<<";

/// Values by the keys that lead to them. An item of a list has its index as key. The value of
/// `!include a.yaml` is this text.
pub(crate) type ValuesByPath = BTreeMap<Vec<String>, String>;

struct Reader<'a> {
    events: &'a [Event<'a>],
    /// The events of the nodes with anchors.
    anchors: HashMap<usize, Range<usize>>,
    path: Vec<String>,
    values: ValuesByPath,
    /// Number of nodes that were read.
    nodes_read: usize,
    depth: usize,
}

/// The values of all documents of a text; `None` if they cannot be read. `a: {b: [x]}` has the
/// value `x` at `a`, `b`, `0`.
pub(crate) fn values_by_path(text: &str) -> Option<ValuesByPath> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let mut events = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.ok()?;
        match event {
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::Nothing => {}
            event => events.push(event),
        }
        if events.len() > MAX_VALUES {
            return None;
        }
    }
    let mut reader = Reader {
        events: &events,
        anchors: HashMap::new(),
        path: Vec::new(),
        values: ValuesByPath::new(),
        nodes_read: 0,
        depth: 0,
    };
    let mut at = 0;
    while at < events.len() {
        at = reader.read_node(at)?;
    }
    Some(reader.values)
}

/// Effect of the items of a list on the paths of their values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    /// By their indexes.
    ByIndex,
    /// Not at all: they are mappings that `<<` merges into one.
    Merged,
}

impl Reader<'_> {
    /// Reads the node that begins at an event, and returns the position after it. `None` if there
    /// are too many nodes, or it cannot be read.
    fn read_node(&mut self, at: usize) -> Option<usize> {
        self.nodes_read += 1;
        self.depth += 1;
        if self.nodes_read > MAX_VALUES || self.depth > MAX_DEPTH {
            return None;
        }
        let after = self.read_node_at_depth(at)?;
        self.depth -= 1;
        Some(after)
    }

    /// [`Reader::read_node`], after the number of nodes and the depth were checked. `None` if the
    /// node cannot be read.
    fn read_node_at_depth(&mut self, at: usize) -> Option<usize> {
        let anchor = match self.events.get(at)? {
            // An alias repeats the values of its anchor, so that a change of the anchor is seen at
            // every alias.
            Event::Alias(anchor) => {
                let repeated = self.anchors.get(anchor)?.clone();
                self.read_node(repeated.start)?;
                return Some(at + 1);
            }
            Event::Scalar(text, _, anchor, tag) => {
                // A tag can change the meaning of a text: `!!str 1` is no number.
                let value = match tag {
                    Some(tag) => format!("{tag} {text}"),
                    None => text.to_string(),
                };
                self.values.insert(self.path.clone(), value);
                self.note_anchor(*anchor, at..at + 1);
                return Some(at + 1);
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => *anchor,
            _ => return None,
        };
        let after = match self.events[at] {
            Event::SequenceStart(..) => self.read_sequence(at + 1, Items::ByIndex)?,
            _ => self.read_mapping(at + 1)?,
        };
        self.note_anchor(anchor, at..after);
        Some(after)
    }

    /// Reads the items of a list from the event after its start, and returns the position after its
    /// end.
    fn read_sequence(&mut self, start: usize, items: Items) -> Option<usize> {
        let mut at = start;
        let mut index = 0;
        while *self.events.get(at)? != Event::SequenceEnd {
            if items == Items::ByIndex {
                self.path.push(index.to_string());
            }
            at = self.read_node(at)?;
            if items == Items::ByIndex {
                self.path.pop();
            }
            index += 1;
        }
        Some(at + 1)
    }

    /// Reads the members of a mapping from the event after its start, and returns the position
    /// after its end.
    fn read_mapping(&mut self, start: usize) -> Option<usize> {
        let mut at = start;
        while *self.events.get(at)? != Event::MappingEnd {
            // A mapping or an alias as a key is not read.
            let Event::Scalar(key, ..) = self.events.get(at)? else {
                return None;
            };
            // `<<` adds the members of other mappings to this one.
            if key == MERGE {
                at = match self.events.get(at + 1)? {
                    Event::SequenceStart(..) => self.read_sequence(at + 2, Items::Merged)?,
                    _ => self.read_node(at + 1)?,
                };
                continue;
            }
            self.path.push(key.to_string());
            at = self.read_node(at + 1)?;
            self.path.pop();
        }
        Some(at + 1)
    }

    fn note_anchor(&mut self, anchor: usize, events: Range<usize>) {
        if anchor > 0 {
            self.anchors.insert(anchor, events);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    fn shown(text: &str) -> Option<Vec<String>> {
        let values = values_by_path(text)?;
        let shown = |(path, value): (&Vec<String>, &String)| format!("{}={value}", path.join("."));
        Some(values.iter().map(shown).collect())
    }

    #[test]
    fn values_have_the_paths_of_their_keys() {
        assert_eq!(
            shown("a: {b: [x, 'y']}\n# c\nd: !env HOME\n").unwrap(),
            ["a.b.0=x", "a.b.1=y", "d=!env HOME"]
        );
        assert_eq!(
            shown("x: &b\n  bucket: one\ny:\n  <<: *b\n  key: k\nz: *b\n").unwrap(),
            ["x.bucket=one", "y.bucket=one", "y.key=k", "z.bucket=one"]
        );
        assert_eq!(
            shown("x: &x {a: 1}\ny: &y {b: 2}\nz: {<<: [*x, *y]}\n").unwrap(),
            ["x.a=1", "y.b=2", "z.a=1", "z.b=2"]
        );
        assert_eq!(shown("a: 1\n---\na: 2\n").unwrap(), ["a=2"]);
        assert_eq!(shown("").unwrap(), [""; 0]);
        assert_eq!(shown("{{ if .a }}\na: 1\n{{ end }}\n"), None);
        assert_eq!(shown("a: *b\n"), None);
    }

    #[test]
    fn aliases_that_repeat_too_much_are_not_read() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let before = vec![format!("*a{}", level - 1); 10].join(", ");
            _ = writeln!(text, "a{level}: &a{level} [{before}]");
        }
        assert_eq!(shown(&text), None);
        let mut chain = "a0: &a0 {x: 1}\n".to_owned();
        for level in 1..1000 {
            _ = writeln!(chain, "a{level}: &a{level} {{<<: *a{}}}", level - 1);
        }
        assert_eq!(shown(&chain), None);
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(shown(&deep), None);
    }
}
