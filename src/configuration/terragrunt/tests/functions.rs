//! Functions of OpenTofu's language.

use super::evaluate;

#[track_caller]
fn assert_all(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(evaluate(expression).as_deref(), Ok(*expected), "{expression}");
    }
}

#[test]
fn strings() {
    assert_all(&[
        ("lower(\"AbC\")", "abc"),
        ("title(\"hello wORLD\")", "Hello WORLD"),
        ("trimspace(\" a\\n\")", "a"),
        ("trim(\"?a?\", \"?\")", "a"),
        ("trimprefix(\"v1\", \"v\")", "1"),
        ("trimsuffix(\"a.tf\", \".tf\")", "a"),
        ("startswith(\"abc\", \"ab\")", "true"),
        ("join(\"-\", split(\"/\", \"a/b/c\"))", "a-b-c"),
        ("length(split(\",\", \"\"))", "1"),
        ("substr(\"abcdef\", -3, 2)", "de"),
        ("format(\"%s-%d-%%-%q\", \"a\", 3, \"b\")", "a-3-%-\"b\""),
        ("indent(2, \"a\\nb\")", "a\n  b"),
        ("basename(\"/a/b.hcl\")", "b.hcl"),
        ("dirname(\"/a/b.hcl\")", "/a"),
        ("dirname(\"b\")", "."),
        ("tostring(1.5)", "1.5"),
    ]);
}

#[test]
fn collections() {
    assert_all(&[
        ("join(\",\", keys({ b = 1, a = 2 }))", "a,b"),
        ("join(\",\", values({ b = 1, a = 2 }))", "2,1"),
        ("lookup({ a = 1 }, \"b\", \"none\")", "none"),
        ("merge({ a = 1 }, null, { a = 2 }).a", "2"),
        ("element([\"a\", \"b\"], 3)", "b"),
        ("contains([1, 2], 2)", "true"),
        ("index([\"a\", \"b\"], \"b\")", "1"),
        ("join(\",\", concat([1], [2]))", "1,2"),
        ("join(\",\", flatten([[1, [2]], [3]]))", "1,2,3"),
        ("join(\",\", compact([\"a\", \"\", null]))", "a"),
        ("join(\",\", distinct([1, 2, 1]))", "1,2"),
        ("join(\",\", sort([\"b\", \"a\"]))", "a,b"),
        ("join(\",\", toset([\"b\", \"a\", \"b\"]))", "a,b"),
        ("join(\",\", slice([1, 2, 3], 1, 3))", "2,3"),
        ("join(\",\", range(3, 0))", "3,2,1"),
        ("zipmap([\"a\"], [1]).a", "1"),
        ("coalesce(null, \"\", \"a\")", "a"),
        ("one([\"a\"])", "a"),
        ("length(chunklist([1, 2, 3], 2))", "2"),
        ("max([1, 3, 2]...)", "3"),
    ]);
}

#[test]
fn numbers_and_encodings() {
    assert_all(&[
        ("ceil(1.2) + floor(1.8)", "3"),
        ("parseint(\"ff\", 16)", "255"),
        ("tonumber(\"5\") + 1", "6"),
        ("sum([1, 2])", "3"),
        ("alltrue([true, \"true\"])", "true"),
        ("jsonencode({ b = [1, 1.5, null, true], a = \"<\" })", "{\"a\":\"\\u003c\",\"b\":[1,1.5,null,true]}"),
        ("jsondecode(\"{\\\"a\\\": [1]}\").a[0]", "1"),
        ("base64decode(base64encode(\"a\"))", "a"),
    ]);
}

#[test]
fn regular_expressions() {
    assert_all(&[
        ("regex(\"[a-z]+\", \"12abc\")", "abc"),
        ("regex(\"(.)/(.)\", \"a/b\")[1]", "b"),
        ("regex(\"(?P<env>[^/]+)/(?P<region>.+)\", \"prod/eu\").region", "eu"),
        ("join(\",\", regexall(\"[0-9]\", \"1a2\"))", "1,2"),
        ("replace(\"a.b.c\", \".\", \"-\")", "a-b-c"),
        ("replace(\"a1b22\", \"/([0-9]+)/\", \"<$1>\")", "a<1>b<22>"),
        ("try(regex(\"x\", \"a\"), \"no\")", "no"),
    ]);
}

#[test]
fn others_are_not_evaluated() {
    for call in ["timestamp()", "yamldecode(\"a: 1\")", "sops_decrypt_file(\"a\")", "get_aws_account_id()", "p::f()"] {
        assert!(evaluate(call).unwrap_err().contains("evaluated"), "{call}");
    }
}
