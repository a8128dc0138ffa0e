"""Repositories, and what they name, that are as large as they may be, and larger: the attacks of `hostile.py`."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import tarfile
import zlib


VERIFY = ["verify", "-r"]
CHANGE = [*VERIFY, "--base", "main"]
LOCK = ["lock", "-r", "--check", "-p", "linux_amd64", "--offline"]
FETCH = ["lock", "--check", "-p", "linux_amd64"]
EMPTY_XZ = lzma.compress(b"")


def required(providers):
    entries = "".join(f'    p{number} = {{\n      source = "bench/p{number}"\n    }}\n' for number in range(1, providers + 1))
    return f"terraform {{\n  required_providers {{\n{entries}  }}\n}}\n"


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


def pull_request(base, change):
    """A repository, and a branch with a change of it. Both write files for a number."""

    def make(project, number):
        git = git_in(project)
        base(project, number)
        git("init", "--quiet", "--initial-branch=main")
        git("add", "--all")
        git("commit", "--quiet", "--message=m")
        git("checkout", "--quiet", "-b", "change")
        change(project, number)
        git("add", "--all")
        git("commit", "--quiet", "--message=m")

    return make


def empty_root(project, _):
    write(project / "live/main.tf", 'resource "terraform_data" "a" {}\n')
    write(project / "live/.terraform.lock.hcl", "# empty\n")


def equal_roots(project, number):
    """Root modules that differ in one file only, so that each may be any of the others."""
    for index in range(number):
        write(project / f"old/{index}/main.tf", f'resource "terraform_data" "a{index}" {{}}\n')
        write(project / f"old/{index}/versions.tf", required(1))
        write(project / f"old/{index}/.terraform.lock.hcl", locked("bench/p1")("1.0.0"))


def locked(address):
    return lambda version: f'provider "registry.opentofu.org/{address}" {{\n  version = "{version}"\n}}\n\n'


def entries(version):
    return of("live/.terraform.lock.hcl", lambda index: locked(f"a/p{index}")(version))


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
    ".gitignore becomes /dev/zero": (1, change(".gitignore"), CHANGE),
    "d/.gitignore becomes /dev/zero": (1, change("d/.gitignore"), CHANGE),
    "units in a new stack, with --base": (
        4_000,
        pull_request(
            empty_root,
            of(
                "live/terragrunt.stack.hcl",
                lambda index: f'unit "u{index}" {{\n  source = "git::https://a.test/u.git//u{index}?ref=${{local.v}}"\n  path = "u{index}"\n}}\n',
            ),
        ),
        CHANGE,
    ),
    "generated files of unknown content, with --base": (
        4_000,
        pull_request(
            empty_root,
            of(
                "live/terragrunt.hcl",
                lambda index: f'generate "g{index}" {{\n  path = "g{index}.tf"\n  if_exists = "overwrite"\n  contents = run_cmd("x{index}")\n}}\n',
            ),
        ),
        CHANGE,
    ),
    "new versions, with --base": (20_000, pull_request(entries("1.0.0"), entries("1.1.0")), CHANGE),
    "new module calls, with --base": (
        10_000,
        pull_request(empty_root, of("live/main.tf", lambda index: f'module "m{index}" {{\n  source = "git::https://a.test/m{index}.git"\n}}\n')),
        CHANGE,
    ),
    "moved root modules, with --base": (1_000, pull_request(equal_roots, lambda project, _: (project / "old").rename(project / "new")), CHANGE),
    "components of Atmos, with --base": (
        10_000,
        pull_request(
            empty_root,
            lambda project, number: write(
                project / "stacks/a.yaml",
                "components:\n  terraform:\n" + "".join(f"    c{index}:\n      backend:\n        s3:\n          bucket: b{index}\n" for index in range(number)),
            ),
        ),
        CHANGE,
    ),
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
