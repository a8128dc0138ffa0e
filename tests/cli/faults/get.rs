//! Installing modules while faults occur: each directory is old or new, the list matches the
//! directories, and the next run leaves only locked modules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use provlock_test::archive::{self, Packing};
use provlock_test::{Output, Registry, TestEnvironment, survived};
use serde_json::Value;

use crate::modules::publish;

/// Number of runs that are killed.
const KILLS: usize = 36;
/// Number of calls of an archive, beside one of a git repository.
const CALLS: usize = 6;
/// Number of times that runs are started at the same time.
const ROUNDS: usize = 4;

/// A directory's files, by their paths.
type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// Time at which a run is killed, unless it is over before.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// So many requests were answered.
    Answered(usize),
    /// So many packages were copied, or are being copied.
    Copying(usize),
    /// The list of installed modules is not the old one.
    Listing,
    /// So many directories are the new ones.
    Swapped(usize),
    /// The list is the new one.
    Listed,
}

/// A project whose installed modules belong to an older configuration.
struct Project {
    registry: Registry,
    environment: TestEnvironment,
    /// Modules that are installed at first, and after `get`.
    old: Tree,
    new: Tree,
}

/// The configuration with one of two states of each module.
fn configuration(environment: &TestEnvironment, version: usize) -> String {
    let call =
        |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    let archive = format!("https://registry.opentofu.org/site-{version}.zip");
    let calls = (0..CALLS).map(|number| call(&format!("m{number}"), &archive));
    let repository = environment.root().join("modules.git");
    let git = format!("git::file://{}?ref=v{version}.0.0", repository.display());
    calls.chain([call("net", &git)]).collect()
}

fn tree(directory: &Path) -> Tree {
    let (mut found, mut left) = (Tree::new(), vec![directory.to_owned()]);
    while let Some(path) = left.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            left.extend(entries.map(|entry| entry.unwrap().path()));
        } else if let Ok(content) = fs::read(&path) {
            found.insert(path.strip_prefix(directory).unwrap().to_owned(), content);
        }
    }
    found
}

/// The files below one directory of a tree.
fn below(tree: &Tree, directory: &str) -> Tree {
    let below = |(path, content): (&PathBuf, &Vec<u8>)| {
        Some((path.strip_prefix(directory).ok()?.into(), content.clone()))
    };
    tree.iter().filter_map(below).collect()
}

impl Project {
    fn new() -> Self {
        let (registry, mut environment) = Registry::with_project();
        for version in [1, 2] {
            let files: Vec<_> = [
                (
                    "main.tf",
                    "module \"inner\" {\n  source = \"./inner\"\n}\n".to_owned(),
                ),
                ("inner/main.tf", format!("# {version}\n")),
                ("large", format!("{version}\n").repeat(30_000)),
                ("VERSION", version.to_string()),
            ]
            .map(|(name, text)| (name.to_owned(), text.into_bytes()))
            .into();
            registry.serve(
                &format!("/site-{version}.zip"),
                archive::pack(&files, Packing::Deflated),
            );
        }
        environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
        let mut trees = [1, 2].map(|version| {
            publish(
                &environment,
                &format!("# {version}\n"),
                &format!("v{version}.0.0"),
            );
            environment.write("main.tf", configuration(&environment, version));
            environment.provlock(["lock", "--modules"]).assert_code(0);
            environment.provlock(["get"]).assert_code(0);
            tree(&environment.project().join(".terraform/modules"))
        });
        let new = std::mem::take(&mut trees[1]);
        let project = Self {
            registry,
            environment,
            old: std::mem::take(&mut trees[0]),
            new,
        };
        assert_eq!(project.list(), project.new[Path::new("modules.json")]);
        project
    }

    fn modules(&self) -> PathBuf {
        self.environment.project().join(".terraform/modules")
    }

    fn list(&self) -> Vec<u8> {
        fs::read(self.modules().join("modules.json")).unwrap_or_default()
    }

    /// Installs what an older configuration asked for, without provlock.
    fn restore(&self) {
        let _ = fs::remove_dir_all(self.modules());
        for (path, content) in &self.old {
            self.environment.write(self.modules().join(path), content);
        }
    }

    fn empty_cache(&self) {
        let _ = fs::remove_dir_all(self.environment.root().join("cache"));
    }

    fn is_at(&self, moment: Moment) -> bool {
        let directories = |path: PathBuf| {
            fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
        };
        let is_new = |name: &str| {
            let installed = |file: &str| fs::read(self.modules().join(name).join(file)).ok();
            installed("VERSION").is_some_and(|version| version == b"2")
        };
        match moment {
            Moment::Answered(requests) => self.registry.statistics().requests >= requests,
            Moment::Copying(count) => {
                directories(self.modules().join(".provlock"))
                    .flat_map(directories)
                    .count()
                    >= count
            }
            Moment::Listing => self.list() != self.old[Path::new("modules.json")],
            Moment::Swapped(count) => {
                (0..CALLS)
                    .filter(|number| is_new(&format!("m{number}")))
                    .count()
                    >= count
            }
            Moment::Listed => self.list() == self.new[Path::new("modules.json")],
        }
    }

    /// Starts a run, and kills it at that moment.
    fn kill(&self, moment: Moment) {
        self.end(moment, "-KILL");
    }

    /// Starts a run, and sends a signal to it at that moment.
    fn end(&self, moment: Moment, signal: &str) {
        self.registry.reset_statistics();
        let mut child = self.environment.command(["get"]).spawn();
        provlock_test::run_until(&mut child, || self.is_at(moment));
        if child.try_wait().unwrap().is_none() {
            // From here on the process stays until it is waited for, even if it ends.
            let process = child.id().to_string();
            let sent = Command::new("kill").args([signal, &process]).status();
            assert!(sent.unwrap().success(), "{signal}");
        }
        provlock_test::wait(&mut child);
    }

    /// Files and directories that a run has made for a time.
    fn temporary(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for directory in [self.modules(), self.modules().join(".provlock")] {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy();
                if name.contains(".provlock-") || name.starts_with(".tmp") {
                    found.push(path);
                }
            }
        }
        found
    }

    /// Fails unless each directory is old or new, and listed. Returns how many are new.
    #[track_caller]
    fn assert_fits(&self, why: &str) -> usize {
        let (now, mut new) = (tree(&self.modules()), 0);
        let names: Vec<_> = (0..CALLS)
            .map(|number| format!("m{number}"))
            .chain(["net".to_owned()])
            .collect();
        for name in &names {
            let found = below(&now, name);
            let is_new = found == below(&self.new, name);
            assert!(
                is_new || found == below(&self.old, name),
                "{why}: {name} is neither the old nor the new one"
            );
            new += usize::from(is_new);
        }
        let list: Value = serde_json::from_slice(&self.list()).unwrap();
        for record in list["Modules"].as_array().unwrap() {
            let text = |field: &str| record[field].as_str().unwrap();
            assert!(
                self.environment.project().join(text("Dir")).is_dir(),
                "{why}: {record}"
            );
            let expected = if text("Source").contains("site-2") || text("Source").contains("v2") {
                &self.new
            } else {
                &self.old
            };
            if names.iter().any(|name| name == text("Key")) {
                assert_eq!(
                    below(&now, text("Key")),
                    below(expected, text("Key")),
                    "{why}: {record}"
                );
            }
        }
        new
    }

    /// Fails unless everything is as it is locked, and there is nothing else.
    #[track_caller]
    fn assert_complete(&self, why: &str) {
        assert!(
            tree(&self.modules()) == self.new,
            "{why}: {:?}",
            tree(&self.modules()).keys().collect::<Vec<_>>()
        );
        assert!(!self.modules().join(".provlock").exists(), "{why}");
        for directory in ["temporary", "cache/provlock-modules-v2/unfinished"] {
            let left = fs::read_dir(self.environment.root().join(directory))
                .into_iter()
                .flatten()
                .count();
            assert_eq!(left, 0, "{why}: {directory}");
        }
    }
}

#[test]
fn get_that_is_killed_leaves_old_or_new_directories_and_a_list_that_fits() {
    let project = Project::new();
    let moments = [
        Moment::Answered(0),
        Moment::Answered(1),
        Moment::Copying(1),
        Moment::Copying(CALLS),
        Moment::Listing,
    ];
    let moments = moments
        .into_iter()
        .chain((1..=CALLS).map(Moment::Swapped))
        .chain([Moment::Listed]);
    let mut seen = [0, 0, 0];
    for (attempt, moment) in moments.cycle().take(KILLS).enumerate() {
        // Half of the runs begin with what the killed run before them has left in the cache.
        if attempt % 2 == 0 {
            project.empty_cache();
        }
        project.restore();
        project.kill(moment);
        let why = format!("attempt {attempt}, {moment:?}");
        let new = project.assert_fits(&why);
        seen[if new == 0 {
            0
        } else {
            1 + usize::from(new > CALLS)
        }] += 1;
        if attempt % 3 == 2 {
            project.environment.provlock(["get"]).assert_code(0);
            project.assert_complete(&why);
        }
    }
    assert!(
        seen[0] > 0 && seen[2] > 0,
        "no run was killed early, or none late: {seen:?}"
    );
    survived("a run that is killed", KILLS);
}

/// Also while it writes the list, or removes the modules that it has replaced.
#[test]
fn get_that_is_interrupted_leaves_nothing_temporary() {
    let project = Project::new();
    let moments = [
        Moment::Copying(1),
        Moment::Copying(CALLS),
        Moment::Listing,
        Moment::Swapped(1),
        Moment::Swapped(CALLS),
        Moment::Listed,
    ];
    for attempt in 0..KILLS {
        let moment = moments[attempt % moments.len()];
        let signal = ["-INT", "-TERM"][attempt / moments.len() % 2];
        project.restore();
        project.end(moment, signal);
        let why = format!("attempt {attempt}, {signal}, {moment:?}");
        assert_eq!(project.temporary(), [] as [PathBuf; 0], "{why}");
        project.assert_fits(&why);
    }
    survived("a run that is killed", KILLS);
}

/// A limit for the size of files stands for the end of a disk.
#[test]
fn get_on_a_full_disk_changes_nothing_or_everything() {
    let project = Project::new();
    let run = |blocks: usize| -> Output {
        let limited = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec {} get",
            provlock_test::program()
        );
        project.environment.program("sh", ["-c", &limited]).run()
    };
    let (limits, mut failed) = ([0, 1, 2, 8, 32, 4096], 0);
    for (blocks, is_cold) in limits
        .into_iter()
        .flat_map(|blocks| [(blocks, false), (blocks, true)])
    {
        project.restore();
        if is_cold {
            project.empty_cache();
        }
        let output = run(blocks);
        let why = format!("{blocks} blocks: {output}");
        if output.code == Some(0) {
            project.assert_complete(&why);
            continue;
        }
        failed += 1;
        assert_eq!(output.code, Some(2), "{why}");
        project.assert_fits(&why);
        project.environment.provlock(["get"]).assert_code(0);
        project.assert_complete(&why);
    }
    assert_eq!(failed, 10, "all but the last had too little space");
    survived("a disk that is full", failed);
}

#[test]
fn gets_at_the_same_time_leave_what_is_locked() {
    let project = Project::new();
    let environment = &project.environment;
    for round in 0..ROUNDS {
        project.restore();
        if round % 2 == 0 {
            project.empty_cache();
        }
        let outputs = thread::scope(|scope| {
            let runs = [(); 3].map(|()| scope.spawn(|| environment.provlock(["get"])));
            runs.map(|run| run.join().unwrap())
        });
        for output in &outputs {
            output.assert_code(0);
        }
        project.assert_complete(&format!("round {round}"));
    }
    survived("runs at the same time", ROUNDS);
}

#[test]
fn gets_of_several_projects_share_an_empty_cache() {
    let project = Project::new();
    let environment = &project.environment;
    let lock_file = environment.read(environment.project().join(".modules.lock.hcl"));
    let names = ["a", "b", "c"];
    for name in names {
        environment.write(format!("{name}/main.tf"), configuration(environment, 2));
        environment.write(format!("{name}/.modules.lock.hcl"), &lock_file);
    }
    for round in 0..ROUNDS {
        project.empty_cache();
        thread::scope(|scope| {
            for name in names {
                let _ = fs::remove_dir_all(environment.project().join(name).join(".terraform"));
                scope.spawn(move || {
                    environment
                        .provlock(["-C", name, "get"])
                        .assert_code(0)
                        .clone()
                });
            }
        });
        for name in names {
            let installed = tree(&environment.project().join(name).join(".terraform/modules"));
            assert!(installed == project.new, "round {round}, {name}");
        }
    }
    survived("runs at the same time", ROUNDS);
}
