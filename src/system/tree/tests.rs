use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::*;

/// The files of a revision by their paths.
type Files = BTreeMap<&'static str, Content>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(u8),
    Link(&'static str),
}

/// Every path is a file in some revision and a directory in another.
const PATHS: [&str; 10] = [
    "a", "a/b", "a/b/c", "a/d", "e", "e/f", "e/f/g", "h", "h/i", "j",
];

/// Paths that are looked up, some through links.
const LOOKED_UP: [&str; 16] = [
    "", "a", "a/b", "a/b/c", "a/d", "a/../a/b", "e", "e/f", "e/f/g", "e/../h", "h", "h/i", "j",
    "j/b", "j/f/g", "absent",
];

fn content() -> impl Strategy<Value = Content> {
    let target = prop_oneof![
        Just("a"),
        Just("../a"),
        Just("e/f"),
        Just("b"),
        Just("nowhere")
    ];
    prop_oneof![
        3 => (0u8..3).prop_map(Content::Text),
        1 => target.prop_map(Content::Link),
    ]
}

/// A revision in which no file is in a file.
fn revision() -> impl Strategy<Value = Files> {
    let contents = prop::collection::vec(prop::option::of(content()), PATHS.len());
    contents.prop_map(|contents| {
        let mut files = Files::new();
        for (path, content) in PATHS.into_iter().zip(contents) {
            let is_in_file = Path::new(path)
                .ancestors()
                .skip(1)
                .any(|above| files.contains_key(above.to_str().unwrap()));
            if let Some(content) = content
                && !is_in_file
            {
                files.insert(path, content);
            }
        }
        files
    })
}

fn write(files: &Files, top: &Path) {
    for (path, content) in files {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match content {
            Content::Text(text) => fs::write(path, [*text]).unwrap(),
            Content::Link(target) => symlink(target, path).unwrap(),
        }
    }
}

/// The tree of `base` over the files of `work`, which are in `top`.
fn overlay(top: &Path, work: &Files, base: &Files) -> Tree {
    let mut replaced = BTreeMap::new();
    for path in PATHS {
        let at_base = match base.get(path) {
            content if content == work.get(path) => continue,
            None => Replaced::Absent,
            Some(Content::Text(text)) => Replaced::File(text.to_string()),
            Some(Content::Link(target)) => Replaced::Link(target.into()),
        };
        replaced.insert(top.join(path), at_base);
    }
    let read: Box<ReadBlob> = Box::new(|name, _| Ok(vec![name.parse().unwrap()]));
    Tree::Revision(Arc::new(Overlay::new(top.to_owned(), replaced, read)))
}

fn sorted(entries: io::Result<Vec<Entry>>) -> Option<Vec<(String, Kind)>> {
    let mut sorted = Vec::new();
    for entry in entries.ok()? {
        sorted.push((entry.text().into_owned(), entry.kind));
    }
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    Some(sorted)
}

proptest! {
    #[test]
    fn a_revision_over_the_work_tree_is_read_like_one_on_disk(
        work in revision(),
        base in revision(),
    ) {
        let on_disk = tempfile::tempdir().unwrap();
        let overlaid = tempfile::tempdir().unwrap();
        let on_disk_top = files::canonicalize(on_disk.path()).unwrap();
        let top = files::canonicalize(overlaid.path()).unwrap();
        // Git's own directory is in no revision, so that the top is never empty.
        fs::write(on_disk_top.join(".git"), "").unwrap();
        fs::write(top.join(".git"), "").unwrap();
        write(&base, &on_disk_top);
        write(&work, &top);
        let tree = overlay(&top, &work, &base);
        for path in LOOKED_UP {
            let (expected, path) = (on_disk_top.join(path), top.join(path));
            let shown = path.display();
            prop_assert_eq!(tree.kind(&path), Tree::Work.kind(&expected), "{}", shown);
            let kind = Tree::Work.own_kind(&expected);
            prop_assert_eq!(tree.own_kind(&path), kind, "{}", shown);
            let text = Tree::Work.read(&expected, 1 << 20).ok();
            prop_assert_eq!(tree.read(&path, 1 << 20).ok(), text, "{}", shown);
            let entries = sorted(Tree::Work.entries(&expected));
            prop_assert_eq!(sorted(tree.entries(&path)), entries, "{}", shown);
            let target = Tree::Work.read_link(&expected).ok();
            prop_assert_eq!(tree.read_link(&path).ok(), target, "{}", shown);
            let below = |path: io::Result<PathBuf>, top: &Path| {
                path.ok().map(|path| path.strip_prefix(top).unwrap().to_owned())
            };
            prop_assert_eq!(
                below(tree.canonicalize(&path), &top),
                below(Tree::Work.canonicalize(&expected), &on_disk_top),
                "{}", shown
            );
            prop_assert_eq!(tree.is_missing(&path), Tree::Work.is_missing(&expected));
        }
    }
}

#[test]
fn a_revision_without_a_work_tree_has_nothing_of_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let top = files::canonicalize(directory.path()).unwrap();
    fs::write(top.join("only_on_disk"), "").unwrap();
    let outside = std::env::temp_dir();
    let replaced = [
        (top.join("a/b"), Replaced::File("1".to_owned())),
        (top.join("inside"), Replaced::Link("a/../a/b".into())),
        (top.join("outside"), Replaced::Link(outside.clone())),
    ];
    let read: Box<ReadBlob> = Box::new(|name, _| Ok(vec![name.parse().unwrap()]));
    let overlay = Overlay::new(top.clone(), replaced.into(), read).alone();
    let tree = Tree::Revision(Arc::new(overlay));
    assert_eq!(tree.read(Path::new("inside"), 1 << 20).unwrap(), [1]);
    assert_eq!(tree.canonicalize("inside").unwrap(), top.join("a/b"));
    for path in [&top.join("only_on_disk"), &top.join("outside"), &outside] {
        assert!(tree.kind(path) != Some(Kind::File), "{}", path.display());
    }
    assert!(!tree.exists(&top.join("outside/x")));
    assert_eq!(sorted(tree.entries(&top)).unwrap().len(), 3);
}

#[test]
fn files_that_git_does_not_track_are_the_same_in_every_revision() {
    let directory = tempfile::tempdir().unwrap();
    let top = files::canonicalize(directory.path()).unwrap();
    for path in [
        "new/main.tf",
        "new/.terraform/modules.json",
        "added/main.tf",
    ] {
        fs::create_dir_all(top.join(path).parent().unwrap()).unwrap();
        fs::write(top.join(path), "").unwrap();
    }
    let replaced = ["new/main.tf", "added/main.tf"]
        .map(|path| (top.join(path), Replaced::Absent))
        .into();
    let read: Box<ReadBlob> = Box::new(|_, _| Ok(Vec::new()));
    let tree = Tree::Revision(Arc::new(Overlay::new(top.clone(), replaced, read)));
    assert!(tree.is_file(Path::new("new/.terraform/modules.json")));
    assert_eq!(sorted(tree.entries(&top.join("new"))).unwrap().len(), 1);
    assert!(
        !tree.exists(&top.join("added")),
        "it came with its first file"
    );
    assert_eq!(sorted(tree.entries(&top)).unwrap().len(), 1);
}
