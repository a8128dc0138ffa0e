//! Lock files made by chance: what they say, and how a human hand may have written it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provlock::lockfile::{LockedProvider, Locks, canonical_text};
use provlock::provider::{ConstraintList, Dialect, Hash, ProviderAddress, Version};

use super::rng::Rng;

pub fn dialect(rng: &mut Rng) -> Dialect {
    *rng.pick(&[Dialect::Tofu, Dialect::Terraform])
}

pub fn locks(rng: &mut Rng) -> Locks {
    let count = rng.below(6);
    (0..count).map(|_| (address(rng), provider(rng).into())).collect()
}

pub fn address(rng: &mut Rng) -> ProviderAddress {
    let hosts =
        ["registry.opentofu.org", "registry.terraform.io", "a.b:8080", "a.b", "a.b-c", "bücher.test", "z.example"];
    let text = format!(
        "{}/{}/{}",
        rng.pick(&hosts),
        rng.pick(&["hashicorp", "acme", "acme-x", "9"]),
        rng.pick(&["aws", "null", "random", "foo", "foo-x", "foo2"]),
    );
    ProviderAddress::parse_canonical(&text, Dialect::Tofu).unwrap()
}

pub fn provider(rng: &mut Rng) -> LockedProvider {
    let constraints = if rng.once_in(2) { ConstraintList::default() } else { constraints(rng) };
    let hashes = if rng.once_in(5) { BTreeSet::new() } else { hashes(rng) };
    LockedProvider { version: version(rng), constraints, hashes }
}

pub fn version(rng: &mut Rng) -> Version {
    let suffix = *rng.pick(&["", "", "", "-beta.1", "+build", "-rc.1+a.b"]);
    format!("{}.{}.{}{suffix}", rng.below(9), rng.below(120), rng.below(9)).parse().unwrap()
}

pub fn constraints(rng: &mut Rng) -> ConstraintList {
    let operators = ["", ">= ", "~> ", "< ", "!= "];
    let terms: Vec<_> = (0..=rng.below(4))
        .map(|_| format!("{}{}.{}.{}", rng.pick(&operators), rng.below(3), rng.below(3), rng.below(3)))
        .collect();
    terms.join(", ").parse().unwrap()
}

pub fn hashes(rng: &mut Rng) -> BTreeSet<Hash> {
    (0..=rng.below(6)).map(|_| hash(rng)).collect()
}

pub fn hash(rng: &mut Rng) -> Hash {
    let odd = ["h1:", "h1:\n", "h1:${x}", "zh:", "test:x y", "h2:\u{200b}é\\\"", "1:%{", "zh:#no", "h1:a // b /*"];
    if rng.once_in(12) {
        return rng.pick(&odd).parse().unwrap();
    }
    let digest = [0; 32].map(|_: u8| rng.next().to_le_bytes()[0]);
    if rng.once_in(2) { Hash::h1(&digest) } else { Hash::zh(&digest) }
}

/// A lock file with everything that a user may do to its form.
pub fn handwritten(rng: &mut Rng) -> String {
    let mut locks: Vec<_> = locks(rng).into_iter().collect();
    if rng.once_in(4) {
        rng.shuffle(&mut locks);
    }
    let mut hand = Hand { rng, text: String::new(), comments: 0 };
    hand.header();
    for (address, provider) in &locks {
        hand.gap();
        if hand.rng.once_in(8) {
            hand.text.push_str("module \"m\" {\n  version = { a = [1] } # odd \"one\n}\n");
            hand.gap();
        }
        hand.block(address, provider);
    }
    hand.loose_comments(6);
    let mut text = hand.text;
    match rng.below(6) {
        0 => text.truncate(text.trim_end().len()),
        1 => text.push_str("\n\n"),
        _ => {}
    }
    match rng.below(5) {
        0 => text = text.replace('\n', "\r\n"),
        1 => text = text.replacen('\n', "\r\n", rng.below(12)),
        _ => {}
    }
    if rng.once_in(8) { format!("\u{feff}{text}") } else { text }
}

struct Hand<'a> {
    rng: &'a mut Rng,
    text: String,
    comments: usize,
}

impl Hand<'_> {
    fn header(&mut self) {
        self.loose_comments(6);
        if !self.rng.once_in(5) {
            let header = canonical_text(&Locks::new(), dialect(self.rng));
            self.text.push_str(&header);
        }
    }

    /// What stands between two blocks.
    fn gap(&mut self) {
        let lines = *self.rng.pick(&["\n", "\n", "\n", "", "\n\n", "  \n"]);
        self.text.push_str(lines);
        self.loose_comments(5);
    }

    fn loose_comments(&mut self, once_in: usize) {
        while self.rng.once_in(once_in) {
            let comment = self.comment(false);
            let blank = *self.rng.pick(&["", "\n"]);
            let _ = write!(self.text, "{comment}\n{blank}");
        }
    }

    fn comment(&mut self, inline: bool) -> String {
        self.comments += 1;
        let n = self.comments;
        match self.rng.below(4) {
            0 if !inline => format!("# comment \"{n}"),
            1 if !inline => format!("// comment {n} ,"),
            2 if !inline => format!("/* comment {n}\n   [ two lines */"),
            _ => format!("/* comment {n} */"),
        }
    }

    /// A comment at the end of a line, and the line's end.
    fn end_line(&mut self) {
        match self.rng.below(8) {
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
        while self.rng.once_in(8) {
            let line = if self.rng.once_in(3) { String::new() } else { format!("{indent}{}", self.comment(false)) };
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn block(&mut self, address: &ProviderAddress, provider: &LockedProvider) {
        let label = self.literal(&address.to_string());
        let _ = write!(self.text, "provider{}{label}{}{{", self.rng.pick(&["", " "]), self.rng.pick(&["", " ", " "]));
        if provider.constraints.is_empty() && provider.hashes.is_empty() && self.rng.once_in(2) {
            let comment = if self.rng.once_in(3) { self.comment(true) + " " } else { String::new() };
            let after = *self.rng.pick(&["", " ", " /* end */ "]);
            let _ = write!(self.text, " {comment}version = \"{}\"{after}}}", provider.version);
            return self.end_line();
        }
        self.end_line();
        let indent = *self.rng.pick(&["  ", "  ", "  ", "\t", "    ", ""]);
        let mut attributes = vec!["version"];
        attributes.extend((!provider.constraints.is_empty()).then_some("constraints"));
        attributes.extend((!provider.hashes.is_empty()).then_some("hashes"));
        if self.rng.once_in(4) {
            self.rng.shuffle(&mut attributes);
        }
        for attribute in attributes {
            self.own_lines(indent);
            let before = *self.rng.pick(&[" ", " ", "     ", "", "\t", " /* gap */ "]);
            let after = *self.rng.pick(&[" ", " ", "", "  "]);
            let _ = write!(self.text, "{indent}{attribute}{before}={after}");
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
        if self.rng.once_in(4) {
            self.rng.shuffle(&mut hashes);
        }
        if self.rng.once_in(6) {
            hashes.push(hashes[0]);
        }
        let on_one_line = self.rng.once_in(4);
        self.text.push('[');
        if !on_one_line && !self.rng.once_in(6) {
            self.end_line();
        }
        let count = hashes.len();
        for (index, hash) in hashes.into_iter().enumerate() {
            if !on_one_line && self.text.ends_with('\n') {
                self.own_lines("    ");
                let _ = write!(self.text, "{indent}{indent}");
            } else if self.rng.once_in(6) {
                let comment = self.comment(true);
                let _ = write!(self.text, "{comment} ");
            }
            let literal = self.literal(hash);
            self.text.push_str(&literal);
            if self.rng.once_in(10) {
                let comment = self.comment(true);
                let _ = write!(self.text, " {comment}");
            }
            if !on_one_line && self.rng.once_in(15) {
                self.end_line();
            }
            if index + 1 < count || self.rng.once_in(2) {
                self.text.push(',');
            }
            if on_one_line || self.rng.once_in(8) {
                let space = *self.rng.pick(&[" ", ""]);
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
            Some(first) if first.is_ascii_alphanumeric() && self.rng.once_in(10) => {
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
    Locks::from([(address, provider.into())])
}

/// A lock file with some bytes removed, repeated or replaced.
pub fn mangled(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = handwritten(rng).into_bytes();
    for _ in 0..=rng.below(4) {
        let start = rng.below(bytes.len() + 1);
        let end = (start + rng.below(20)).min(bytes.len());
        match rng.below(3) {
            0 => _ = bytes.drain(start..end),
            1 => {
                let piece = bytes[start..end].to_vec();
                bytes.splice(start..start, piece);
            }
            _ => {
                let piece =
                    *rng.pick(&["\"", "{", "}", "[", "]", ",", "\n", "#", "/*", "${", "\\", "\u{e9}", "=", "\0"]);
                bytes.splice(start..end, piece.bytes());
            }
        }
    }
    bytes
}
