#!/usr/bin/env python3
"""Times `provlock verify -r`, offline, over many root modules against `cat` of the same files.

    cargo build --release && benches/verify_many.py
    benches/verify_many.py --keep DIRECTORY     makes the tree there, for a profiler
    benches/verify_many.py --roots 200 --program target/debug/provlock

Every root module has three files: `main.tf`, `versions.tf` and a canonical lock file of about 10 KB with three
providers. Both commands read them from the page cache and write to /dev/null. Prints the medians of alternating runs and
their ratio; then the same for `verify -r --base` without a change and with one in every other root module. Fails when
`verify` finds anything.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LOCK_FILE = ".terraform.lock.hcl"
PROVIDERS = ("aws", "google", "random")
PLATFORMS = 4
ARCHIVES = 38
LOCK_HEADER = """# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.
"""


def hashes(seed):
    """The hashes of one provider, as many as a large one has, in the order of a lock file."""
    digests = [hashlib.sha256(f"{seed} {number}".encode()).digest() for number in range(PLATFORMS + ARCHIVES)]
    h1 = ["h1:" + base64.b64encode(digest).decode() for digest in digests[:PLATFORMS]]
    return sorted(h1 + ["zh:" + digest.hex() for digest in digests[PLATFORMS:]])


def lock_file(root):
    blocks = [LOCK_HEADER]
    for provider in PROVIDERS:
        lines = "".join(f'    "{text}",\n' for text in hashes(f"{root} {provider}"))
        blocks.append(
            f'provider "registry.opentofu.org/hashicorp/{provider}" {{\n'
            f'  version     = "5.{root % 50}.0"\n  constraints = "~> 5.0"\n  hashes = [\n{lines}  ]\n}}\n'
        )
    return "\n".join(blocks)


def main_file(root):
    return "".join(
        f'resource "random_id" "item_{number}" {{\n  byte_length = {number + 1}\n'
        f'  prefix      = "root-{root}-"\n}}\n\n'
        for number in range(10)
    )


def versions_file():
    required = "".join(
        f'    {provider} = {{\n      source  = "hashicorp/{provider}"\n      version = "~> 5.0"\n    }}\n'
        for provider in PROVIDERS
    )
    return f'terraform {{\n  backend "local" {{}}\n  required_providers {{\n{required}  }}\n}}\n'


def make_tree(directory, roots):
    """Writes the root modules, commits them as a project would, and returns all their files."""
    files = []
    for root in range(roots):
        folder = directory / f"team-{root // 50:02}" / f"root-{root:04}"
        folder.mkdir(parents=True)
        texts = {"main.tf": main_file(root), "versions.tf": versions_file(), LOCK_FILE: lock_file(root)}
        for name, text in texts.items():
            (folder / name).write_text(text)
            files.append(folder / name)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", str(directory)]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "Add root modules"]):
        subprocess.run([*git, *command], check=True)
    return files


def seconds(command, directory):
    start = time.perf_counter()
    result = subprocess.run(
        command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    taken = time.perf_counter() - start
    if result.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {result.returncode}: {result.stderr}")
    return taken


def measure(program, directory, files, runs):
    names = [str(file.relative_to(directory)) for file in files]
    commands = {"cat": ["cat", *names], "verify": [str(program), "verify", "-r"]}
    times = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            taken = seconds(command, directory)
            if run > 0:  # The first fills the page cache.
                times[name].append(taken)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name:7} median {medians[name] * 1000:6.1f} ms, {min(values) * 1000:.1f} to {max(values) * 1000:.1f}")
    print(f"ratio   {medians['verify'] / medians['cat']:.2f}, load average {os.getloadavg()[0]:.2f}")


def measure_change(program, directory, runs):
    command = [str(program), "verify", "-r", "--base", "HEAD"]
    main_files = sorted(directory.rglob("main.tf"))[::2]
    texts = [file.read_text() for file in main_files]
    times = {"": [], "# changed\n": []}
    for _ in range(runs):
        for end, values in times.items():
            for file, text in zip(main_files, texts):
                file.write_text(text + end)
            subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=directory, stdout=subprocess.DEVNULL)
            values.append(seconds(command, directory))
    before, after = map(statistics.median, times.values())
    print(f"--base  median {before * 1000:6.1f} ms, {after * 1000:.1f} if {len(main_files)} root modules are changed")
    print(f"ratio   {after / before:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
    parser.add_argument("--roots", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY", help="make the tree there and leave it")
    options = parser.parse_args()
    if options.keep:
        make_tree(options.keep, options.roots)
        return
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        files = make_tree(directory, options.roots)
        size = sum(file.stat().st_size for file in files)
        print(f"{options.roots} root modules, {len(files)} files, {size / 1e6:.1f} MB, {os.cpu_count()} cores")
        measure(options.program.resolve(), directory, files, options.runs)
        measure_change(options.program.resolve(), directory, options.runs)


if __name__ == "__main__":
    main()
