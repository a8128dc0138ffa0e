#!/usr/bin/env python3
"""Prints the peak memory and the time of provlock while a registry or a repository is as large as it may be, and larger.

    cargo build && benches/hostile.py           every case, with one provider and with 64
    benches/hostile.py --case platforms         one of them
    benches/hostile.py --attacks                every attack by a repository
    benches/hostile.py --attack "many branches" one of them
    benches/hostile.py --program target/release/provlock

An attack by a repository is tried with a quarter of the number, too, and how often its processor time the whole takes is
printed: about 4 times where time grows as the input does, 16 times where it grows with the square.

The tests' registry (`benches/registry.rs`) answers all requests about providers, 64 side by side, with the same hostile
answer. Ends with 1 if a run takes more than 64 MiB beyond what a run without hostile answers takes, or 256 MiB for all 64; or if an attack takes more
than 256 MiB, or 10 seconds of processor time.

Peak memory is what the system accounts for the process (`ru_maxrss`), so it is never below this script's own.
"""

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import traceback
import zlib

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PROVIDERS = 64
MIB = 1 << 20


def fill(first, element, last, size, most=10**9):
    """The pieces of a document of about so many bytes: `element(number)` again and again, between `first` and `last`."""
    length, number, separator = len(first) + len(last), 0, ""
    yield first
    while number < most and length + len(part := separator + element(number)) <= size:
        yield part
        length, number, separator = length + len(part), number + 1, ","
    yield last


def versions(element, size=4 * MIB):
    return fill('{"versions":[', element, "]}", size, 10_000)


def listed(name, elements):
    return lambda number: '{"version":"1.0.%d","%s":[%s]}' % (number, name, elements)


def metadata(members):
    document = {
        "protocols": ["5.0"],
        "os": "linux",
        "arch": "amd64",
        "filename": "terraform-provider-p.zip",
        "download_url": "/none.zip",
        "shasums_url": "/none_SHA256SUMS",
        "shasums_signature_url": "/none_SHA256SUMS.sig",
        "shasum": "0" * 64,
    }
    return json.dumps(document | members)


def keys():
    return {"signing_keys": {"gpg_public_keys": [{"key_id": "A", "ascii_armor": "k" * 8000} for _ in range(64)]}}


def packages():
    hashes = ["zh:" + "0" * 64] + ["h1:%d" % number for number in range(15)]
    return {"packages": {"os%d_arch" % number: {"hashes": hashes, "package_size": 1} for number in range(250)}}


# The request, and the hostile answer.
CASES = {
    "versions": ("*/versions", lambda: versions(lambda number: '{"version":"1.0.%d"}' % number)),
    "protocols": ("*/versions", lambda: versions(listed("protocols", ",".join('"%d"' % p for p in range(64))))),
    "short protocols": ("*/versions", lambda: versions(listed("protocols", ",".join(['""'] * 64)))),
    "platforms": (
        "*/versions",
        lambda: versions(listed("platforms", ",".join('{"os":"a%d","arch":"b"}' % p for p in range(16)))),
    ),
    "short platforms": ("*/versions", lambda: versions(listed("platforms", ",".join(['{"os":"","arch":""}'] * 256)))),
    "long versions": ("*/versions", lambda: versions(lambda number: '{"version":"1.0.%d-%s"}' % (number, "a" * 100))),
    "warnings": (
        "*/versions",
        lambda: fill('{"versions":[{"version":"1.1.0"}],"warnings":[', lambda number: '"%s"' % ("w" * 60_000), "]}", 64 * 60_003),
    ),
    "too many": ("*/versions", lambda: fill('{"versions":[', lambda number: '{"version":"1.0.%d"}' % number, "]}", 4 * MIB)),
    "too large": ("*/versions", lambda: ['{"versions":[', *[" " * MIB] * 64]),
    "endless nesting": ("*/versions", lambda: ['{"versions":', *["[" * MIB] * 3]),
    "keys": ("*/download/*", lambda: [metadata(keys())]),
    "packages": ("*/download/*", lambda: [metadata(packages())]),
    "discovery": ("*/.well-known/terraform.json", lambda: fill("{", lambda number: '"%d":[]' % number, "}", 64 << 10)),
    "sums": ("*_SHA256SUMS", lambda: ["a b\n" * (64 << 10)]),
}


class Registry:
    """The tests' registry as a process of its own."""

    def __init__(self, program, pattern, answer, providers):
        command = [program] if program else ["cargo", "bench", "--quiet", "--bench", "registry", "--"]
        command += ["--host", "registry.opentofu.org", "--providers", str(providers), "--platforms", "1", "--size", "1KB"]
        if pattern:
            command += ["--body", f"{pattern}={answer}"]
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.description = json.loads(self.process.stdout.readline())

    def __enter__(self):
        return self.description

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def required(providers):
    entries = "".join(f'    p{number} = {{\n      source = "bench/p{number}"\n    }}\n' for number in range(1, providers + 1))
    return f"terraform {{\n  required_providers {{\n{entries}  }}\n}}\n"


def peak(program, arguments, project, environment):
    """The peak memory of a run in bytes, its exit code, the first line that it printed, and its processor time in seconds."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([program, *arguments], cwd=project, env=environment, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        first = output.readline().decode(errors="replace").strip()
    return usage.ru_maxrss * 1024, process.returncode, first, usage.ru_utime + usage.ru_stime


def lock(options, pattern, answer, providers):
    with tempfile.TemporaryDirectory() as temporary:
        home = pathlib.Path(temporary)
        project = home / "project"
        project.mkdir()
        (project / "main.tf").write_text(required(providers))
        with Registry(options.registry_program, pattern, answer, providers) as registry:
            environment = {
                "PATH": os.environ["PATH"],
                "HOME": temporary,
                "HTTPS_PROXY": registry["proxy"],
                "SSL_CERT_FILE": registry["certificate_file"],
                "PROVLOCK_DIALECT": "tofu",
                "TF_REGISTRY_CLIENT_TIMEOUT": "120",
            }
            return peak(options.program, ["lock", "-p", "linux_amd64"], project, environment)


VERIFY = ["verify", "-r"]
LOCK = ["lock", "-r", "--check", "-p", "linux_amd64", "--offline"]
FETCH = ["lock", "--check", "-p", "linux_amd64"]
EMPTY_XZ = lzma.compress(b"")


def of(name, line):
    """A file with a line for each number."""
    return lambda project, number: write(project / name, "".join(line(index) for index in range(number)))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def link(name):
    def make(project, _):
        write(project / "main.tf", required(1))
        write(project / "d/main.tf", "")
        (project / name).symlink_to("/dev/zero")

    return make


def roots(own, count=8_000):
    def make(project, number):
        errors = lambda root: "".join('resource "a%d" "b%d" {}\n' % (root, index) * 2 for index in range(count))
        write(project / "shared/main.tf", errors(0))
        for root in range(number):
            content = errors(root) if own else 'module "m" {\n  source = "../shared"\n}\n'
            write(project / f"root{root}/main.tf", 'terraform {\n  backend "local" {}\n}\n' + content)

    return make


def change(name):
    """A change that makes a link to a device of a file."""

    def make(project, number):
        git = git_in(project)
        write(project / "main.tf", required(1))
        git("init", "--quiet", "--initial-branch=main")
        git("add", "--all")
        git("commit", "--quiet", "--message=m")
        git("checkout", "--quiet", "-b", "change")
        link(name)(project, number)
        git("add", "--all")
        git("commit", "--quiet", "--message=m")

    return make


def git_in(directory):
    """Runs git in a directory."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@a.test"]
    return lambda *arguments, **options: subprocess.run([*command, *arguments], cwd=directory, check=True, capture_output=True, **options)


def archive(name, content):
    """A call of a module in an archive."""

    def make(project, number):
        write(project / name, content(number))
        write(project / "main.tf", 'module "m" {\n  source = "file://%s"\n}\n' % (project / name))

    return make


def long_name(number):
    """A tar archive with an entry whose name has so many parts."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("a/" * number + "b"))
    return gzip.compress(output.getvalue())


def long_names(number):
    """A tar archive with an entry that has so many parts in each of its four names."""
    name = "a/" * number + "b"
    link = tarfile.TarInfo(name)
    link.type, link.linkname, link.pax_headers = tarfile.SYMTYPE, name, {"path": name, "linkpath": name}
    plain = tarfile.TarInfo("a")
    plain.type, plain.linkname = tarfile.SYMTYPE, "a"
    gnu = link.tobuf(tarfile.GNU_FORMAT)[:-512]
    return gzip.compress(gnu + link.create_pax_header(link.get_info(), "utf-8")[:-512] + plain.tobuf() + bytes(1024))


def large_dictionary(number):
    """An xz archive that demands a dictionary of 2 to the power of so many bytes."""
    archive = bytearray(lzma.compress(bytes(1024)))
    # The header of the first block: the size of the dictionary, and at its end a checksum of what is before.
    archive[16] = max(0, 2 * (number - 12))
    archive[20:24] = zlib.crc32(archive[12:20]).to_bytes(4, "little")
    return bytes(archive)


def repository(fill, query):
    """A call of a module in a git repository."""

    def make(project, number):
        origin = project.parent / "origin"
        git = git_in(origin)
        origin.mkdir()
        git("init", "--quiet", "--initial-branch=main")
        write(origin / "main.tf", "")
        git("add", "main.tf")
        git("commit", "--quiet", "--message=m")
        fill(origin, git, number)
        write(project / "main.tf", 'module "m" {\n  source = "git::file://%s%s"\n}\n' % (origin, query))

    return make


def branches(origin, git, number):
    head = git("rev-parse", "HEAD").stdout.decode().strip()
    lines = "".join(f"{head} refs/heads/b{index}\n" for index in range(number))
    write(origin / ".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" + lines)


def tree(origin, git, number):
    """Ten entries of ten entries of …: as many files as 10 to the power of the number."""
    nested(git, [f"{index}.tf" for index in range(10)], number)


def deep(origin, git, number):
    """Directories with long names in each other."""
    nested(git, ["d" * 250], number)


def nested(git, names, depth):
    """Commits a tree whose entries are such trees."""
    made, kind = git("hash-object", "-w", "--stdin", input=b"locals {}\n").stdout.decode().strip(), "100644 blob"
    for _ in range(depth):
        lines = "".join(f"{kind} {made}\t{name}\n" for name in names)
        made, kind = git("mktree", input=lines.encode()).stdout.decode().strip(), "040000 tree"
    commit_tree(git, made)


def links(origin, git, number):
    """Links to a name of 60 KB."""
    target = git("hash-object", "-w", "--stdin", input=b"a/" * 30_000).stdout.decode().strip()
    lines = "".join(f"120000 blob {target}\t{index:05}\n" for index in range(number))
    commit_tree(git, git("mktree", input=lines.encode()).stdout.decode().strip())


def commit_tree(git, tree):
    git("update-ref", "refs/heads/main", git("commit-tree", "-m", "m", tree).stdout.decode().strip())


def unfiltered(origin, git, number):
    """So many MiB in one commit."""
    for index in range(number // 64):
        write(origin / f"large{index}", os.urandom(64 << 20))
    git("config", "core.compression", "0")
    git("add", ".")
    git("commit", "--quiet", "--message=m")


KNOWN = '    "h1:%s=",\n' % ("A" * 43)


def entry(address, hashes):
    return 'provider "%s" {\n  version = "1.0.0"\n  hashes = [\n%s  ]\n}\n' % (address, hashes)


def hashes(line):
    text = lambda number: entry("registry.opentofu.org/a/b", "".join(line(index) for index in range(number)))
    return lambda project, number: write(project / ".terraform.lock.hcl", text(number))


def not_required(project, number):
    write(project / "main.tf", 'terraform {\n  backend "local" {}\n}\n')
    of(".terraform.lock.hcl", lambda index: f"# {index}\n\n" + entry(f"registry.opentofu.org/a/p{index}", KNOWN))(project, number)


def forbidden(project, number):
    write(project / "provlock.toml", '[policy]\nallowed-hosts = ["registry.opentofu.org"]\n')
    of(".terraform.lock.hcl", lambda index: entry(f"evil.test/a/p{index}", KNOWN))(project, number)


def configuration_files(project, number):
    for index in range(number):
        write(project / f"{index}.tf", "")


def sparse_package(project, number):
    """A package of a filesystem mirror that has a hole of so many GiB."""
    write(project / "main.tf", required(1))
    folder = project / "mirror/registry.opentofu.org/bench/p1/1.0.0/linux_amd64"
    write(folder / "terraform-provider-p1_v1.0.0", "")
    os.truncate(folder / "terraform-provider-p1_v1.0.0", number << 30)


def nested_glob(project, number):
    write(project / "provlock.toml", '[roots]\nexclude = ["%s%s"]\n' % ("{" * number, "}" * number))


def json_of(name, first, element, last):
    """A file of JSON with an element for each number."""
    return lambda project, number: write(project / name, first + ",".join(element(index) for index in range(number)) + last)


def doubled(name, first, last):
    """Values that each contain the previous value twice."""

    def make(project, number):
        line = lambda index: f'  a{index + 1} = "${{local.a{index}}}${{local.a{index}}}"\n'
        lines = "".join(line(index) for index in range(number))
        write(project / name, f'locals {{\n  a0 = "x"\n{lines}}}\n{first}${{local.a{number}}}{last}')

    return make


def beside_variable(make):
    """A file of values beside a module that needs one."""

    def make_both(project, number):
        write(project / "main.tf", 'variable "a0" {}\nmodule "m" {\n  source = "./${var.a0}"\n}\n')
        make(project, number)

    return make_both


def locked_roots(project, lock_file):
    """100 root modules with the same lock file."""
    for root in range(100):
        write(project / f"root{root}/main.tf", 'terraform {\n  backend "local" {}\n}\n')
        write(project / f"root{root}/.terraform.lock.hcl", lock_file)


def settings(line, first="", last=""):
    """Settings with a line for each number, for many root modules."""

    def make(project, number):
        write(project / "provlock.toml", first + "".join(line(index) for index in range(number)) + last)
        locked_roots(project, entry("registry.opentofu.org/a/b", KNOWN))

    return make


def cli_configuration(line):
    def make(project, number):
        of(".tofurc", line)(project.parent, number)
        write(project / "main.tf", required(1))

    return make


def malformed_in_all(project, number):
    locked_roots(project, entry("registry.opentofu.org/a/b", '    "h1:x",\n' * number))


def locked_module(index):
    package = f'  source = "a/b/c"\n  version = "1.0.0"\n  package = "https://h.test/{index}.zip"\n'
    return f'module "m{index}" {{\n{package}  hashes = [\n{KNOWN}  ]\n}}\n'


# An attack of a repository, its size, and the command that meets it.
ATTACKS = {
    "equal resources": (49_000, of("main.tf", lambda _: 'resource "a" "b" {}\n'), VERIFY),
    "equal data sources": (49_000, of("main.tf", lambda _: 'data "a" "b" {}\n'), VERIFY),
    "equal providers": (49_000, of("main.tf", lambda _: 'provider "a" {}\n'), VERIFY),
    "equal module calls": (49_000, of("main.tf", lambda _: 'module "a" {}\n'), VERIFY),
    "resources": (49_000, of("main.tf", lambda index: f'resource "a" "b{index}" {{}}\n'), VERIFY),
    "providers": (1_000, of("main.tf", lambda index: f'provider "a{index}" {{}}\n'), LOCK),
    "registry modules": (49_000, of("main.tf", lambda index: f'module "a{index}" {{\n  source = "a/b/c{index}"\n}}\n'), LOCK),
    "unknown sources": (49_000, of("main.tf", lambda index: f'module "a{index}" {{\n  source = var.a\n}}\n'), VERIFY),
    "7 MB of resources": (350_000, of("main.tf", lambda _: 'resource "a" "b" {}\n'), VERIFY),
    "7 MB of variables": (400_000, of("main.tf", lambda index: f'variable "a{index}" {{}}\n'), VERIFY),
    "7 MB of JSON": (2_300_000, lambda project, number: write(project / "main.tf.json", '{"locals": [%s]}' % ",".join(["{}"] * number)), VERIFY),
    "root modules with errors": (100, roots(True), VERIFY),
    "root modules, errors shared": (100, roots(False), VERIFY),
    "hashes of unknown schemes": (40_000, hashes(lambda index: f'    "x{index}:abc",\n'), VERIFY),
    "malformed hashes": (100_000, hashes(lambda _: '    "h1:x",\n'), VERIFY),
    "forbidden hosts": (10_000, forbidden, VERIFY),
    "ignore patterns": (500_000, of(".gitignore", lambda index: f"a{index}*\n"), VERIFY),
    ".gitignore is /dev/zero": (1, link(".gitignore"), VERIFY),
    "d/.ignore is /dev/zero": (1, link("d/.ignore"), LOCK),
    ".gitignore becomes /dev/zero": (1, change(".gitignore"), [*VERIFY, "--base", "main"]),
    "d/.gitignore becomes /dev/zero": (1, change("d/.gitignore"), [*VERIFY, "--base", "main"]),
    "certificates are /dev/zero": (1, link("certificates"), FETCH),
    "required providers": (49_000, lambda project, number: write(project / "main.tf", required(number)), VERIFY),
    "7 MB of required providers": (140_000, lambda project, number: write(project / "main.tf", required(number)), VERIFY),
    "equal resources in JSON": (49_000, json_of("main.tf.json", '{"resource": {"a": [', lambda _: '{"b": {}}', "]}}"), VERIFY),
    "resources in JSON": (49_000, json_of("main.tf.json", '{"resource": {"a": {', lambda index: f'"b{index}": {{}}', "}}}"), VERIFY),
    "providers in JSON": (
        49_000,
        json_of("main.tf.json", '{"terraform": {"required_providers": {', lambda index: f'"b{index}": "1"', "}}}"),
        VERIFY,
    ),
    "nested lists in JSON": (1_000_000, of("main.tf.json", lambda index: "[" if index else '{"locals": ['), VERIFY),
    "nested templates in JSON": (100_000, json_of("main.tf.json", '{"module": {"m": {"source": "', lambda _: "${", '"}}}'), VERIFY),
    "doublings of a value": (40, doubled("main.tf", 'module "m" {\n  source = "./', '"\n}\n'), VERIFY),
    "operators": (100_000, of("main.tf", lambda index: "!" if index else 'module "m" {\n  source = '), VERIFY),
    "values in tfvars": (49_000, beside_variable(of("terraform.tfvars", lambda index: f"a{index} = 1\n")), VERIFY),
    "equal values in tfvars": (300_000, beside_variable(of("terraform.tfvars", lambda _: "a = 1\n")), VERIFY),
    "values in JSON": (
        300_000,
        beside_variable(json_of("terraform.tfvars.json", "{", lambda index: f'"a{index}": 1', "}")),
        VERIFY,
    ),
    "locals of Terragrunt": (49_000, of("terragrunt.hcl", lambda index: f"locals {{\n  a{index} = 1\n}}\n"), VERIFY),
    "dependencies of Terragrunt": (
        10_000,
        of("terragrunt.hcl", lambda index: f'dependency "a{index}" {{\n  config_path = "../a{index}"\n}}\n'),
        VERIFY,
    ),
    "generated files of Terragrunt": (
        10_000,
        of("terragrunt.hcl", lambda index: f'generate "a{index}" {{\n  path = "a{index}.tf"\n  contents = "terraform {{}}"\n}}\n'),
        VERIFY,
    ),
    "includes of Terragrunt": (
        10_000,
        of("terragrunt.hcl", lambda index: f'include "a{index}" {{\n  path = "terragrunt.hcl"\n}}\n'),
        VERIFY,
    ),
    "doublings in Terragrunt": (40, doubled("terragrunt.hcl", 'terraform {\n  source = "./', '"\n}\n'), VERIFY),
    "allowed hosts": (50_000, settings(lambda index: f'  "h{index}.test",\n', "[policy]\nallowed-hosts = [\n", "]\n"), VERIFY),
    "denied versions": (
        10_000,
        settings(lambda index: f'[[policy.deny]]\nprovider = "a/b{index}"\nversions = "< 1.{index}"\n'),
        VERIFY,
    ),
    "excluded roots": (
        10_000,
        settings(lambda index: f'  "a{index}/**/{{b,c}}*",\n', "[roots]\nexclude = [\n", "]\n"),
        VERIFY,
    ),
    "tables of settings": (90_000, settings(lambda _: "[[verify]]\n"), VERIFY),
    "hosts in the CLI configuration": (
        15_000,
        cli_configuration(lambda index: f'host "h{index}.test" {{\n  services = {{}}\n}}\n'),
        LOCK,
    ),
    "installation methods": (
        15_000,
        cli_configuration(lambda _: 'provider_installation {\n  direct {\n    include = ["a/*"]\n  }\n}\n'),
        LOCK,
    ),
    "entries of providers": (
        28_000,
        of(".terraform.lock.hcl", lambda index: entry(f"registry.opentofu.org/a/p{index}", KNOWN)),
        VERIFY,
    ),
    "entries of one provider": (28_000, of(".terraform.lock.hcl", lambda _: entry("registry.opentofu.org/a/b", KNOWN)), VERIFY),
    "entries that nothing requires": (28_000, not_required, [*LOCK, "--prune"]),
    "hashes": (52_000, hashes(lambda index: '    "zh:%064x",\n' % index), VERIFY),
    "locked modules": (20_000, of(".modules.lock.hcl", locked_module), VERIFY),
    "root modules with errors, as JSON": (100, roots(True), [*VERIFY, "--json"]),
    "root modules with errors, as SARIF": (100, roots(True), [*VERIFY, "--format", "sarif"]),
    "root modules with errors, lock --json": (100, roots(True), [*LOCK, "--json"]),
    "small root modules with errors, as SARIF": (1_000, roots(True, 800), [*VERIFY, "--format", "sarif"]),
    "small root modules with errors, lock --json": (1_000, roots(True, 800), [*LOCK, "--json"]),
    "malformed hashes in each of 100 lock files": (10_000, malformed_in_all, [*VERIFY, "--json"]),
    "braces in a glob": (50_000, nested_glob, VERIFY),
    "parts of each of four names in a tar archive": (32_000, archive("m.tar.gz", long_names), FETCH),
    "parts of a name in a tar archive": (32_000, archive("m.tar.gz", long_name), FETCH),
    "members of a JSON configuration": (
        399_000,
        json_of("main.tf.json", "{", lambda index: f'"a{index}": 1', "}"),
        VERIFY,
    ),
    "values of a JSON configuration": (
        399_000,
        json_of("main.tf.json", '{"locals": {"a": [', lambda index: '"123456"', "]}}"),
        VERIFY,
    ),
    "configuration files": (10_000, configuration_files, VERIFY),
    "too many configuration files": (99_000, configuration_files, VERIFY),
    "GiB of a sparse package": (40, sparse_package, FETCH + ["--fs-mirror", "mirror"]),
    "empty xz streams": (5_000, archive("m.tar.xz", lambda number: EMPTY_XZ * number), FETCH),
    "empty bzip2 streams": (60_000, archive("m.tar.bz2", lambda number: bz2.compress(b"") * number), FETCH),
    "bits of an xz dictionary": (29, archive("m.tar.xz", large_dictionary), FETCH),
    "powers of ten of files": (10, repository(tree, ""), FETCH),
    "directories with long names": (600, repository(deep, ""), FETCH),
    "links to 60 KB": (3_000, repository(links, ""), FETCH),
    "many branches": (200_000, repository(branches, "?ref=x~0"), FETCH),
    "MiB in one commit": (768, repository(unfiltered, ""), FETCH),
}


def apart(work):
    """Does something in a process of its own: its memory would be counted for every process started later."""
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("an attack could not be made")


def attack(options, make, number, arguments):
    """The size of the attack in bytes, and what came of it."""
    with tempfile.TemporaryDirectory() as temporary:
        project = pathlib.Path(temporary) / "project"
        project.mkdir()
        apart(lambda: make(project, number))
        if not list(project.glob("root*")) and not (project / ".terraform.lock.hcl").exists():
            write(project / ".terraform.lock.hcl", "")
        environment = {"PATH": os.environ["PATH"], "HOME": temporary, "PROVLOCK_DIALECT": "tofu"}
        if (project / "certificates").is_symlink():
            environment["SSL_CERT_FILE"] = str(project / "certificates")
        files = [path for path in pathlib.Path(temporary).rglob("*") if path.is_file()]
        return sum(path.stat().st_size for path in files), peak(options.program, arguments, project, environment)


def show(name, result, ratio=""):
    memory, code, first, seconds = result
    print(f"| {name} | {memory / MIB:.0f} MiB | {seconds:.1f} s{ratio} | {code} | {first[:90]} |", flush=True)
    return memory


def attacks(options):
    """Whether each attack keeps within the limits."""
    head = "| attack | input | peak memory | processor time, and how often that of a quarter | exit code | first line |"
    print(head + "\n| --- | --- | --- | --- | --- | --- |")
    fine = True
    for name in [options.attack] if options.attack else ATTACKS:
        number, make, arguments = ATTACKS[name]
        _, quarter = attack(options, make, max(1, number // 4), arguments)
        size, whole = attack(options, make, number, arguments)
        name = f"{number:,} {name}" if number > 1 else name
        memory = show(f"{name} | {size / 1000:,.0f} KB", whole, f", {whole[3] / max(quarter[3], 0.01):.1f} times")
        fine &= memory <= 256 * MIB and whole[3] <= 10
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "debug" / "provlock")
    parser.add_argument("--registry-program", metavar="PROGRAM", help="the compiled benches/registry.rs")
    parser.add_argument("--case", choices=CASES, help="this answer of a registry only")
    parser.add_argument("--attack", choices=ATTACKS, help="this attack by a repository only")
    parser.add_argument("--attacks", action="store_true", help="only the attacks by a repository")
    options = parser.parse_args()
    options.program = options.program.resolve()
    if options.attack or options.attacks:
        sys.exit(0 if attacks(options) else 1)
    print("| answer | peak memory | processor time | exit code | first line |\n| --- | --- | --- | --- | --- |")
    plain = {providers: show(f"right, × {providers}", lock(options, None, None, providers)) for providers in (1, PROVIDERS)}
    fine = True
    with tempfile.TemporaryDirectory() as temporary:
        answer = pathlib.Path(temporary) / "answer"
        for name in [options.case] if options.case else CASES:
            pattern, document = CASES[name]
            with answer.open("w") as file:
                file.writelines(document())
            one = show(f"{name}, × 1", lock(options, pattern, answer, 1))
            all_of_them = show(f"{name}, × {PROVIDERS}", lock(options, pattern, answer, PROVIDERS))
            fine &= one - plain[1] <= 64 * MIB and all_of_them <= 256 * MIB
    if not options.case:
        fine &= attacks(options)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
