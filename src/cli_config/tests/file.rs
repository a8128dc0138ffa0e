use super::*;

const OTHERS: &str = r#"{
  "x": 1.50,
  "credentials": {
    "other.test": {"token": "o", "n": 12345678901234567890123}
  }
}"#;

fn store(home: &Home, name: &str, token: &str) -> PathBuf {
    match home
        .credentials()
        .store(&host(name), &Token::new(token).unwrap())
        .unwrap()
    {
        CredentialsOrigin::Block(path) => path,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_is_stored_found_and_forgotten() {
    let home = Home::new();
    let path = store(&home, "bücher.test:8443", "t\"1");
    assert_eq!(path.file_name().unwrap(), "credentials.tfrc.json");
    let expected = "{\n  \"credentials\": {\n    \"bücher.test:8443\": {\n      \"token\": \"t\\\"1\"\n    }\n  }\n}\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(
        token_of(&home.credentials(), "bücher.test:8443").as_deref(),
        Some("t\"1")
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    store(&home, "a.test", "t2");
    store(&home, "bücher.test:8443", "t3");
    assert_eq!(
        token_of(&home.credentials(), "a.test").as_deref(),
        Some("t2")
    );
    assert_eq!(
        token_of(&home.credentials(), "bücher.test:8443").as_deref(),
        Some("t3")
    );
    home.credentials().forget(&host("a.test")).unwrap();
    home.credentials().forget(&host("a.test")).unwrap();
    assert_eq!(token_of(&home.credentials(), "a.test"), None);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        expected.replace("t\\\"1", "t3")
    );
}

#[cfg(unix)]
#[test]
fn logins_at_the_same_time_lose_no_token() {
    let home = Home::new();
    let credentials = home.credentials();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let credentials = &credentials;
            let host = host(&format!("h{number}.test"));
            scope.spawn(move || credentials.store(&host, &Token::new("t").unwrap()).unwrap());
        }
    });
    let stored = home.credentials();
    let lost: Vec<_> = (0..16)
        .filter(|number| token_of(&stored, &format!("h{number}.test")).is_none())
        .collect();
    assert_eq!(lost, [0; 0]);
}

#[test]
fn other_content_stays_byte_for_byte() {
    let home = Home::new();
    let relative = if cfg!(windows) {
        "terraform.d"
    } else {
        ".terraform.d"
    };
    let path = home.write(&format!("{relative}/credentials.tfrc.json"), OTHERS);
    store(&home, "a.test", "t");
    let text = fs::read_to_string(&path).unwrap();
    let both = "\"a.test\": {\n      \"token\": \"t\"\n    },\n    \"other.test\"";
    assert_eq!(text, OTHERS.replace("\"other.test\"", both));
    home.credentials().forget(&host("a.test")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), OTHERS);
    store(&home, "other.test", "new");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        OTHERS.replace("\"o\"", "\"new\"")
    );
    home.credentials().forget(&host("other.test")).unwrap();
    assert_eq!(home.load().credentials.len(), 0);
    assert!(fs::read_to_string(&path).unwrap().contains("\"x\": 1.50"));
}

#[test]
fn entries_of_any_spelling_and_shape_are_replaced() {
    let home = Home::new();
    let relative = if cfg!(windows) {
        "terraform.d"
    } else {
        ".terraform.d"
    };
    let path = home.write(
        &format!("{relative}/credentials.tfrc.json"),
        r#"{"credentials": {"A.test": {"scope": "s"}, "a.TEST": {"token": "old"}, "z.test": {}}}"#,
    );
    store(&home, "a.test", "new");
    assert_eq!(
        token_of(&home.credentials(), "a.test").as_deref(),
        Some("new")
    );
    home.credentials().forget(&host("a.test")).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        r#"{"credentials": {"z.test": {}}}"#
    );
    store(&home, "z.test", "z");
    assert_eq!(
        token_of(&home.credentials(), "z.test").as_deref(),
        Some("z")
    );
}

#[test]
fn a_file_of_a_different_form_is_not_changed() {
    let relative = if cfg!(windows) {
        "terraform.d"
    } else {
        ".terraform.d"
    };
    for text in [
        "{\"credentials\": 3}",
        "{\"credentials\": {\"a\": {}},}",
        "[]",
        "{",
    ] {
        let home = Home::new();
        let path = home.write(&format!("{relative}/credentials.tfrc.json"), text);
        let credentials = Credentials::new(&home.environment, &CliConfig::default(), Dialect::Tofu);
        let error = credentials
            .store(&host("a.test"), &Token::new("s3cr3t").unwrap())
            .unwrap_err();
        assert!(error[0].message.contains("must be a JSON object"), "{text}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_token_is_not_stored_where_it_would_not_be_used() {
    let mut home = Home::new();
    let main = if cfg!(windows) { "tofu.rc" } else { ".tofurc" };
    home.write(main, &block("a.test", "main"));
    let error = home
        .credentials()
        .store(&host("a.test"), &Token::new("t").unwrap())
        .unwrap_err();
    assert!(error[0].message.contains(main), "{error}");
    assert!(home.credentials().forget(&host("a.test")).is_err());
    let rc = home.write("rc", "");
    home.set("TF_CLI_CONFIG_FILE", rc.to_str().unwrap());
    let error = home
        .credentials()
        .store(&host("b.test"), &Token::new("t").unwrap())
        .unwrap_err();
    assert!(
        error[0]
            .message
            .contains("not read while TF_CLI_CONFIG_FILE is set")
    );
}
