#!/usr/bin/env python3
"""Draws two pictures of a terminal: docs/session.svg, in which provlock locks two providers and stops a pull request, and
docs/modules.svg, in which it locks and installs a module that is replaced later.

    docs/session.py [PROGRAM]        # target/release/provlock unless another one is named
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

# It is shown, so it has the same name in each run.
DIRECTORY = pathlib.Path("/tmp/demo")
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
CONFIGURATION = """terraform {
  required_providers {
    null   = { source = "hashicorp/null", version = "~> 3.2" }
    random = { source = "hashicorp/random", version = "~> 3.6.0" }
  }
}
"""
IMPOSTOR = """
provider "registry.hashicorp-aws.com/hashicorp/awsbeta" {
  version = "1.0.0"
  hashes = [
    "h1:0Ww1QkjMbY2dDzVtq5nS8rXo7fKpLhUe3aGcI6JvT9g=",
  ]
}
"""
COLORS = {"1": "#ffffff", "2": "#7f849c", "31": "#f38ba8", "32": "#a6e3a1", "33": "#f9e2af", "36": "#89dceb", "91": "#f38ba8", "93": "#f9e2af",
          "94": "#89b4fa", "96": "#89dceb"}
TEXT, PROMPT = "#cdd6f4", "#89b4fa"
CHARACTER, LINE, MARGIN, TOP = 8.4, 20, 20, 52


class Terminal:
    """A project with the mirror of the tests beside it, and what a terminal there shows: lines of texts with their colours."""

    def __init__(self, program, directory):
        self.directory, self.project, self.lines = directory, directory / "project", []
        shutil.copytree(REPOSITORY / "testdata/mirror", directory / "mirror")
        (directory / "bin").mkdir()
        (directory / "bin/provlock").symlink_to(program.resolve())
        self.project.mkdir()
        self.variables = {
            "PATH": f"{directory}/bin:{os.environ['PATH']}",
            "HOME": str(directory),
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
        }
        self.run("git init --quiet --initial-branch=main")

    def run(self, command):
        result = subprocess.run(["sh", "-c", command], cwd=self.project, env=self.variables, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return result.stdout

    def show(self, command):
        output = self.run(f"{command} --color=always --dialect=tofu").rstrip()
        self.lines += [[("$ ", PROMPT), (command, TEXT)], *map(spans, output.splitlines()), []]

    def comment(self, text):
        self.lines.append([(f"# {text}", COLORS["2"])])


def pull_request(terminal):
    lock_file = terminal.project / ".terraform.lock.hcl"
    (terminal.project / "main.tf").write_text(CONFIGURATION)
    terminal.show("provlock lock --fs-mirror ../mirror -p linux_amd64,darwin_arm64,windows_amd64")
    terminal.run("git add . && git commit --quiet --message=Lock && git switch --quiet --create change")
    before, random = lock_file.read_text().split("hashicorp/random")
    forged = re.sub(r'"h1:(.{37})', lambda match: '"h1:' + match[1][::-1], random)
    lock_file.write_text(f"{before}hashicorp/random{forged}{IMPOSTOR}")
    terminal.comment("a pull request that replaces hashes and brings a provider:")
    terminal.show("provlock verify --base main --quiet")


def modules(terminal):
    def publish(content):
        with zipfile.ZipFile(terminal.directory / "site.zip", "w") as archive:
            archive.writestr(zipfile.ZipInfo("main.tf"), content)

    publish("locals {}\n")
    (terminal.project / "site.tf").write_text(f'module "site" {{\n  source = "{terminal.directory}/site.zip"\n}}\n')
    terminal.show("provlock lock --modules")
    terminal.show("provlock get")
    publish('locals { evil = "yes" }\n')
    terminal.comment("somebody replaces the archive, and the next machine has an empty cache:")
    terminal.run("rm -rf .terraform ../.cache")
    terminal.show("provlock get")


def spans(line):
    """The texts of a line with their colours."""
    color, found = TEXT, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", re.sub(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)", "", line)):
        if part.startswith("\x1b["):
            codes = part[2:-1].split(";")
            color = next((COLORS[code] for code in codes if code in COLORS), TEXT)
        elif part:
            found.append((part, color))
    return found


def picture(lines):
    """The lines as SVG. Each text has its place, so that columns are right in any monospaced font."""
    columns = max(sum(len(text) for text, _ in line) for line in lines)
    width, height = 2 * MARGIN + columns * CHARACTER, TOP + len(lines) * LINE + MARGIN
    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="14"'
        ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">',
        '<rect width="100%" height="100%" rx="8" fill="#1e1e2e"/>',
        *(f'<circle cx="{22 + 20 * number}" cy="22" r="6" fill="{fill}"/>'
          for number, fill in enumerate(["#f38ba8", "#f9e2af", "#a6e3a1"])),
    ]
    for number, line in enumerate(lines):
        column = 0
        for text, color in line:
            if text.strip():
                indent = len(text) - len(text.lstrip())
                x, length = MARGIN + (column + indent) * CHARACTER, len(text.strip()) * CHARACTER
                svg.append(f'<text x="{x:.1f}" y="{TOP + LINE * number + 14}" fill="{color}" textLength="{length:.1f}"'
                           f' xml:space="preserve">{html.escape(text.strip())}</text>')
            column += len(text)
    return "\n".join([*svg, "</svg>", ""])


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "target/release/provlock")
    for name, story in [("session", pull_request), ("modules", modules)]:
        DIRECTORY.mkdir()
        try:
            terminal = Terminal(program, DIRECTORY)
            story(terminal)
        finally:
            shutil.rmtree(DIRECTORY)
        (REPOSITORY / f"docs/{name}.svg").write_text(picture(terminal.lines[:-1]))
