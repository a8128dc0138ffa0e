use std::path::Path;

use super::super::{LockFile, Locks, canonical_text};
use super::{HEADER, address, lock_file, locked};
use crate::hcl::trivia::TOKENS_READ;
use crate::provider::Dialect;

/// Edits the one entry of `text`, which is `a.b/c/d` at version 1.0.0.
fn edited(text: &str, version: &str, constraints: &str, hashes: &[&str]) -> String {
    let new = Locks::from([(address("a.b/c/d"), locked(version, constraints, hashes))]);
    String::from_utf8(lock_file(text).edit(&new).unwrap()).unwrap()
}

fn entry(attributes: &str) -> String {
    format!("provider \"a.b/c/d\" {{\n{attributes}}}\n")
}

#[test]
fn an_entry_that_changes_gets_canonical_form_and_keeps_its_comments() {
    let text =
        entry("\tversion   =  /* why */ \"1.0.0\" # pinned\n\n\thashes = [\"h1:b\", \"h1:a\"]\n");
    let expected = entry(
        "  version = \"1.1.0\" /* why */ # pinned\n  hashes = [\n    \"h1:a\",\n    \"h1:b\",\n  ]\n",
    );
    assert_eq!(edited(&text, "1.1.0", "", &["h1:a", "h1:b"]), expected);
    assert_eq!(edited(&text, "1.0.0", "", &["h1:a", "h1:b"]), text);
}

#[test]
fn constraints_come_and_go_with_alignment() {
    let without = entry("  version = \"1.0.0\"\n");
    let with = entry("  version     = \"1.0.0\"\n  constraints = \">= 1.0.0\"\n");
    assert_eq!(edited(&without, "1.0.0", ">= 1.0.0", &[]), with);
    assert_eq!(edited(&with, "1.0.0", "", &[]), without);
    let tight = entry("version=\"1.0.0\" # v\n");
    let aligned = entry("  version     = \"1.0.0\" # v\n  constraints = \"2.0.0\"\n");
    assert_eq!(edited(&tight, "1.0.0", "2.0.0", &[]), aligned);
}

#[test]
fn removed_attributes_leave_their_comments() {
    let text = entry(
        r#"  version = "1.0.0"
  # c
  constraints /* in */ = "1.0.0" # beside
  hashes = [ # h
    "h1:a", # a
  ] # end
"#,
    );
    let bare =
        entry("  version = \"1.0.0\"\n  # c\n  /* in */\n  # beside\n  # h\n  # a\n  # end\n");
    assert_eq!(edited(&text, "1.0.0", "", &[]), bare);
}

#[test]
fn comments_stay_at_their_hashes() {
    let list = |list: &str| entry(&format!("  version = \"1.0.0\"\n  hashes = {list}\n"));
    let cases = [
        (
            "[\"h1:c\", \"h1:a\"]",
            "[\n    \"h1:a\",\n    \"h1:b\",\n    \"h1:c\",\n  ]",
        ),
        (
            "[\n\"h1:c\" # c\n,\"h1:a\" # a\n]",
            "[\n    \"h1:a\", # a\n    \"h1:b\",\n    \"h1:c\", # c\n  ]",
        ),
        (
            "[ # list\n      # about c\n      \"h1:c\", # c\n\n      // about a\n      \"h1:a\"\n      # end\n  ]",
            "[ # list\n    // about a\n    \"h1:a\",\n    \"h1:b\",\n    # about c\n    \"h1:c\", # c\n    # end\n  ]",
        ),
        (
            "[ /* c */ \"h1:c\", /* a */ \"h1:a\" /* last */ ]",
            "[\n    /* a */\n    \"h1:a\", /* last */\n    \"h1:b\",\n    /* c */\n    \"h1:c\",\n  ]",
        ),
        (
            "[\n    # one\n    \"h1:a\", # two\n    # three\n    \"h1:a\", # four\n    \"h1:c\",\n  ]",
            "[\n    # one\n    # three\n    \"h1:a\", # two\n    # four\n    \"h1:b\",\n    \"h1:c\",\n  ]",
        ),
    ];
    for (old, new) in cases {
        assert_eq!(
            edited(&list(old), "1.0.0", "", &["h1:a", "h1:b", "h1:c"]),
            list(new)
        );
    }
}

#[test]
fn removed_hashes_leave_their_comments() {
    let list = |list: &str| entry(&format!("  version = \"1.0.0\"\n  hashes = {list}\n"));
    let cases = [
        (
            "[\n    # of a\n    \"h1:a\", # a\n    \"h1:b\", # b\n    # of c\n    \"h1:c\" # c\n    # end\n  ]",
            "[\n    # of a\n    # a\n    \"h1:b\", # b\n    # of c\n    # c\n    # end\n  ]",
        ),
        (
            "[ /* a */ \"h1:a\", /* b */ \"h1:b\", \"h1:c\" /* c */]",
            "[\n    /* a */\n    /* b */\n    \"h1:b\",\n    /* c */\n  ]",
        ),
    ];
    for (old, new) in cases {
        assert_eq!(edited(&list(old), "1.0.0", "", &["h1:b"]), list(new));
    }
}

#[test]
fn hashes_are_added_to_blocks_of_any_form() {
    let hashes = "  hashes = [\n    \"h1:a\",\n  ]\n";
    let plain = entry("  version     = \"1.0.0\" # v\n  constraints = \"1.0.0\" # c\n  # end\n");
    let expected = plain.replace("# c\n", &format!("# c\n{hashes}"));
    assert_eq!(edited(&plain, "1.0.0", "1.0.0", &["h1:a"]), expected);
    let one_line =
        "provider /* p */ \"a.b/c/d\" { /* x\ny */ version = \"1.0.0\" /* z */ } # end\n";
    let opened = r#"provider "a.b/c/d" { /* p */
  /* x
y */
  version = "1.0.0" /* z */
  hashes = [
    "h1:a",
  ]
} # end
"#;
    assert_eq!(edited(one_line, "1.0.0", "", &["h1:a"]), opened);
}

/// Edits `text` so that it has entries without hashes for the given addresses.
fn with_entries(text: &str, names: &[&str]) -> String {
    let lock_file = lock_file(text);
    let entry = |name: &&str| {
        let address = address(&format!("a.b/c/{name}"));
        let old = lock_file.locks().get(&address).cloned();
        (address, old.unwrap_or_else(|| locked("9.0.0", "", &[])))
    };
    String::from_utf8(lock_file.edit(&names.iter().map(entry).collect()).unwrap()).unwrap()
}

fn block(name: &str, version: &str) -> String {
    format!("provider \"a.b/c/{name}\" {{\n  version = \"{version}\"\n}}\n")
}

#[test]
fn blocks_go_to_their_sorted_place_below_loose_comments() {
    let old = ["b", "d"].map(|name| block(name, "1.0.0"));
    let new = ["a", "c", "e"].map(|name| block(name, "9.0.0"));
    let text = format!(
        "# top\n\n{HEADER}# about b\n{}# end of b\n\n# loose\n\n# about d\n{}# end\n",
        old[0], old[1]
    );
    let expected = format!(
        "# top\n\n{HEADER}\n{}\n# about b\n{}# end of b\n\n# loose\n\n{}\n# about d\n{}\n{}# end\n",
        new[0], old[0], new[1], old[1], new[2]
    );
    assert_eq!(with_entries(&text, &["a", "b", "c", "d", "e"]), expected);
}

#[test]
fn blocks_of_an_unsorted_file_stay_where_they_are() {
    let old = ["b", "d", "a"].map(|name| block(name, "1.0.0"));
    let new = ["c", "e"].map(|name| block(name, "9.0.0"));
    let text = format!("{HEADER}\n{}\n{}\n{}", old[0], old[1], old[2]);
    let expected = format!(
        "{HEADER}\n{}\n{}\n{}\n{}\n{}",
        old[0], new[0], old[1], old[2], new[1]
    );
    assert_eq!(with_entries(&text, &["a", "b", "c", "d", "e"]), expected);
}

#[test]
fn removed_blocks_take_the_comments_above_along() {
    let [a, b, c] = ["a", "b", "c"].map(|name| block(name, "1.0.0"));
    let text =
        format!("{HEADER}\n# about a\n{a}\n# loose\n\n# about b\n{b}\n# about c\n{c}\n# end\n");
    assert_eq!(
        with_entries(&text, &["a", "c"]),
        format!("{HEADER}\n# about a\n{a}\n# loose\n\n# about c\n{c}\n# end\n")
    );
    assert_eq!(
        with_entries(&text, &["b"]),
        format!("{HEADER}\n# loose\n\n# about b\n{b}\n# end\n")
    );
    assert_eq!(
        with_entries(&text, &[]),
        format!("{HEADER}\n# loose\n\n# end\n")
    );
    let plain = format!("{a}\n{b}");
    assert_eq!(with_entries(&plain, &["b"]), b);
}

#[test]
fn module_blocks_stay_as_they_are() {
    let module =
        "# about m\nmodule   \"m\" {\n\tversion={ a = [ 1 ] } # odd\n  hashes = []\n}  # end\n";
    let entry = entry("  version = \"1.0.0\"\n");
    for text in [
        format!("{HEADER}\n{module}{entry}"),
        format!("{HEADER}\n{entry}\n{module}"),
        format!("{module}{entry}{module}"),
    ] {
        for text in [text.replace('\n', "\r\n"), text] {
            assert_eq!(
                edited(&text, "1.1.0", "", &[]),
                text.replace("1.0.0", "1.1.0")
            );
        }
    }
    let (a, b) = (block("a", "1.0.0"), block("b", "9.0.0"));
    let text = format!("{HEADER}\n{a}\n{module}");
    assert_eq!(
        with_entries(&text, &["a", "b"]),
        format!("{HEADER}\n{a}\n{b}\n{module}")
    );
    assert_eq!(with_entries(&text, &[]), format!("{HEADER}\n{module}"));
}

#[test]
fn ends_of_files_stay() {
    let (a, b) = (block("a", "1.0.0"), block("b", "9.0.0"));
    let text = format!("{HEADER}\n{a}");
    assert_eq!(
        with_entries(text.trim_end(), &["a", "b"]),
        format!("{text}\n{b}").trim_end()
    );
    assert_eq!(
        with_entries(&format!("{text}\n\n"), &["a", "b"]),
        format!("{text}\n{b}\n\n")
    );
    assert_eq!(with_entries(HEADER, &["b"]), format!("{HEADER}\n{b}"));
    assert_eq!(
        with_entries(&format!("{HEADER}\n"), &["b"]),
        format!("{HEADER}\n{b}")
    );
    assert_eq!(
        with_entries(HEADER.trim_end(), &["b"]),
        format!("{HEADER}\n{b}").trim_end()
    );
}

#[test]
fn new_lines_end_as_most_lines_do() {
    let text = format!("\u{feff}{HEADER}\n{}", block("a", "1.0.0")).replace('\n', "\r\n");
    let expected = format!("{text}\r\n{}", block("b", "9.0.0").replace('\n', "\r\n"));
    assert_eq!(with_entries(&text, &["a", "b"]), expected);
}

#[test]
fn empty_files_get_a_header() {
    let locks = Locks::from([(address("a.b/c/d"), locked("1.0.0", "", &[]))]);
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        let new = LockFile::empty(Path::new("x"), dialect);
        assert!(new.bytes().is_empty());
        assert_eq!(
            new.edit(&locks).unwrap(),
            canonical_text(&locks, dialect).into_bytes()
        );
        assert_eq!(
            new.edit(&Locks::new()).unwrap(),
            canonical_text(&Locks::new(), dialect).into_bytes()
        );
    }
    assert_eq!(lock_file("").edit(&Locks::new()).unwrap(), b"");
    assert_eq!(
        lock_file("").edit(&locks).unwrap(),
        canonical_text(&locks, Dialect::Tofu).into_bytes()
    );
    let crlf = lock_file("\u{feff}\r\n").edit(&locks).unwrap();
    assert_eq!(
        crlf,
        format!(
            "\u{feff}{}",
            canonical_text(&locks, Dialect::Tofu).replace('\n', "\r\n")
        )
        .into_bytes()
    );
}

#[test]
fn a_result_that_could_not_be_read_again_is_refused() {
    let old = lock_file(&(HEADER.to_owned() + &entry("  version = \"1.0.0\"\n")));
    let hashes: Vec<_> = (0..50_000)
        .map(|number| format!("h1:{number:0>90}"))
        .collect();
    let new = Locks::from([(
        address("a.b/c/d"),
        locked(
            "1.0.0",
            "",
            &hashes.iter().map(String::as_str).collect::<Vec<_>>(),
        ),
    )]);
    let error = old.edit(&new).unwrap_err();
    assert!(
        error[0]
            .message
            .ends_with("would become larger than 4 MiB, so it stays as it is"),
        "{error:?}"
    );
}

#[test]
fn removing_many_hashes_reads_each_token_once() {
    let tokens_read = |lead: &str, hashes: usize, kept: &[&str]| {
        let list = format!("{lead}\"h1:b\", // beside\n    /* above */ ").repeat(hashes);
        let text = entry(&format!(
            "  version = \"1.0.0\"\n  hashes = [{list}\"h1:c\"]\n"
        ));
        let file = lock_file(&text);
        TOKENS_READ.set(0);
        let new = Locks::from([(address("a.b/c/d"), locked("1.0.0", "", kept))]);
        let edited = file.edit(&new).unwrap();
        assert_eq!(
            String::from_utf8(edited)
                .unwrap()
                .matches("// beside")
                .count(),
            hashes
        );
        TOKENS_READ.get()
    };
    for lead in ["", "\n    ", "# about\n"] {
        for kept in [&["h1:a", "h1:b"][..], &["h1:c"], &["h1:a"]] {
            let [once, four_times] = [100, 400].map(|hashes| tokens_read(lead, hashes, kept));
            assert!(
                four_times < 5 * once,
                "{lead:?} {kept:?}: {once}, then {four_times}"
            );
        }
    }
}
