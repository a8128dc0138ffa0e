//! Pages of HTML for people: `verify --format html` and `tree --recursive --format html`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use provlock_test::{Registry, TestEnvironment, survived};
use quick_xml::Reader;
use quick_xml::events::Event;
use sha2::{Digest as _, Sha256};

use super::lock::requires;
use super::verify::{H1, entry};

/// A lock file that names these versions of providers.
fn locks(providers: &[(&str, &str)]) -> String {
    providers
        .iter()
        .map(|(name, version)| entry(name, version, "", &[H1]))
        .collect()
}

fn root(environment: &TestEnvironment, path: &str, constraint: &str, version: &str) {
    environment.write(
        format!("{path}/main.tf"),
        requires("hashicorp/null", constraint),
    );
    environment.write(
        format!("{path}/.terraform.lock.hcl"),
        locks(&[("hashicorp/null", version)]),
    );
}

/// Fails unless a page is well-formed, closes every element that it opens, and can request nothing.
/// Returns its elements and their attributes.
#[track_caller]
fn elements(page: &str) -> BTreeSet<String> {
    let mut reader = Reader::from_str(page);
    reader.config_mut().check_end_names = true;
    let (mut found, mut depth) = (BTreeSet::new(), 0);
    loop {
        let event = reader.read_event().unwrap();
        if let Event::Start(element) | Event::Empty(element) = &event {
            let attributes = element
                .attributes()
                .map(|attribute| attribute.unwrap().key.as_ref().to_owned());
            let names = std::iter::once(element.name().as_ref().to_owned()).chain(attributes);
            found.extend(names);
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    let known = "article b body br charset class code content details div h1 h2 h3 head html http-equiv id lang li max \
        meta meter name p script span style summary table td th title tr ul value";
    let known: BTreeSet<_> = known.split_whitespace().map(str::to_owned).collect();
    assert!(found.is_subset(&known), "{:?}", found.difference(&known));
    for of_network in ["url(", "@import", "fetch", "XMLHttp", "http://"] {
        assert!(!page.contains(of_network), "{of_network}");
    }
    found
}

/// Returns the text between two texts.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    page.split_once(start)
        .and_then(|(_, rest)| rest.split_once(end))
        .unwrap()
        .0
}

#[test]
fn a_page_has_the_findings_by_cause_and_the_versions() {
    let environment = TestEnvironment::new();
    for path in ["live/a", "live/b", "live/c", "live/d", "live/e"] {
        root(&environment, path, "~> 4.0", "3.2.4");
    }
    root(&environment, "live/f", "~> 4.0", "4.0.0");
    let arguments = [
        "verify",
        "-r",
        "--format",
        "html",
        "--report",
        "html=report.html",
    ];
    let page = environment
        .provlock(arguments)
        .assert_code(1)
        .stdout
        .clone();
    elements(&page);
    // A page has the time of its run.
    assert_eq!(environment.read("report.html"), page);
    for text in [
        "<h2>Findings</h2>",
        "<h2>Locked versions</h2>",
        "<h3>hashicorp/null is locked at 3.2.4, but the configuration requires ~&gt; 4.0, in 5 root modules</h3>",
        "<p><span>error</span> version-outside-constraints</p>",
        "<p><code>live/a/.terraform.lock.hcl:2</code> </p>",
        "<p><b>help:</b> provlock upgrade live/a live/b live/c live/d live/e hashicorp/null</p>",
        "<summary>5 root modules</summary>live/a<br/>live/b<br/>live/c<br/>live/d<br/>live/e</details>",
        "<p>6 root modules: 5 with errors, 1 with warnings</p>",
        "<tr class=\"first\"><td>hashicorp/null</td><td>4.0.0</td><td><meter max=\"5\" value=\"1\"></meter>",
        "<details><summary>1 root module</summary>live/f</details>",
        "<tr class=\"other\"><td>hashicorp/null</td><td>3.2.4</td><td><meter max=\"5\" value=\"5\"></meter>",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
    assert!(!page.contains("lists them"), "{page}");
}

#[test]
fn only_its_own_style_and_script_may_run() {
    let environment = TestEnvironment::new();
    root(&environment, ".", "", "3.2.4");
    let page = environment.provlock(["verify", "--format", "html"]).stdout;
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    let hash = |element: &str| {
        let text = between(&page, &format!("<{element}>"), &format!("</{element}>"));
        format!(
            "{element}-src 'sha256-{}'",
            BASE64_STANDARD.encode(Sha256::digest(text))
        )
    };
    let own = format!(
        "default-src 'none'; {}; {}; base-uri 'none'; form-action 'none'",
        hash("style"),
        hash("script")
    );
    assert_eq!(policy, own);
}

#[test]
fn a_page_shows_failures_and_that_all_is_well() {
    let environment = TestEnvironment::new();
    environment.write("a/main.tf", "terraform {");
    environment.write("a/.terraform.lock.hcl", "");
    let failed = environment.provlock(["verify", "-r", "--format", "html"]);
    failed
        .assert_code(2)
        .assert_stdout_has("<h3>the &quot;{&quot; after terraform is never closed</h3>");
    environment.write("a/main.tf", "");
    let well = environment.provlock(["verify", "-r", "--format", "html"]);
    well.assert_code(0)
        .assert_stdout_has("<p>Nothing was found.</p>")
        .assert_stdout_has("<p>1 root module: OK</p>");
}

/// Names of files and directories that would be markup in a page.
#[cfg(target_os = "linux")]
#[test]
fn no_name_is_markup() {
    let names = [
        "<img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)",
        "' autofocus onfocus='alert(1)",
        "<script>alert(1)<\\script>",
        "<!-- -->]]><style>",
        "&lt;b&gt;&#x3c;script&#x3e;",
        "\u{202e}<svg onload=alert(1)>\r\n",
    ];
    let environment = TestEnvironment::new();
    for name in names {
        root(&environment, &format!("{name}/root"), "~> 4.0", "3.2.4");
    }
    let verified = environment.provlock(["verify", "-r", "--format", "html"]);
    let tree = environment.provlock(["tree", "-r", "--format", "html"]);
    for page in [verified.stdout, tree.stdout] {
        elements(&page);
        assert!(!page.contains(['\u{202e}', '\r']));
        assert!(
            page.contains("&lt;img src=x onerror=alert(1)&gt;/root"),
            "{page}"
        );
        assert!(page.contains("&amp;lt;b&amp;gt;&amp;#x3c;script"), "{page}");
    }
    survived(
        "names of directories that are markup in a page of HTML",
        2 * names.len(),
    );
}

/// Names of directories that leave a code span in some readers of Markdown: `cmark` finds no end of
/// a span of more than 80 backticks, and a backslash may escape the one before a bar of a table.
#[cfg(target_os = "linux")]
#[test]
fn no_name_is_markup_in_markdown() {
    let names = [
        "<img src=x>",
        "`<img src=x>",
        "``<img src=x>`",
        "a|<img src=x>",
        "a\\|<img src=x>",
        "a\\\\|<img src=x>",
    ];
    let names = names
        .into_iter()
        .map(str::to_owned)
        .chain([format!("{}<img src=x>", "`".repeat(90))]);
    let names: Vec<_> = names.collect();
    let (registry, environment) = Registry::with_project();
    let null = ["3.1.0", "3.2.4"].map(|version| registry.publish("hashicorp/null", version).done());
    for name in &names {
        environment.write(
            format!("{name}/main.tf"),
            requires("hashicorp/null", "~> 3.0"),
        );
        environment.write(
            format!("{name}/.terraform.lock.hcl"),
            null[0].lock_file("~> 3.0", &["linux_amd64"]),
        );
    }
    environment.git(environment.project(), ["init", "--quiet"]);
    environment.commit_all(environment.project());
    let documents = names.iter().map(|name| {
        let upgrade = ["upgrade", "-p", "linux_amd64", name, "--format", "markdown"];
        let upgraded = environment.provlock(upgrade).assert_code(0).stdout.clone();
        // Two root modules, so that their names are cells.
        let held = environment
            .provlock(["upgrade", "--dry-run", "-r", "--format", "markdown"])
            .stdout;
        (
            name,
            [
                upgraded,
                held,
                environment
                    .provlock(["diff", "-r", "--format", "markdown"])
                    .stdout,
            ],
        )
    });
    let mut number = 0;
    for (name, documents) in documents {
        for document in documents {
            let outside: String = document
                .lines()
                .flat_map(cells)
                .map(outside_of_code)
                .collect();
            assert!(
                !document.is_empty() && !outside.contains("<img"),
                "{name}: {document}"
            );
            number += 1;
        }
    }
    survived("names of files that are markup in Markdown", number);
}

/// The cells of a row of a table, by the reading that splits most: after two backslashes a bar is
/// not escaped.
fn cells(line: &str) -> Vec<&str> {
    let is_split = |at: &usize| {
        let before = &line[..*at];
        (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2)
    };
    let mut ends: Vec<_> = line
        .match_indices('|')
        .map(|(at, _)| at)
        .filter(is_split)
        .collect();
    ends.push(line.len());
    let starts = std::iter::once(0).chain(ends.iter().map(|end| end + 1));
    starts
        .zip(ends.clone())
        .map(|(start, end)| &line[start..end])
        .collect()
}

/// The text that is not in a code span, by a reader that knows no span of more than 80 backticks.
fn outside_of_code(cell: &str) -> String {
    let (mut outside, mut rest) = (String::new(), cell);
    while let Some(start) = rest.find('`') {
        outside += &rest[..start];
        let after = rest[start..].trim_start_matches('`');
        let fence = &rest[start..rest.len() - after.len()];
        let mut closings = after.match_indices(fence).map(|(at, _)| at);
        let is_end = |at: &usize| {
            !after[..*at].ends_with('`') && !after[at + fence.len()..].starts_with('`')
        };
        rest = match closings.find(is_end) {
            Some(end) if fence.len() <= 80 => &after[end + fence.len()..],
            _ => after,
        };
    }
    outside + rest
}

#[test]
fn a_page_of_many_root_modules_is_small() {
    let environment = TestEnvironment::new();
    let providers: Vec<_> = (0..10)
        .map(|number| format!("hashicorp/provider{number}"))
        .collect();
    let versions = ["1.0.0", "1.1.0", "2.0.0"];
    let lock_files = versions.map(|version| {
        locks(
            &providers
                .iter()
                .map(|name| (&**name, version))
                .collect::<Vec<_>>(),
        )
    });
    for number in 0..300 {
        let path = format!(
            "infrastructure/production/region-{}/component-{number}",
            number % 20
        );
        environment.write(
            format!("{path}/main.tf"),
            requires("hashicorp/provider0", "~> 3.0"),
        );
        environment.write(
            format!("{path}/.terraform.lock.hcl"),
            &lock_files[number % 3],
        );
    }
    let output = environment.provlock([
        "verify",
        "-r",
        "--report",
        "html=report.html",
        "--format",
        "json",
    ]);
    output.assert_code(1);
    let page = environment.read("report.html");
    elements(&page);
    assert!(page.contains("component-299") && page.contains("in 100 root modules"));
    assert!(page.len() < 640 << 10, "{}", page.len());
}

#[test]
fn a_tree_of_many_root_modules_is_a_page_too() {
    let environment = TestEnvironment::new();
    root(&environment, "a", "", "3.2.4");
    root(&environment, "b", "", "3.2.3");
    let page = environment
        .provlock(["tree", "-r", "--format", "html"])
        .stdout;
    elements(&page);
    assert!(
        page.contains("<title>provlock tree</title>") && page.contains("<td>3.2.3</td>"),
        "{page}"
    );
    let named = environment
        .provlock(["tree", "-r", "hashicorp/null", "--format", "html"])
        .stdout;
    assert!(
        named.contains("<td>3.2.4</td>") && named.contains("<td>3.2.3</td>"),
        "{named}"
    );
    let one = environment.provlock(["tree", "a", "--format", "html"]);
    one.assert_code(2).assert_stderr_has("add --recursive");
}
