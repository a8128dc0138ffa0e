//! Lock files made by chance: what they say, and how a human hand may have written it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provlock::address::ProviderAddress;
use provlock::constraint::ConstraintList;
use provlock::dialect::Dialect;
use provlock::hash::Hash;
use provlock::lockfile::{LockedProvider, Locks, canonical_text};
use provlock::version::Version;

use super::dice::Dice;

pub fn dialect(dice: &mut Dice) -> Dialect {
    *dice.pick(&[Dialect::Tofu, Dialect::Terraform])
}

pub fn locks(dice: &mut Dice) -> Locks {
    let count = dice.below(6);
    (0..count).map(|_| (address(dice), provider(dice))).collect()
}

pub fn address(dice: &mut Dice) -> ProviderAddress {
    let hosts =
        ["registry.opentofu.org", "registry.terraform.io", "a.b:8080", "a.b", "a.b-c", "bücher.test", "z.example"];
    let text = format!(
        "{}/{}/{}",
        dice.pick(&hosts),
        dice.pick(&["hashicorp", "acme", "acme-x", "9"]),
        dice.pick(&["aws", "null", "random", "foo", "foo-x", "foo2"]),
    );
    ProviderAddress::parse_canonical(&text, Dialect::Tofu).unwrap()
}

pub fn provider(dice: &mut Dice) -> LockedProvider {
    let constraints = if dice.once_in(2) { ConstraintList::default() } else { constraints(dice) };
    let hashes = if dice.once_in(5) { BTreeSet::new() } else { hashes(dice) };
    LockedProvider { version: version(dice), constraints, hashes }
}

pub fn version(dice: &mut Dice) -> Version {
    let suffix = *dice.pick(&["", "", "", "-beta.1", "+build", "-rc.1+a.b"]);
    format!("{}.{}.{}{suffix}", dice.below(9), dice.below(120), dice.below(9)).parse().unwrap()
}

pub fn constraints(dice: &mut Dice) -> ConstraintList {
    let operators = ["", ">= ", "~> ", "< ", "!= "];
    let terms: Vec<_> = (0..=dice.below(4))
        .map(|_| format!("{}{}.{}.{}", dice.pick(&operators), dice.below(3), dice.below(3), dice.below(3)))
        .collect();
    terms.join(", ").parse().unwrap()
}

pub fn hashes(dice: &mut Dice) -> BTreeSet<Hash> {
    (0..=dice.below(6)).map(|_| hash(dice)).collect()
}

pub fn hash(dice: &mut Dice) -> Hash {
    let odd = ["h1:", "h1:\n", "h1:${x}", "zh:", "test:x y", "h2:\u{200b}é\\\"", "1:%{", "zh:#no", "h1:a // b /*"];
    if dice.once_in(12) {
        return dice.pick(&odd).parse().unwrap();
    }
    let digest = [0; 32].map(|_: u8| dice.next().to_le_bytes()[0]);
    if dice.once_in(2) { Hash::h1(&digest) } else { Hash::zh(&digest) }
}

/// A lock file with everything that a user may do to its form.
pub fn handwritten(dice: &mut Dice) -> String {
    let mut locks: Vec<_> = locks(dice).into_iter().collect();
    if dice.once_in(4) {
        dice.shuffle(&mut locks);
    }
    let mut hand = Hand { dice, text: String::new(), comments: 0 };
    hand.header();
    for (address, provider) in &locks {
        hand.gap();
        if hand.dice.once_in(8) {
            hand.text.push_str("module \"m\" {\n  version = { a = [1] } # odd \"one\n}\n");
            hand.gap();
        }
        hand.block(address, provider);
    }
    hand.loose_comments(6);
    let mut text = hand.text;
    match dice.below(6) {
        0 => text.truncate(text.trim_end().len()),
        1 => text.push_str("\n\n"),
        _ => {}
    }
    match dice.below(5) {
        0 => text = text.replace('\n', "\r\n"),
        1 => text = text.replacen('\n', "\r\n", dice.below(12)),
        _ => {}
    }
    if dice.once_in(8) { format!("\u{feff}{text}") } else { text }
}

struct Hand<'a> {
    dice: &'a mut Dice,
    text: String,
    comments: usize,
}

impl Hand<'_> {
    fn header(&mut self) {
        self.loose_comments(6);
        if !self.dice.once_in(5) {
            let header = canonical_text(&Locks::new(), dialect(self.dice));
            self.text.push_str(&header);
        }
    }

    /// What stands between two blocks.
    fn gap(&mut self) {
        let lines = *self.dice.pick(&["\n", "\n", "\n", "", "\n\n", "  \n"]);
        self.text.push_str(lines);
        self.loose_comments(5);
    }

    fn loose_comments(&mut self, once_in: usize) {
        while self.dice.once_in(once_in) {
            let comment = self.comment(false);
            let blank = *self.dice.pick(&["", "\n"]);
            let _ = write!(self.text, "{comment}\n{blank}");
        }
    }

    fn comment(&mut self, inline: bool) -> String {
        self.comments += 1;
        let n = self.comments;
        match self.dice.below(4) {
            0 if !inline => format!("# comment \"{n}"),
            1 if !inline => format!("// comment {n} ,"),
            2 if !inline => format!("/* comment {n}\n   [ two lines */"),
            _ => format!("/* comment {n} */"),
        }
    }

    /// A comment at the end of a line, and the line's end.
    fn end_line(&mut self) {
        match self.dice.below(8) {
            0 => {
                let comment = self.comment(false);
                let comment = if comment.contains('\n') { self.comment(true) } else { comment };
                let _ = writeln!(self.text, " {comment}");
            }
            1 => self.text.push_str("  \n"),
            _ => self.text.push('\n'),
        }
    }

    fn own_lines(&mut self, indent: &str) {
        while self.dice.once_in(8) {
            let line = if self.dice.once_in(3) { String::new() } else { format!("{indent}{}", self.comment(false)) };
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn block(&mut self, address: &ProviderAddress, provider: &LockedProvider) {
        let label = self.literal(&address.to_string());
        let _ = write!(self.text, "provider{}{label}{}{{", self.dice.pick(&["", " "]), self.dice.pick(&["", " ", " "]));
        if provider.constraints.is_empty() && provider.hashes.is_empty() && self.dice.once_in(2) {
            let comment = if self.dice.once_in(3) { self.comment(true) + " " } else { String::new() };
            let behind = *self.dice.pick(&["", " ", " /* end */ "]);
            let _ = write!(self.text, " {comment}version = \"{}\"{behind}}}", provider.version);
            return self.end_line();
        }
        self.end_line();
        let indent = *self.dice.pick(&["  ", "  ", "  ", "\t", "    ", ""]);
        let mut attributes = vec!["version"];
        attributes.extend((!provider.constraints.is_empty()).then_some("constraints"));
        attributes.extend((!provider.hashes.is_empty()).then_some("hashes"));
        if self.dice.once_in(4) {
            self.dice.shuffle(&mut attributes);
        }
        for attribute in attributes {
            self.own_lines(indent);
            let before = *self.dice.pick(&[" ", " ", "     ", "", "\t", " /* gap */ "]);
            let behind = *self.dice.pick(&[" ", " ", "", "  "]);
            let _ = write!(self.text, "{indent}{attribute}{before}={behind}");
            match attribute {
                "version" => self.text.push_str(&quoted(&provider.version.to_string())),
                "constraints" => {
                    let text = self.literal(&provider.constraints.to_string());
                    self.text.push_str(&text);
                }
                _ => self.hashes(provider, indent),
            }
            self.end_line();
        }
        self.own_lines(indent);
        self.text.push('}');
        self.end_line();
    }

    fn hashes(&mut self, provider: &LockedProvider, indent: &str) {
        let mut hashes: Vec<_> = provider.hashes.iter().map(Hash::as_str).collect();
        if self.dice.once_in(4) {
            self.dice.shuffle(&mut hashes);
        }
        if self.dice.once_in(6) {
            hashes.push(hashes[0]);
        }
        let on_one_line = self.dice.once_in(4);
        self.text.push('[');
        if !on_one_line && !self.dice.once_in(6) {
            self.end_line();
        }
        let count = hashes.len();
        for (index, hash) in hashes.into_iter().enumerate() {
            if !on_one_line && self.text.ends_with('\n') {
                self.own_lines("    ");
                let _ = write!(self.text, "{indent}{indent}");
            } else if self.dice.once_in(6) {
                let comment = self.comment(true);
                let _ = write!(self.text, "{comment} ");
            }
            let literal = self.literal(hash);
            self.text.push_str(&literal);
            if self.dice.once_in(10) {
                let comment = self.comment(true);
                let _ = write!(self.text, " {comment}");
            }
            if !on_one_line && self.dice.once_in(15) {
                self.end_line();
            }
            if index + 1 < count || self.dice.once_in(2) {
                self.text.push(',');
            }
            if on_one_line || self.dice.once_in(8) {
                let space = *self.dice.pick(&[" ", ""]);
                self.text.push_str(space);
            } else {
                self.end_line();
            }
        }
        if self.text.ends_with('\n') {
            self.own_lines(indent);
            self.text.push_str(indent);
        }
        self.text.push(']');
    }

    /// A string literal, sometimes with an escape that need not be.
    fn literal(&mut self, value: &str) -> String {
        let quoted = quoted(value);
        match quoted.chars().nth(1) {
            Some(first) if first.is_ascii_alphanumeric() && self.dice.once_in(10) => {
                format!("\"\\u{:04x}{}", u32::from(first), &quoted[2..])
            }
            _ => quoted,
        }
    }
}

/// A string literal as the library writes it.
fn quoted(value: &str) -> String {
    let canonical = canonical_text(&one_hash(&format!("x:{value}")), Dialect::Tofu);
    let line = canonical.lines().find(|line| line.contains("\"x:")).unwrap();
    format!("\"{}", &line.trim()["\"x:".len()..line.trim().len() - 1])
}

fn one_hash(text: &str) -> Locks {
    let address = ProviderAddress::parse_canonical("a.b/c/d", Dialect::Tofu).unwrap();
    let hashes = BTreeSet::from([text.parse().unwrap()]);
    let provider = LockedProvider { version: Version::new(1, 0, 0), constraints: ConstraintList::default(), hashes };
    Locks::from([(address, provider)])
}

/// A lock file with some bytes removed, repeated or replaced.
pub fn mangled(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = handwritten(dice).into_bytes();
    for _ in 0..=dice.below(4) {
        let start = dice.below(bytes.len() + 1);
        let end = (start + dice.below(20)).min(bytes.len());
        match dice.below(3) {
            0 => _ = bytes.drain(start..end),
            1 => {
                let piece = bytes[start..end].to_vec();
                bytes.splice(start..start, piece);
            }
            _ => {
                let piece =
                    *dice.pick(&["\"", "{", "}", "[", "]", ",", "\n", "#", "/*", "${", "\\", "\u{e9}", "=", "\0"]);
                bytes.splice(start..end, piece.bytes());
            }
        }
    }
    bytes
}
