//! Random lock files: their content, and the ways in which people format it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use provlock::lockfile::{EntryKind, LockedModule, LockedProvider, Locks, LocksOf, canonical_text};
use provlock::provider::{ConstraintList, Dialect, Hash, ProviderAddress, Version};

use super::rng::Rng;

/// A kind of entry that can be made by chance.
pub trait Sample: EntryKind {
    fn address(rng: &mut Rng) -> Self::Address;

    /// Addresses that come first, between others, and last.
    fn places() -> [Self::Address; 3];

    fn entry(rng: &mut Rng) -> Self;

    /// Gives one attribute another value, or none.
    fn vary(&mut self, rng: &mut Rng);

    fn hashes_mut(&mut self) -> &mut BTreeSet<Hash>;
}

impl Sample for LockedProvider {
    fn address(rng: &mut Rng) -> ProviderAddress {
        let hosts = [
            "registry.opentofu.org",
            "registry.terraform.io",
            "a.b:8080",
            "a.b",
            "a.b-c",
            "bücher.test",
            "z.example",
        ];
        provider_address(&format!(
            "{}/{}/{}",
            rng.pick(&hosts),
            rng.pick(&["hashicorp", "acme", "acme-x", "9"]),
            rng.pick(&["aws", "null", "random", "foo", "foo-x", "foo2"]),
        ))
    }

    fn places() -> [ProviderAddress; 3] {
        [
            "a.example/first/first",
            "registry.opentofu.org/middle/middle",
            "zz.example/last/last",
        ]
        .map(provider_address)
    }

    fn entry(rng: &mut Rng) -> Self {
        let constraints = if rng.once_in(2) {
            ConstraintList::default()
        } else {
            constraints(rng)
        };
        Self {
            version: version(rng),
            constraints,
            hashes: some_hashes(rng),
        }
    }

    fn vary(&mut self, rng: &mut Rng) {
        match rng.below(4) {
            0 => self.version = version(rng),
            1 => self.constraints = ConstraintList::default(),
            _ => self.constraints = constraints(rng),
        }
    }

    fn hashes_mut(&mut self) -> &mut BTreeSet<Hash> {
        &mut self.hashes
    }
}

impl Sample for LockedModule {
    fn address(rng: &mut Rng) -> String {
        let names = [
            "network",
            "network.endpoints",
            "a",
            "a.b",
            "a-b",
            "a_b.c",
            ".",
            "test.tests.a.x",
            "bücher",
        ];
        (*rng.pick(&names)).to_owned()
    }

    fn places() -> [String; 3] {
        ["0-first", "middle", "zz.last"].map(str::to_owned)
    }

    fn entry(rng: &mut Rng) -> Self {
        let is_registry = rng.once_in(2);
        Self {
            source: source(rng),
            version: is_registry.then(|| version(rng)),
            constraints: if is_registry {
                module_constraints(rng)
            } else {
                ConstraintList::default()
            },
            package: source(rng),
            hashes: some_hashes(rng),
        }
    }

    fn vary(&mut self, rng: &mut Rng) {
        match rng.below(7) {
            0 => self.source = source(rng),
            1 => self.package = source(rng),
            2 => self.version = None,
            3 => self.version = Some(version(rng)),
            4 => self.constraints = ConstraintList::default(),
            5 => self.constraints = module_constraints(rng),
            // To a module from somewhere else.
            _ => {
                *self = Self {
                    hashes: self.hashes.clone(),
                    ..Self::entry(rng)
                }
            }
        }
    }

    fn hashes_mut(&mut self) -> &mut BTreeSet<Hash> {
        &mut self.hashes
    }
}

pub fn dialect(rng: &mut Rng) -> Dialect {
    *rng.pick(&[Dialect::Tofu, Dialect::Terraform])
}

pub fn locks<T: Sample>(rng: &mut Rng) -> LocksOf<T> {
    let count = rng.below(6);
    (0..count)
        .map(|_| (T::address(rng), T::entry(rng).into()))
        .collect()
}

fn provider_address(text: &str) -> ProviderAddress {
    ProviderAddress::parse_canonical(text, Dialect::Tofu).unwrap()
}

/// The address of a module or package, with characters that need an escape.
fn source(rng: &mut Rng) -> String {
    let forms = [
        "registry.opentofu.org/acme/network/aws//modules/a",
        "registry::registry.opentofu.org/acme/network/aws@1.2.3",
        "git::https://example.com/net.git?ref=v1.2.0",
        "git::ssh://git@example.com/net.git//a b?ref=e0ab1c94",
        "https://example.com/site.zip?a=${b}&c=%{d}",
        "https://example.com/\"quoted\"\\é.tgz#no-comment // /*",
    ];
    (*rng.pick(&forms)).to_owned()
}

fn some_hashes(rng: &mut Rng) -> BTreeSet<Hash> {
    if rng.once_in(5) {
        BTreeSet::new()
    } else {
        hashes(rng)
    }
}

fn module_constraints(rng: &mut Rng) -> ConstraintList {
    let one = ["", "~> 1", "~> v1.2", ">= 1.0, < 2", "1.2.0", "!= 1.2.0"];
    let text = *rng.pick(&one);
    ConstraintList::parse_for_module(text).unwrap()
}

pub fn version(rng: &mut Rng) -> Version {
    let suffix = *rng.pick(&["", "", "", "-beta.1", "+build", "-rc.1+a.b"]);
    format!(
        "{}.{}.{}{suffix}",
        rng.below(9),
        rng.below(120),
        rng.below(9)
    )
    .parse()
    .unwrap()
}

pub fn constraints(rng: &mut Rng) -> ConstraintList {
    let operators = ["", ">= ", "~> ", "< ", "!= "];
    let terms: Vec<_> = (0..=rng.below(4))
        .map(|_| {
            format!(
                "{}{}.{}.{}",
                rng.pick(&operators),
                rng.below(3),
                rng.below(3),
                rng.below(3)
            )
        })
        .collect();
    terms.join(", ").parse().unwrap()
}

pub fn hashes(rng: &mut Rng) -> BTreeSet<Hash> {
    (0..=rng.below(6)).map(|_| hash(rng)).collect()
}

pub fn hash(rng: &mut Rng) -> Hash {
    let odd = [
        "h1:",
        "h1:\n",
        "h1:${x}",
        "zh:",
        "test:x y",
        "h2:\u{200b}é\\\"",
        "1:%{",
        "zh:#no",
        "h1:a // b /*",
    ];
    if rng.once_in(12) {
        return rng.pick(&odd).parse().unwrap();
    }
    let digest = [0; 32].map(|_: u8| rng.next().to_le_bytes()[0]);
    if rng.once_in(2) {
        Hash::h1(&digest)
    } else {
        Hash::zh(&digest)
    }
}

/// A lock file with everything that a user may do to its form.
pub fn handwritten<T: Sample>(rng: &mut Rng) -> String {
    let mut locks: Vec<_> = locks::<T>(rng).into_iter().collect();
    if rng.once_in(4) {
        rng.shuffle(&mut locks);
    }
    let mut hand = Hand {
        rng,
        text: String::new(),
        comments: 0,
    };
    hand.header::<T>();
    for (address, entry) in &locks {
        hand.gap();
        if hand.rng.once_in(8) {
            let _ = writeln!(
                hand.text,
                "{} \"m\" {{\n  version = {{ a = [1] }} # odd \"one\n}}",
                T::IGNORED_BLOCK
            );
            hand.gap();
        }
        hand.block(address, &**entry);
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
    if rng.once_in(8) {
        format!("\u{feff}{text}")
    } else {
        text
    }
}

struct Hand<'a> {
    rng: &'a mut Rng,
    text: String,
    comments: usize,
}

impl Hand<'_> {
    fn header<T: Sample>(&mut self) {
        self.loose_comments(6);
        if !self.rng.once_in(5) {
            let header = canonical_text(&LocksOf::<T>::new(), dialect(self.rng));
            self.text.push_str(&header);
        }
    }

    /// Text between two blocks.
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
                let comment = if comment.contains('\n') {
                    self.comment(true)
                } else {
                    comment
                };
                let _ = writeln!(self.text, " {comment}");
            }
            1 => self.text.push_str("  \n"),
            _ => self.text.push('\n'),
        }
    }

    fn own_lines(&mut self, indent: &str) {
        while self.rng.once_in(8) {
            let line = if self.rng.once_in(3) {
                String::new()
            } else {
                format!("{indent}{}", self.comment(false))
            };
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn block<T: Sample>(&mut self, address: &T::Address, entry: &T) {
        let label = self.literal(&address.to_string());
        let spaces =
            [self.rng.pick(&["", " "]), self.rng.pick(&["", " ", " "])].map(|space| *space);
        let _ = write!(self.text, "{}{}{label}{}{{", T::BLOCK, spaces[0], spaces[1]);
        let values = entry.attributes();
        let mut attributes: Vec<_> = T::ATTRIBUTES
            .iter()
            .zip(&values)
            .filter_map(|(rule, value)| Some((rule.name, value.as_deref()?)))
            .collect();
        if let ([(name, value)], true) = (
            &attributes[..],
            entry.hashes().is_empty() && self.rng.once_in(2),
        ) {
            let comment = if self.rng.once_in(3) {
                self.comment(true) + " "
            } else {
                String::new()
            };
            let after = *self.rng.pick(&["", " ", " /* end */ "]);
            let _ = write!(self.text, " {comment}{name} = {}{after}}}", quoted(value));
            return self.end_line();
        }
        self.end_line();
        let indent = *self.rng.pick(&["  ", "  ", "  ", "\t", "    ", ""]);
        attributes.extend((!entry.hashes().is_empty()).then_some(("hashes", "")));
        if self.rng.once_in(4) {
            self.rng.shuffle(&mut attributes);
        }
        for (attribute, value) in attributes {
            self.own_lines(indent);
            let before = *self.rng.pick(&[" ", " ", "     ", "", "\t", " /* gap */ "]);
            let after = *self.rng.pick(&[" ", " ", "", "  "]);
            let _ = write!(self.text, "{indent}{attribute}{before}={after}");
            match attribute {
                "version" => self.text.push_str(&quoted(value)),
                "hashes" => self.hashes(entry.hashes(), indent),
                _ => {
                    let text = self.literal(value);
                    self.text.push_str(&text);
                }
            }
            self.end_line();
        }
        self.own_lines(indent);
        self.text.push('}');
        self.end_line();
    }

    fn hashes(&mut self, hashes: &BTreeSet<Hash>, indent: &str) {
        let mut hashes: Vec<_> = hashes.iter().map(Hash::as_str).collect();
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
    let line = canonical
        .lines()
        .find(|line| line.contains("\"x:"))
        .unwrap();
    format!("\"{}", &line.trim()["\"x:".len()..line.trim().len() - 1])
}

fn one_hash(text: &str) -> Locks {
    let address = provider_address("a.b/c/d");
    let hashes = BTreeSet::from([text.parse().unwrap()]);
    let provider = LockedProvider {
        version: Version::new(1, 0, 0),
        constraints: ConstraintList::default(),
        hashes,
    };
    Locks::from([(address, provider.into())])
}

/// A lock file with some bytes removed, repeated or replaced.
pub fn mangled<T: Sample>(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = handwritten::<T>(rng).into_bytes();
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
                let piece = *rng.pick(&[
                    "\"", "{", "}", "[", "]", ",", "\n", "#", "/*", "${", "\\", "\u{e9}", "=", "\0",
                ]);
                bytes.splice(start..end, piece.bytes());
            }
        }
    }
    bytes
}
