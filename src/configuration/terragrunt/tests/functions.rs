//! Functions of OpenTofu's language.

use super::evaluate;

#[track_caller]
fn assert_all(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(
            evaluate(expression).as_deref(),
            Ok(*expected),
            "{expression}"
        );
    }
}

#[test]
fn strings() {
    assert_all(&[
        ("lower(\"AbC\")", "abc"),
        ("trimspace(\" a\\n\")", "a"),
        ("trim(\"?a?\", \"?\")", "a"),
        ("trimprefix(\"v1\", \"v\")", "1"),
        ("trimsuffix(\"a.tf\", \".tf\")", "a"),
        ("startswith(\"abc\", \"ab\")", "true"),
        ("join(\"-\", split(\"/\", \"a/b/c\"))", "a-b-c"),
        ("length(split(\",\", \"\"))", "1"),
        ("format(\"%s-%d-%%-%v\", \"a\", 3, true)", "a-3-%-true"),
        ("basename(\"/a/b.hcl\")", "b.hcl"),
        ("dirname(\"/a/b.hcl\")", "/a"),
        ("dirname(\"b\")", "."),
        ("replace(\"a.b.c\", \".\", \"-\")", "a-b-c"),
        ("tostring(15)", "15"),
    ]);
}

#[test]
fn collections() {
    assert_all(&[
        ("join(\",\", keys({ b = 1, a = 2 }))", "a,b"),
        ("join(\",\", values({ b = 1, a = 2 }))", "2,1"),
        ("merge({ a = 1 }, null, { a = 2 }).a", "2"),
        ("lookup({ a = \"1\" }, \"b\", \"none\")", "none"),
        ("element([\"a\", \"b\"], 3)", "b"),
        ("contains([1, 2], 2)", "true"),
        ("join(\",\", concat([1], [2]))", "1,2"),
        ("join(\",\", flatten([[1, [2]], [3]]))", "1,2,3"),
        ("join(\",\", compact([\"a\", \"\", null]))", "a"),
        ("join(\",\", distinct([1, 2, 1]))", "1,2"),
        ("join(\",\", range(3, 0))", "3,2,1"),
        ("length([1, 3, 2])", "3"),
        ("coalesce(null, \"\", \"a\")", "a"),
    ]);
}

/// As in a template, only the unknown pieces of a joined text are unknown.
#[test]
fn join_and_compact_keep_the_known_pieces_of_texts() {
    for (expression, is_known) in [
        (
            "startswith(join(\"-\", [\"a\", run_cmd(\"x\")]), \"a\")",
            false,
        ),
        ("length(compact([\"a${run_cmd(\"x\")}\", \"\"]))", true),
        ("length(compact([run_cmd(\"x\"), \"\"]))", false),
        ("length(compact([\"${run_cmd(\"x\")}\", \"\"]))", false),
        ("join(\"-\", [\"a\", [\"b\"]])", false),
        ("join(\"-\", run_cmd(\"x\"))", false),
    ] {
        assert_eq!(evaluate(expression).is_ok(), is_known, "{expression}");
    }
    assert_all(&[
        ("join(\",\", [])", ""),
        ("join(\"\", [\"a\", \"\", \"b\"])", "ab"),
        ("join(\",\", [\"\", \"\"])", ","),
    ]);
}

#[test]
fn conversions_and_encodings() {
    assert_all(&[
        ("tonumber(\"5\")", "5"),
        ("tobool(\"true\")", "true"),
        ("tolist([\"a\"])[0]", "a"),
        ("tomap({ a = 1 }).a", "1"),
        (
            "jsonencode({ b = [1, null, true], a = \"<\" })",
            "{\"a\":\"\\u003c\",\"b\":[1,null,true]}",
        ),
        ("jsondecode(\"{\\\"a\\\": [1]}\").a[0]", "1"),
    ]);
}

/// Maps and objects, lists and tuples are not distinguished: a result that depends on it is
/// unknown.
#[test]
fn conversions_to_a_common_type_are_not_computed() {
    for expression in [
        "lookup({ a = 1 }, \"b\", \"none\")",
        "lookup({ a = 1 }, \"a\", \"none\")",
        "lookup({}, \"a\", \"none\")",
        "lookup({ a = run_cmd(\"x\") }, \"b\", \"none\")",
        "concat([1], [\"a\"])[0]",
        "concat([1], [])[0]",
        "coalesce(1, \"a\")",
        "distinct([1, \"1\"])[0]",
        "tolist([1, \"1\"])[0]",
        "tomap({ a = 1, b = \"1\" }).a",
        "tostring(null)",
    ] {
        assert!(evaluate(expression).is_err(), "{expression}");
    }
}

#[test]
fn yaml_that_every_version_reads_the_same_way() {
    let decode = |yaml: &str| format!("jsonencode(yamldecode({}))", serde_json::Value::from(yaml));
    for (yaml, json) in [
        ("a: 1\nb: [x, \"2\", 'y']\n", r#"{"a":1,"b":["x","2","y"]}"#),
        (
            "# why\n---\n- true\n- ~\n- null\n- -3\n-\n",
            "[true,null,null,-3,null]",
        ),
        (
            "a:\n  b: |\n    x\n    y\n  c: >-\n    x\n    y\n",
            r#"{"a":{"b":"x\ny\n","c":"x y"}}"#,
        ),
        (
            "version: 1.2.3\nref: v4\npath: ../modules\n",
            r#"{"path":"../modules","ref":"v4","version":"1.2.3"}"#,
        ),
    ] {
        assert_eq!(evaluate(&decode(yaml)).as_deref(), Ok(json), "{yaml}");
    }
    for yaml in [
        "a: yes",
        "a: No",
        "a: NULL",
        "a: 012",
        "a: 0x1",
        "a: 1_0",
        "a: 1:30",
        "a: 2001-01-01",
        "a: 1.5",
        "a: .inf",
        "a: 1e3",
        "a: +1",
        "1: a",
        "true: a",
        "a: &b c",
        "a: &b c\nd: *b",
        "a: !!str 1",
        "<<: {a: b}",
        "a: 1\na: 2",
        "a: 1\n---\nb: 2",
        "",
        "# a",
        "a: [",
        "a: \"",
        "a: {b: c",
        "- a\nb: c",
        "a: 9007199254740992",
    ] {
        let reason = evaluate(&decode(yaml)).unwrap_err();
        assert!(reason.contains("this YAML is not read"), "{yaml}: {reason}");
    }
    for yaml in ["[", "- ", "a: b\n", "&a ", "{a: ", "? "].map(|part| part.repeat(20_000)) {
        assert!(evaluate(&decode(&yaml)).is_err(), "{}", &yaml[..10]);
    }
}

#[test]
fn others_are_not_evaluated() {
    for call in [
        "timestamp()",
        "toset([\"a\"])",
        "regex(\"a\", \"a\")",
        "replace(\"a\", \"/a/\", \"b\")",
        "format(\"%02d\", 1)",
        "sops_decrypt_file(\"a\")",
        "get_aws_account_id()",
        "p::f()",
    ] {
        assert!(evaluate(call).unwrap_err().contains("evaluated"), "{call}");
    }
}
