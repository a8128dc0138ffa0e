#!/usr/bin/env python3
"""Counts what `provlock verify --base` says about honest pull requests, which contain no impostor.

    cargo build --release && benches/honest.py DIRECTORY
    benches/honest.py DIRECTORY --program target/debug/provlock --pairs 1000

DIRECTORY holds lock files of public repositories, however they are named. With an `index.tsv` there (number, repository,
path; the file is locks/NUMBER.lock.hcl) the files of the same path are a history, and each two in a row a pull request.
Further ones are made up from the files until there are enough: a newer version of a provider, a provider that another
file has, hashes of one more platform, one more root module. Prints how often each finding came about news, and how many are false: a
`look-alike`, or news of a host, namespace or provider that the base has.
"""

import argparse
import collections
import itertools
import json
import pathlib
import random
import re
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LOCK_FILE = ".terraform.lock.hcl"
ADDRESS = re.compile(r'^\s*provider\s+"([^"]+)"', re.MULTILINE)
BLOCK = re.compile(r'^provider "[^"]+" \{\n.*?^\}\n', re.MULTILINE | re.DOTALL)
VERSION = re.compile(r'(\n\s*version\s*=\s*")(\d+)\.(\d+)\.(\d+)')
NEWS = ["look-alike", "publisher-added", "signing-key-changed"]
# How many parts of an address are new, for the reasons of `publisher-added` that are about an address. A host that replaces
# another one is not among them: the files come from projects that moved from one registry to the other.
NEW_PARTS = {"host-added": 1, "namespace-added": 2, "provider-added": 3}


def histories(directory: pathlib.Path):
    """Pairs of texts that were one lock file, one after the other."""
    index = directory / "index.tsv"
    if not index.exists():
        return
    files = collections.defaultdict(list)
    for line in index.read_text(encoding="utf-8").splitlines():
        number, repository, path = line.split("\t")[:3]
        files[repository, path].append(read(directory / "locks" / f"{number}.lock.hcl"))
    for texts in files.values():
        for new, old in itertools.pairwise(texts):
            yield "history", {"live": old}, {"live": new}


def made_up(texts, chance):
    """Pull requests made from lock files, without end."""
    blocks = {ADDRESS.search(block)[1]: block for text in texts for block in BLOCK.findall(text)}
    for base in itertools.cycle(texts):
        old = {"live": base}
        yield "version", old, {"live": VERSION.sub(lambda m: f"{m[1]}{m[2]}.{int(m[3]) + 1}.0", base, count=1)}
        address, block = chance.choice(sorted(blocks.items()))
        if address not in ADDRESS.findall(base):
            yield "provider", old, {"live": f"{base.rstrip()}\n\n{block}"}
        digest = "".join(chance.choices("0123456789abcdef", k=64))
        yield "platform", old, {"live": base.replace('    "zh:', f'    "zh:{digest}",\n    "zh:', 1)}
        yield "root", old, {"live": base, "more": chance.choice(texts)}


def read(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")


def configuration(text: str) -> str:
    sources = sorted(set(ADDRESS.findall(text)))
    required = "".join(f'    p{n} = {{\n      source = "{source}"\n    }}\n' for n, source in enumerate(sources))
    return f"terraform {{\n  required_providers {{\n{required}  }}\n}}\n"


def commit(project: pathlib.Path, roots) -> None:
    for root in ("live", "more"):
        for name, content in ((LOCK_FILE, str), ("main.tf", configuration)):
            path = project / root / name
            if root in roots:
                path.parent.mkdir(exist_ok=True)
                path.write_text(content(roots[root]), encoding="utf-8")
            else:
                path.unlink(missing_ok=True)
    # Nothing may run in the background while the directory is removed.
    settings = ["gc.auto=0", "maintenance.auto=false", "user.name=a", "user.email=a@example.com"]
    git = ["git", "-C", project, *itertools.chain.from_iterable(("-c", setting) for setting in settings)]
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=a"], check=True)


def findings(program: pathlib.Path, project: pathlib.Path):
    command = [program, "verify", "--recursive", "--json", "--base", "HEAD~1"]
    output = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False).stdout
    report = json.loads(output)
    return [finding for root in report["roots"] for finding in root.get("findings") or []]


def is_news(finding) -> bool:
    if finding["code"] == "publisher-added":
        return finding["reason"] in NEW_PARTS
    return finding["code"] in NEWS


def is_false(finding, old) -> bool:
    known = {address for text in old.values() for address in ADDRESS.findall(text)}
    about = [address.split("/") for address in finding["providers"]]
    if finding["code"] != "publisher-added":
        return True
    parts = NEW_PARTS[finding["reason"]]
    return any(other.split("/")[:parts] == address[:parts] for address in about for other in known)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target/release/provlock")
    parser.add_argument("--pairs", type=int, default=1000)
    arguments = parser.parse_args()
    texts = [read(path) for path in sorted(arguments.directory.rglob("*.hcl"))]
    texts = [text for text in texts if ADDRESS.search(text)]
    requests = itertools.chain(histories(arguments.directory), made_up(texts, random.Random(1)))
    kinds, found, false = collections.Counter(), collections.Counter(), collections.Counter()
    stopped = 0
    with tempfile.TemporaryDirectory() as directory:
        project = pathlib.Path(directory)
        subprocess.run(["git", "init", "--quiet", project], check=True)
        for kind, old, new in itertools.islice(requests, arguments.pairs):
            commit(project, old)
            commit(project, new)
            kinds[kind] += 1
            news = [finding for finding in findings(arguments.program.resolve(), project) if is_news(finding)]
            stopped += any(finding["severity"] == "error" for finding in news)
            for finding in news:
                found[finding["code"]] += 1
                if is_false(finding, old):
                    false[finding["code"]] += 1
                    print(f"false: {finding['message']}")
    print(f"{sum(kinds.values())} pull requests:", ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    for code in NEWS:
        print(f"{code:22} {found[code]:5} found, {false[code]:3} false")
    print(f"{stopped} pull requests were stopped by one of these")


if __name__ == "__main__":
    main()
