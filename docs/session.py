#!/usr/bin/env python3
"""Draws docs/session.svg, the picture in README.md: a terminal in which provlock works on a small project.

    docs/session.py [PROGRAM]        # target/release/provlock unless another one is named
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
FILES = {
    "project/main.tf": 'module "names" {\n  source = "./names"\n}\n\nresource "null_resource" "this" {}\n',
    "project/versions.tf": """terraform {
  required_providers {
    null   = { source = "hashicorp/null", version = "~> 3.2" }
    random = { source = "hashicorp/random", version = "~> 3.6.0" }
  }
}
""",
    "project/names/main.tf": """terraform {
  required_providers {
    random = { source = "hashicorp/random", version = ">= 3.5" }
  }
}
""",
    "project/site.tf": 'module "site" {\n  source = "DIRECTORY/site.zip"\n}\n',
    "project/provlock.toml": 'platforms = ["linux_amd64", "darwin_arm64"]\n',
}
COMMANDS = [
    "provlock lock --modules --fs-mirror ../mirror",
    "provlock get",
    "provlock tree hashicorp/random",
    "provlock upgrade --fs-mirror ../mirror --constraints",
    "provlock diff",
]
COLORS = {"1": "#ffffff", "2": "#7f849c", "31": "#f38ba8", "32": "#a6e3a1", "33": "#f9e2af", "36": "#89dceb"}
TEXT, PROMPT = "#cdd6f4", "#89b4fa"
CHARACTER, LINE, MARGIN, TOP = 8.4, 20, 20, 52


def session(program):
    """The lines of the terminal, each a list of texts with their colours."""
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        shutil.copytree(REPOSITORY / "testdata/mirror", directory / "mirror")
        for name, content in FILES.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(content.replace("DIRECTORY", str(directory.resolve())))
        with zipfile.ZipFile(directory / "site.zip", "w") as archive:
            archive.writestr("main.tf", "locals {}\n")
        (directory / "bin").mkdir()
        (directory / "bin/provlock").symlink_to(program.resolve())
        variables = {
            "PATH": f"{directory}/bin:{os.environ['PATH']}",
            "HOME": str(directory),
            "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
        }

        def run(command):
            result = subprocess.run(["sh", "-c", command], cwd=directory / "project", env=variables, check=True,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return result.stdout

        run("git init --quiet")
        lines = []
        for command in COMMANDS:
            lines.append([("$ ", PROMPT), (command, TEXT)])
            lines += [spans(line) for line in run(f"{command} --color=always --dialect=tofu").splitlines()]
            lines.append([])
            if command.startswith("provlock lock"):
                run("git add . && git commit --quiet --message=Lock")
        return lines[:-1]


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
    (REPOSITORY / "docs/session.svg").write_text(picture(session(program)))
