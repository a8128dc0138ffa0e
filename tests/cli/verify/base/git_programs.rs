//! Git runs no program that the configuration of a repository names, and sends no request, whatever
//! provlock asks it for.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use provlock_test::survived;

use super::gate::{Gate, OTHER_H1};
use super::{NULL, ZH};
use crate::credentials_helper::write_program;

/// A way by which git would run a program.
struct Attack {
    name: &'static str,
    /// Configures the repository to run the program.
    prepare: fn(&Repository),
    /// Arguments with which git itself runs the program.
    git: &'static [&'static str],
}

/// A repository with a pull request whose files have new times, and that lacks a file of the base.
struct Repository {
    gate: Gate,
    /// A program that leaves a trace, and copies its input.
    program: String,
    /// A program that leaves a trace, and ends.
    server: String,
    trace: PathBuf,
}

/// Commands of provlock that run git.
const COMMANDS: [&[&str]; 6] = [
    &["verify", "-r", "--base", "main", "--new"],
    &["diff", "-r", "main"],
    &["diff", "-r", "main...change"],
    &["lock", "-r", "--check", "--offline"],
    &["sbom", "-r"],
    &["setup", "git", "--write"],
];

impl Repository {
    fn new() -> Self {
        let gate = Gate::with(|gate| {
            gate.write(".gitattributes", "*.tf filter=named\nlive/* filter=a=b\n");
        });
        gate.root("live", NULL, &[OTHER_H1, ZH]);
        gate.commit();
        let root = gate.0.environment.root();
        let trace = root.join("ran");
        let leave_trace = format!("#!/bin/sh\necho ran >> {}\n", trace.display());
        let program = root.join("program");
        write_program(&program, &format!("{leave_trace}cat\n"));
        let server = root.join("server");
        write_program(&server, &leave_trace);
        Self {
            gate,
            program: program.display().to_string(),
            server: server.display().to_string(),
            trace,
        }
    }

    fn configure(&self, variable: &str, value: &str) {
        self.gate.git(&["config", variable, value]);
    }

    /// Adds lines to the configuration of the repository as they are.
    fn append(&self, text: &str) {
        let path = ".git/config";
        self.gate.write(path, self.gate.read(path) + text);
    }

    /// Configures a filter in lines of the configuration as they are.
    fn append_filter(&self, name: &str, lines: &str) {
        let lines = lines.replace("PROGRAM", &self.program);
        self.append(&format!("[filter \"{name}\"]\n\t{lines}\n"));
    }

    /// Configures a filter in a different file, which this variable includes.
    fn include_filter(&self, variable: &str) {
        let text = format!("[filter \"named\"]\n\tclean = {}\n", self.program);
        self.gate.write("included", text);
        self.configure(variable, "../included");
    }

    /// Gives files attributes in the repository alone.
    fn assign(&self, attributes: &str) {
        self.gate.write(".git/info/attributes", attributes);
    }

    fn run_as_hook(&self, path: &str) {
        let path = self.gate.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&self.program, path).unwrap();
    }

    /// Makes the repository a partial clone that lacks a file of the base.
    fn lacks_a_file(&self, url: &str) {
        self.configure("core.repositoryFormatVersion", "1");
        self.configure("extensions.partialClone", "origin");
        self.configure("remote.origin.promisor", "true");
        self.configure("remote.origin.url", url);
        self.configure("protocol.allow", "always");
        remove_object(&self.gate, "main:live/.terraform.lock.hcl");
    }

    /// Gives all files a new time, so that git compares their content.
    fn touch(&self) {
        for path in ["live/main.tf", "other/main.tf", "live/.terraform.lock.hcl"] {
            let file = fs::File::options()
                .write(true)
                .open(self.gate.project().join(path));
            let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            file.unwrap().set_modified(time).unwrap();
        }
    }

    /// Whether the program has run since the last call.
    fn has_run(&self) -> bool {
        fs::remove_file(&self.trace).is_ok()
    }
}

/// Removes an object that is in a file of its own.
fn remove_object(gate: &Gate, revision: &str) {
    let object = gate.git(&["rev-parse", revision]);
    let (directory, file) = object.split_at(2);
    gate.remove(&format!(".git/objects/{directory}/{file}"));
}

const CLEAN: &[&str] = &["add", "--renormalize", "."];
const REFRESH: &[&str] = &["update-index", "--refresh"];
const MISSING: &[&str] = &["cat-file", "-p", "main:live/.terraform.lock.hcl"];

const ATTACKS: &[Attack] = &[
    Attack {
        name: "a monitor of the file system",
        prepare: |repository| repository.configure("core.fsmonitor", &repository.program),
        git: &["status"],
    },
    Attack {
        name: "a filter",
        prepare: |repository| repository.configure("filter.named.clean", &repository.program),
        git: CLEAN,
    },
    Attack {
        name: "a required filter",
        prepare: |repository| {
            repository.configure("filter.named.clean", &repository.program);
            repository.configure("filter.named.required", "true");
        },
        git: CLEAN,
    },
    Attack {
        name: "a filter as a process",
        prepare: |repository| repository.configure("filter.named.process", &repository.program),
        git: CLEAN,
    },
    Attack {
        name: "a filter whose name contains an equals sign",
        prepare: |repository| {
            repository.append_filter("a=b", "clean = PROGRAM");
        },
        git: CLEAN,
    },
    Attack {
        name: "a required filter as a process whose name contains an equals sign",
        prepare: |repository| {
            repository.append_filter("a=b", "process = PROGRAM\n\trequired");
        },
        git: CLEAN,
    },
    Attack {
        name: "a filter without a name",
        prepare: |repository| {
            repository.append_filter("", "clean = PROGRAM");
            repository.assign("*.tf filter=\n");
        },
        git: CLEAN,
    },
    Attack {
        name: "a filter whose name contains dots and spaces",
        prepare: |repository| {
            repository.append(&format!(
                "[FILTER \"a.clean.b\"]\n\tCLEAN = {}\n",
                repository.program
            ));
            repository.assign("* filter=a.clean.b\n");
        },
        git: CLEAN,
    },
    Attack {
        name: "a filter in an included file",
        prepare: |repository| repository.include_filter("include.path"),
        git: CLEAN,
    },
    Attack {
        name: "a filter in a file that is included for a directory",
        prepare: |repository| repository.include_filter("includeIf.gitdir:**.path"),
        git: CLEAN,
    },
    Attack {
        name: "a filter of the work tree",
        prepare: |repository| {
            repository.configure("extensions.worktreeConfig", "true");
            let arguments = ["config", "--worktree", "filter.named.clean"];
            let program = repository.program.as_str();
            repository.gate.git(&[&arguments[..], &[program]].concat());
        },
        git: CLEAN,
    },
    Attack {
        name: "a filter of an attribute elsewhere",
        prepare: |repository| {
            repository.configure("filter.other.clean", &repository.program);
            repository.configure("core.attributesFile", ".git/attributes");
            repository
                .gate
                .write(".git/attributes", ".terraform.lock.hcl filter=other\n");
            repository.gate.write(".gitattributes", "");
        },
        git: CLEAN,
    },
    Attack {
        name: "a hook",
        prepare: |repository| repository.run_as_hook(".git/hooks/post-index-change"),
        git: REFRESH,
    },
    Attack {
        name: "a hook elsewhere",
        prepare: |repository| {
            repository.run_as_hook("hooks/post-index-change");
            let directory = repository.gate.project().join("hooks");
            repository.configure("core.hooksPath", directory.to_str().unwrap());
        },
        git: REFRESH,
    },
    Attack {
        name: "a driver of differences",
        prepare: |repository| {
            repository.configure("diff.external", &repository.program);
            repository.configure("diff.named.command", &repository.program);
            repository.assign("*.hcl diff=named\n");
        },
        git: &["diff", "HEAD~1"],
    },
    Attack {
        name: "a converter to text",
        prepare: |repository| {
            repository.configure("diff.named.textconv", &repository.program);
            repository.assign("*.hcl diff=named\n");
        },
        git: &["diff", "HEAD~1"],
    },
    Attack {
        name: "a monitor in a submodule",
        prepare: |repository| {
            let gate = &repository.gate;
            gate.git(&["init", "--quiet", "below"]);
            gate.git(&["-C", "below", "commit", "--quiet", "--allow-empty", "-m1"]);
            gate.git(&["add", "below"]);
            gate.git(&["commit", "--quiet", "-m2"]);
            gate.git(&[
                "-C",
                "below",
                "config",
                "core.fsmonitor",
                &repository.program,
            ]);
            gate.write("below/new", "");
            repository.configure("submodule.recurse", "true");
            repository.configure("diff.submodule", "log");
        },
        git: &["status"],
    },
    Attack {
        name: "a missing file, and a remote that is a program",
        prepare: |repository| repository.lacks_a_file(&format!("ext::{}", repository.server)),
        git: MISSING,
    },
    Attack {
        name: "a missing file, and a command for ssh",
        prepare: |repository| {
            repository.lacks_a_file("ssh://example.com/a");
            repository.configure("core.sshCommand", &repository.server);
        },
        git: MISSING,
    },
    Attack {
        name: "a missing file, and a short address for ssh",
        prepare: |repository| {
            repository.lacks_a_file("git@example.com:a");
            repository.configure("core.sshCommand", &repository.server);
        },
        git: MISSING,
    },
    Attack {
        name: "a missing file, and a program that serves it",
        prepare: |repository| {
            repository.lacks_a_file(".");
            repository.configure("remote.origin.uploadpack", &repository.server);
        },
        git: MISSING,
    },
    Attack {
        name: "a missing file, and a proxy",
        prepare: |repository| {
            repository.lacks_a_file("git://127.0.0.1:1/a");
            repository.configure("core.gitProxy", &repository.server);
        },
        git: MISSING,
    },
    Attack {
        name: "a missing file, and an address that is replaced",
        prepare: |repository| {
            repository.lacks_a_file("https://example.com/a");
            let variable = format!("url.ext::{} .insteadOf", repository.server);
            repository.configure(&variable, "https://example.com/");
        },
        git: MISSING,
    },
    Attack {
        name: "a missing file, and a remote of another name",
        prepare: |repository| {
            repository.lacks_a_file("https://127.0.0.1:1/a");
            repository.configure("remote.a.promisor", "true");
            repository.configure("remote.a.url", &format!("ext::{}", repository.server));
        },
        git: MISSING,
    },
    Attack {
        name: "a missing directory, and a remote that is a program",
        prepare: |repository| {
            repository.lacks_a_file(&format!("ext::{}", repository.server));
            remove_object(&repository.gate, "main:live");
        },
        git: MISSING,
    },
    Attack {
        name: "a missing commit, and a remote that is a program",
        prepare: |repository| {
            repository.lacks_a_file(&format!("ext::{}", repository.server));
            remove_object(&repository.gate, "main");
        },
        git: &["log", "main"],
    },
];

#[test]
fn git_runs_no_program_that_a_repository_names() {
    for attack in ATTACKS {
        let repository = Repository::new();
        (attack.prepare)(&repository);
        repository.touch();
        repository.has_run();
        let mut has_printed = false;
        for command in COMMANDS {
            let output = repository.gate.provlock(command);
            assert!(!repository.has_run(), "{}: {output}", attack.name);
            has_printed |= !output.stdout.is_empty() || !output.stderr.is_empty();
        }
        assert!(has_printed, "{}: nothing was checked", attack.name);
        // The attack is one: git itself runs the program. It fails where the program is no filter.
        repository.touch();
        let environment = &repository.gate.0.environment;
        let output = environment.git_command(attack.git).run();
        assert!(repository.has_run(), "{}: {output}", attack.name);
    }
    survived(
        "a repository whose configuration names a program",
        ATTACKS.len() * COMMANDS.len(),
    );
}

/// All events at which git runs hooks in a repository that is not a server.
const EVENTS: &str = "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit \
    prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push \
    reference-transaction pre-auto-gc post-rewrite post-index-change fsmonitor-watchman";

/// A hook may also be a command in the configuration (`hook.<name>.command`, newer versions of
/// git), which `core.hooksPath` does not switch off. Such a hook runs at the same events.
#[test]
fn git_reaches_no_event_at_which_it_runs_a_hook_of_the_configuration() {
    let repository = Repository::new();
    for event in EVENTS.split_whitespace() {
        repository.run_as_hook(&format!("hooks/{event}"));
    }
    let environment = &repository.gate.0.environment;
    let hooks = repository.gate.project().join("hooks");
    let path = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join("git"))
        .find(|path| path.is_file());
    let real = path.unwrap();
    // For this program, the directory of hooks that provlock chooses is the one with hooks.
    let script = format!(
        "#!/bin/bash\nfor argument; do\n  case $argument in\n    \
         core.hooksPath=*) set -- \"$@\" core.hooksPath={hooks} ;;\n    \
         *) set -- \"$@\" \"$argument\" ;;\n  esac\n  shift\ndone\nexec {git} \"$@\"\n",
        hooks = hooks.display(),
        git = real.display()
    );
    write_program(&environment.bin().join("git"), &script);

    for command in COMMANDS {
        repository.touch();
        let output = repository.gate.provlock(command);
        assert!(!repository.has_run(), "{command:?}: {output}");
        let is_silent = output.stdout.is_empty() && output.stderr.is_empty();
        assert!(!is_silent, "{command:?}");
    }
    // The program works: git itself runs a hook.
    repository.touch();
    let setting = ["-c", "core.hooksPath=/dev/null"];
    let output = environment.git_command([&setting, REFRESH].concat()).run();
    assert!(repository.has_run(), "{output}");
}

/// A change of a repository whose directory `mirror` contains a file of Git LFS and a file with a
/// filter.
type Checkout = (&'static str, fn(&Gate));

/// A filter that exchanges letters.
const FILTER: &str = "tr a-z n-za-m";
const LARGE: &str = "a large file";

/// A pull request that changes nothing in the directory `mirror`.
fn gate_with_mirror() -> Gate {
    let gate = Gate::with(|gate| {
        // As after `git lfs install`, without its program.
        gate.git(&["config", "filter.exchange.clean", FILTER]);
        gate.git(&["config", "filter.exchange.smudge", FILTER]);
        gate.write(
            ".gitattributes",
            "*.txt text\n*.secret filter=exchange\n*.large filter=lfs diff=lfs merge=lfs -text\n",
        );
        gate.write("mirror/a.txt", "one\ntwo\n");
        gate.write("mirror/b.secret", "hidden");
        gate.write("mirror/same.tf", "");
        gate.write(
            "mirror/c.large",
            "version https://git-lfs.github.com/spec/v1\n\
             oid sha256:683adcc31938cfea071a313d7ecf9d19a74583dd0640f3c6d664079d52feb15f\nsize 12\n",
        );
    });
    gate.git(&["config", "filter.lfs.clean", "false"]);
    gate
}

fn is_mirror_changed(gate: &Gate, directory: &str) -> bool {
    let arguments = ["verify", "-r", "--base", "main", "--fs-mirror", "mirror"];
    let output = gate
        .0
        .environment
        .command(arguments)
        .run_in(directory)
        .run();
    let is_refused = output.stderr.contains("differs from the base");
    assert_eq!(
        output.code,
        Some(if is_refused { 2 } else { 0 }),
        "{output}"
    );
    is_refused
}

fn touch(gate: &Gate, path: &str) {
    let file = fs::File::options()
        .write(true)
        .open(gate.project().join(path));
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    file.unwrap().set_modified(time).unwrap();
}

#[test]
fn files_that_git_converts_at_checkout_are_not_changed() {
    let checkouts: &[Checkout] = &[
        ("as it was committed", |_| {}),
        ("with new times", |gate| {
            for path in ["mirror/a.txt", "mirror/same.tf", "live/main.tf"] {
                touch(gate, path);
            }
        }),
        ("with line endings of Windows", |gate| {
            gate.git(&["config", "core.autocrlf", "true"]);
            gate.write("mirror/a.txt", "one\r\ntwo\r\n");
            touch(gate, "mirror/a.txt");
        }),
        (
            "with line endings of Windows in the work tree only",
            |gate| {
                gate.git(&["config", "core.eol", "crlf"]);
                gate.remove("mirror/a.txt");
                gate.git(&["checkout", "--", "mirror"]);
                touch(gate, "mirror/a.txt");
            },
        ),
        ("through a filter, just now", |gate| {
            gate.remove("mirror/b.secret");
            gate.git(&["checkout", "--", "mirror/b.secret"]);
            assert_eq!(gate.read("mirror/b.secret"), "hidden");
        }),
        ("a file in the index alone", |gate| {
            gate.write("mirror/a.txt", "one\n");
            gate.git(&["add", "mirror/a.txt"]);
            gate.write("mirror/a.txt", "one\ntwo\n");
        }),
        ("as a large file", |gate| {
            gate.write("mirror/c.large", LARGE);
        }),
    ];
    for (name, check_out) in checkouts {
        let gate = gate_with_mirror();
        check_out(&gate);
        assert!(!is_mirror_changed(&gate, "."), "{name}");
    }
    let changes: &[Checkout] = &[
        ("a file", |gate| gate.write("mirror/a.txt", "one\n")),
        ("a file with a filter", |gate| {
            gate.write("mirror/b.secret", "hidden!");
        }),
        ("a file of the same size with a filter", |gate| {
            gate.write("mirror/b.secret", "HIDDEN");
        }),
        ("a large file", |gate| {
            gate.write("mirror/c.large", LARGE.replace('a', "b"));
        }),
        ("a new file", |gate| {
            gate.write("mirror/d", "");
            gate.git(&["add", "mirror/d"]);
        }),
        ("a removed file", |gate| gate.remove("mirror/a.txt")),
        ("a file that is a link", |gate| {
            gate.remove("mirror/a.txt");
            gate.link("b.secret", "mirror/a.txt");
        }),
    ];
    for (name, change) in changes {
        let gate = gate_with_mirror();
        change(&gate);
        assert!(is_mirror_changed(&gate, "."), "{name}");
    }
}

#[test]
fn linked_work_trees_and_sparse_checkouts_are_compared() {
    let gate = gate_with_mirror();
    gate.git(&["worktree", "add", "--quiet", "../linked", "-b", "linked"]);
    assert!(!is_mirror_changed(&gate, "../linked"));
    gate.write("../linked/mirror/a.txt", "");
    assert!(is_mirror_changed(&gate, "../linked"));
    assert!(!is_mirror_changed(&gate, "."));

    gate.git(&["sparse-checkout", "set", "live", "other"]);
    assert!(!is_mirror_changed(&gate, "."));
    gate.git(&["sparse-checkout", "reapply", "--sparse-index"]);
    assert!(!is_mirror_changed(&gate, "."));
}
