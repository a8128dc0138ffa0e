//! Declarations in JSON.

use super::{assert_providers, errors};

#[test]
fn json_means_the_same_in_every_shape_that_hcl_allows() {
    for text in [
        r#"{"terraform": {"required_providers": {"a": {"source": "x/a", "version": "> 1"}}},
            "provider": {"b": {"version": "< 2"}},
            "resource": {"c_d": {"e": {"provider": "f.g"}}}}"#,
        r#"{"//": "c",
            "terraform": [{"//": 1, "required_providers": [{"a": {"source": "x/a", "version": "> 1"}}]}],
            "provider": [{"b": [{"version": "< 2"}]}],
            "resource": [{"c_d": [{"e": [{"provider": "f.g"}]}]}]}"#,
        r#"[{"terraform": [{"required_providers": {"a": {"source": "x/a", "version": "> 1"}}}, {"x": 1}]},
            {"provider": {"b": {"version": "< 2"}},
             "resource": {"//": {}, "c_d": {"e": {"provider": "f"}}},
             "variable": null}]"#,
    ] {
        assert_providers(
            &[("m.tf.json", text)],
            &[
                ("hashicorp/b", "< 2.0.0"),
                ("hashicorp/f", ""),
                ("x/a", "> 1.0.0"),
            ],
        );
    }
    assert_providers(
        &[(
            "m.tf.json",
            "\u{feff}{\"check\": {\"c\": {\"data\": {\"a_b\": {\"c\": {}}}}},\r\n\
             \"import\": [{\"to\": \"d_e.f\", \"id\": \"1\"}],\n\
             \"terraform\": {\"required_providers\": {\"g\": \"> 1\", \"h\": 2}}}",
        )],
        &[
            ("hashicorp/a", ""),
            ("hashicorp/d", ""),
            ("hashicorp/g", "> 1.0.0"),
            ("hashicorp/h", "2.0.0"),
        ],
    );
}

#[test]
fn json_errors_have_their_location() {
    for (text, wanted) in [
        (
            "{\n  \"terraform\": {\"required_providers\": {\"a\": {\"source\": \"x\", \"version\": true}}}}",
            "m.tf.json:2:72",
        ),
        (
            "{\"terraform\": {\"required_providers\": {\"a\": {\"source\": \"${x}\"}}}}",
            "\"${x}\"",
        ),
        (
            "{\"terraform\": {\"required_providers\": {\"a\": []}}}",
            "a string is expected here, not a list",
        ),
        ("{\"a\": \"\n\"}", "m.tf.json:1:7"),
        ("{\"a\": 01}", "m.tf.json:1:8"),
        ("{\n\"a\" 1}", "expected `:` [m.tf.json:2:5"),
        ("{\"a\": 1,}", "m.tf.json:1:9"),
        ("{a: 1}", "key must be a string [m.tf.json:1:2"),
        ("{\"a\": tru}", "m.tf.json:1:10"),
        ("{\"a\": [1 2]}", "expected `,` or `]` [m.tf.json:1:10"),
        ("{\"a\": \"b", "EOF while parsing a string [m.tf.json:1:8"),
        ("{} {}", "trailing characters [m.tf.json:1:4"),
        ("", "EOF while parsing a value [m.tf.json:1:1"),
        ("1", "an object is expected here, not a number"),
    ] {
        let errors = errors(&[("m.tf.json", text)]);
        assert!(
            errors.len() == 1 && errors[0].contains(wanted),
            "{text}: {errors:?}"
        );
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_providers(&[("m.tf.json", &deep)], &[]);
    let provider = format!(
        "{{\"terraform\": {{\"required_providers\": {{\"a\": {{\"version\": {deep}}}}}}}}}"
    );
    assert!(errors(&[("m.tf.json", &provider)])[0].contains("too deeply nested"));
    let many = format!("{{\"a\": [{}1]}}", "1,".repeat(1_000_000));
    assert!(errors(&[("m.tf.json", &many)])[0].contains("too many values"));
}
