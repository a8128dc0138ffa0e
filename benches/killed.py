#!/usr/bin/env python3
"""Kills runs of provlock at random moments, and looks at what they leave behind.

    cargo build --release && benches/killed.py            300 kills of six commands
    benches/killed.py --kills 20 --only get --seed 7      fewer
    benches/killed.py --program target/debug/provlock --registry PROGRAM

Half of the moments lie anywhere between the start of a run and its usual end, the others after the first file was changed. Two of three
runs get SIGKILL, the others SIGTERM or SIGINT. After each of them

- a file has its old or its new content, an installed module is the old or the new one, and a listed module exists;
- nothing else is left in the tree, but for temporary files after SIGKILL; and no process of git is left;
- the same command ends well, leaves the new files only, and does so again with the old files and the cache that is there now.

Prints a row for each command, and exits with 1 if something is not so. Providers come from the tests' registry, modules from
`benches/modules.py`.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from modules import GIT, MODULES, REGISTRY_MODULES, REPOSITORIES, REPOSITORY, Network, git

LOCK_FILE = ".terraform.lock.hcl"
MODULE_LOCK_FILE = ".modules.lock.hcl"
PLATFORMS = "linux_amd64,darwin_arm64"
PROVIDERS = 12
ROOTS = 25
# Files that a killed process may leave, says docs/files.md.
LEFT_OVER = re.compile(r"(^|/)[^/]+\.provlock-[A-Za-z0-9]{6}$|^\.terraform/modules/\.provlock/")
SIGNALS = [signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT]
SECONDS = 0.02


class World:
    """The registries, and a home directory for the runs."""

    def __init__(self, arguments, scratch):
        self.program, self.scratch = str(arguments.program.resolve()), scratch
        command = [arguments.registry] if arguments.registry else ["cargo", "bench", "--quiet", "--bench", "registry", "--"]
        command += ["--host", "registry.opentofu.org", "--providers", str(PROVIDERS), "--platforms", "2", "--size", "500KB"]
        command += ["--latency-ms", str(int(SECONDS * 1000))]
        pipe = subprocess.PIPE
        self.registry = subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True)
        description = json.loads(self.registry.stdout.readline())
        (scratch / "network").mkdir()
        self.network = Network(scratch / "network", SECONDS, description["proxy"])
        for name in self.network.commits:
            path = scratch / "network" / "git" / name
            (path / "more.tf").write_text("# second\n" * 10_000)
            git("add", "--all", cwd=path)
            git("commit", "--quiet", "--message=second", cwd=path)
            git("tag", "v2.0.0", cwd=path)
        bundle = pathlib.Path(description["certificate_file"]).read_text() + self.network.certificates.read_text()
        (scratch / "bundle.pem").write_text(bundle)

    def environment(self):
        for name in ("home", "temporary"):
            (self.scratch / name).mkdir(exist_ok=True)
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scratch / "home"),
            "TMPDIR": str(self.scratch / "temporary"),
            "HTTPS_PROXY": self.network.url,
            "SSL_CERT_FILE": str(self.scratch / "bundle.pem"),
            "GIT_SSL_CAINFO": str(self.network.certificates),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PROVLOCK_DIALECT": "tofu",
        }

    def empty_cache(self):
        shutil.rmtree(self.scratch / "home", ignore_errors=True)

    def temporary(self):
        """What runs have left in the directory for temporary files."""
        return [str(path.relative_to(self.scratch)) for path in (self.scratch / "temporary").iterdir()]

    def unfinished(self):
        """What runs have left of modules in the cache. Of a killed run it stays until a module is fetched."""
        return [str(path.relative_to(self.scratch)) for path in (self.scratch / "home").rglob("unfinished/*")]

    def start(self, arguments, project):
        output = open(self.scratch / "output", "wb")
        return subprocess.Popen(
            [self.program, *arguments], cwd=project, env=self.environment(), stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, start_new_session=True,
        )

    def run(self, arguments, project):
        code = self.start(arguments, project).wait()
        if code != 0:
            raise Failure(f"{arguments} ended with {code}: {self.output()[-2000:]}")

    def output(self):
        return (self.scratch / "output").read_text(errors="replace")


class Failure(Exception):
    """Something that must not be."""


def files(directory):
    """The contents of all files below a directory."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = pathlib.Path(folder, name)
            found[str(path.relative_to(directory))] = path.read_bytes()
    return found


def write(directory, tree):
    shutil.rmtree(directory, ignore_errors=True)
    for name, content in tree.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def requires(numbers, constraint=""):
    version = f', version = "{constraint}"' if constraint else ""
    blocks = "".join(f'    p{n} = {{ source = "bench/p{n}"{version} }}\n' for n in numbers)
    return f'terraform {{\n  required_providers {{\n{blocks}  }}\n  backend "local" {{}}\n}}\n'.encode()


def calls(ref):
    blocks = []
    for number in range(REGISTRY_MODULES + REPOSITORIES):
        if number < REGISTRY_MODULES:
            lines = f'  source  = "{MODULES}/acme/r{number}/null"\n  version = "~> 1.0"\n'
        else:
            lines = f'  source = "git::https://{GIT}/r{number}.git?ref={ref}"\n'
        blocks.append(f'module "m{number}" {{\n{lines}}}\n')
    return "\n".join(blocks).encode()


def roots(constraint="", count=4):
    """Configurations of root modules that share providers."""
    chosen = [[(root + n) % PROVIDERS + 1 for n in range(count)] for root in range(ROOTS)]
    return {f"live/r{root}/main.tf": requires(numbers, constraint) for root, numbers in enumerate(chosen)}


def conflicting(tree, other):
    """Lock files in which git could not merge two texts."""
    found = dict(tree)
    for name in tree:
        if name.endswith(LOCK_FILE):
            found[name] = b"<<<<<<< ours\n" + tree[name] + b"=======\n" + other[name] + b">>>>>>> theirs\n"
    return found


class Scenario:
    """A command, and a tree that it changes."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        self.project = world.scratch / "project"
        self.old, self.arguments = getattr(self, re.sub(r"\W+", "_", name))()

    def after(self, tree, *commands):
        """The tree after commands."""
        write(self.project, tree)
        for command in commands:
            self.world.run(command, self.project)
        return files(self.project)

    def lock(self):
        tree = self.after({"main.tf": requires(range(1, PROVIDERS // 2))}, ["lock", "-p", PLATFORMS])
        tree["main.tf"] = requires(range(1, PROVIDERS + 1))
        return tree, ["lock", "-p", PLATFORMS]

    def lock_r(self):
        tree = self.after(roots(count=2), ["lock", "-r", "-p", PLATFORMS])
        # A part of them has no lock file yet.
        for name in [name for name in tree if name.endswith(LOCK_FILE)][::3]:
            del tree[name]
        return tree | roots(), ["lock", "-r", "-p", PLATFORMS]

    def lock_modules(self):
        tree = self.after({"main.tf": calls("v1.0.0")}, ["lock", "--modules", "-p", "linux_amd64"])
        tree["main.tf"] = calls("v2.0.0")
        return tree, ["lock", "--modules", "-p", PLATFORMS]

    def upgrade(self):
        tree = self.after(roots("1.0.0"), ["lock", "-r", "-p", "linux_amd64"])
        return tree, ["upgrade", "--constraints", "-r", "-p", "linux_amd64"]

    def get(self):
        tree = self.after({"main.tf": calls("v1.0.0")}, ["lock", "--modules", "-p", "linux_amd64"], ["get"])
        new = self.after({"main.tf": calls("v2.0.0")}, ["lock", "--modules", "-p", "linux_amd64"])
        return tree | new, ["get"]

    def merge(self):
        old = self.after(roots("1.0.0"), ["lock", "-r", "-p", "linux_amd64"])
        new = self.after(roots(), ["lock", "-r", "-p", "linux_amd64"])
        return conflicting(new, old), ["merge", "-r", "--resolve", "-p", "linux_amd64"]

    def prepare(self):
        """Finds the new files, and how long a run takes, and how long before its end the first file is changed."""
        self.takes, self.writes = {}, {}
        for is_cold in (True, False):
            if is_cold:
                self.world.empty_cache()
            self.written()
            changed = None
            start = time.monotonic()
            process = self.world.start(self.arguments, self.project)
            while process.poll() is None:
                if changed is None and self.is_changed():
                    changed = time.monotonic()
            if process.returncode != 0:
                raise Failure(f"{self.arguments} ended with {process.returncode}: {self.world.output()[-2000:]}")
            end = time.monotonic()
            self.takes[is_cold], self.writes[is_cold] = end - start, end - (changed or end)
            self.new = files(self.project)
        self.changing = sorted(name for name in self.old.keys() | self.new.keys() if self.old.get(name) != self.new.get(name))

    def written(self):
        """The old files, and by what each is known to be replaced."""
        write(self.project, self.old)
        self.folders = {}
        for folder, _, names in os.walk(self.project):
            if ".terraform" not in pathlib.Path(folder).parts:
                self.folders[folder] = {name: os.stat(os.path.join(folder, name)).st_ino for name in names}

    def is_changed(self):
        """Whether a file has been written, or is being written."""
        if self.name == "get":
            return (self.project / ".terraform/modules/.provlock").exists()
        for folder, known in self.folders.items():
            with os.scandir(folder) as entries:
                for entry in entries:
                    if known.get(entry.name) != entry.inode() and not entry.is_dir():
                        return True
        return False

    def kill(self, chance, is_cold):
        """Starts a run, and sends a signal to it. Returns the signal, and whether the run was over before."""
        self.written()
        if is_cold:
            self.world.empty_cache()
        for path in self.world.unfinished():
            shutil.rmtree(self.world.scratch / path)
        number = chance.choice(SIGNALS)
        is_late = chance.random() < 0.5
        takes, writes = self.takes[is_cold], self.writes[is_cold]
        process = self.world.start(self.arguments, self.project)
        if is_late:
            while process.poll() is None and not self.is_changed():
                pass
            time.sleep(chance.uniform(0, writes))
        else:
            time.sleep(chance.uniform(0, 0.95 * takes))
        process.send_signal(number)
        code = process.wait()
        if code not in (0, -number):
            raise Failure(f"after {number.name} it ended with {code}: {self.world.output()[-2000:]}")
        self.check_processes(process.pid)
        return number, code == 0

    def check_processes(self, session):
        """No process is left, after a moment in which signals arrive."""
        for _ in range(250):
            left = subprocess.run(["ps", "-o", "pid=,stat=,args=", "-s", str(session)], capture_output=True, text=True).stdout
            left = [line for line in left.splitlines() if line.split()[1][0] != "Z"]
            if not left:
                return
            time.sleep(0.02)
        raise Failure(f"processes are left: {left}")

    def check_left(self, number, was_over):
        """What a run has left. Returns how many of the files that change are the new ones."""
        found = files(self.project)
        left = sorted(name for name in found if LEFT_OVER.search(name))
        everywhere = left + self.world.temporary() + self.world.unfinished()
        if everywhere and (was_over or number != signal.SIGKILL):
            raise Failure(f"{number.name} left {everywhere}")
        for name in left:
            del found[name]
        if self.name == "get":
            new = self.check_modules(found)
        else:
            new = self.check_files(found)
        return new, bool(left)

    def check_files(self, found):
        new = 0
        for name in self.old.keys() | self.new.keys() | found.keys():
            content = found.get(name)
            if content not in (self.old.get(name), self.new.get(name)):
                raise Failure(f"{name} is neither old nor new: {content!r:.500}")
            new += name in self.changing and content == self.new.get(name)
        for name in self.changing if self.name == "upgrade" else []:
            configuration = str(pathlib.PurePath(name).parent / "main.tf")
            if name.endswith(LOCK_FILE) and found[name] == self.new[name] and found[configuration] != self.new[configuration]:
                raise Failure(f"{name} was written before {configuration}")
        return new

    def check_modules(self, found):
        below = lambda tree, name: {path: text for path, text in tree.items() if path.startswith(f".terraform/modules/{name}/")}
        names = {path.split("/")[2] for path in self.old.keys() | found.keys() if path.startswith(".terraform/modules/") and path.count("/") > 2}
        new = 0
        for name in names:
            content = below(found, name)
            if content not in (below(self.old, name), below(self.new, name)):
                raise Failure(f"the module {name} is neither old nor new: {sorted(content)}")
            new += content == below(self.new, name) != below(self.old, name)
        for record in json.loads(found[".terraform/modules/modules.json"])["Modules"]:
            if not (self.project / record["Dir"]).is_dir():
                raise Failure(f"{record} is listed, and not there")
        for name, content in found.items():
            if not name.startswith(".terraform/") and content != self.old[name]:
                raise Failure(f"{name} was changed")
        return new

    def check_next(self):
        """The next run completes the work, and another one does it with the cache that is there now."""
        for moment in ("the next run", "a run with its cache"):
            self.world.run(self.arguments, self.project)
            found = files(self.project)
            if found != self.new:
                different = [name for name in found.keys() | self.new.keys() if found.get(name) != self.new.get(name)]
                raise Failure(f"{moment} leaves other files: {sorted(different)}")
            if self.world.temporary():
                raise Failure(f"{moment} leaves {self.world.temporary()}")
            write(self.project, self.old)

    def attempt(self, chance, is_cold, counts):
        number, was_over = self.kill(chance, is_cold)
        new, has_left = self.check_left(number, was_over)
        counts[number.name] += not was_over
        counts["over"] += was_over
        counts["temporary files"] += has_left
        counts["old" if new == 0 else "new" if new >= self.most_new() else "between"] += not was_over
        self.check_next()

    def most_new(self):
        if self.name == "get":
            return len({name.split("/")[2] for name in self.changing if name.count("/") > 2})
        return len(self.changing)


SCENARIOS = ["lock", "lock -r", "lock modules", "upgrade", "get", "merge"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    parser.add_argument("--kills", type=int, default=300, help="of runs that were not over")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SCENARIOS)
    arguments = parser.parse_args()
    # A shell lets programs in the background ignore it, and so would the runs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scratch = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="provlock-killed-")))
    world = World(arguments, scratch)
    chance = random.Random(arguments.seed)
    scenarios = [arguments.only] if arguments.only else SCENARIOS
    failures = []
    killed = 0
    print("| command | killed | SIGKILL, SIGTERM, SIGINT | all old, between, all new | left temporary files | over before | a run takes, and writes at its end |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for number, name in enumerate(scenarios):
        scenario = Scenario(world, name)
        scenario.prepare()
        counts = collections.Counter()
        wanted = (arguments.kills - killed) // (len(scenarios) - number)
        attempts = 0
        while sum(counts[each.name] for each in set(SIGNALS)) < wanted and attempts < 3 * wanted:
            attempts += 1
            is_cold = attempts % 2 == 1
            try:
                scenario.attempt(chance, is_cold, counts)
            except Failure as failure:
                failures.append(f"{name}, attempt {attempts}, seed {arguments.seed}: {failure}")
                counts["failed"] += 1
                print(failures[-1], file=sys.stderr, flush=True)
        done = sum(counts[each.name] for each in set(SIGNALS))
        killed += done
        each = ", ".join(str(counts[key]) for key in ("SIGKILL", "SIGTERM", "SIGINT"))
        states = ", ".join(str(counts[key]) for key in ("old", "between", "new"))
        times = f"{scenario.takes[True]:.2f} s, {scenario.writes[True] * 1000:.0f} ms"
        print(f"| {' '.join(scenario.arguments)} | {done} | {each} | {states} | {counts['temporary files']} | {counts['over']} | {times} |", flush=True)
    world.registry.stdin.close()
    world.registry.wait()
    shutil.rmtree(scratch)
    print(f"{killed} runs were killed, {len(failures)} left something wrong")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
