#!/usr/bin/env python3
"""Measures how the time and the memory of commands grow with what they are given, and draws it.

    benches/curves.py                                  all curves; prints a table
    benches/curves.py --curve versions --runs 5        one of: verify, lock, providers, versions, package
    benches/curves.py --plot docs/curves.svg           also draws them

All requests go to the tests' registry on this machine, without latency, with an empty cache each time. Times are medians, and so is
the peak memory of the process. The exponent is that of the last step, where fixed costs count least: 1 is in proportion, 2 the square.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import verify_many
from compare import HOST, REPOSITORY, Registry, machine

BASE = {"providers": 1, "platforms": 1, "size": "10000", "content": False, "latency": 0}
# The input that each curve grows, and how.
CURVES = {
    "verify": ("`verify -r`, root modules of 3 providers", [1, 10, 100, 1_000, 10_000]),
    "lock": ("`lock -r`, root modules of 3 providers", [1, 10, 100, 1_000, 10_000]),
    "providers": ("`lock`, providers", [1, 10, 100, 1_000]),
    "versions": ("`lock`, versions of a provider", [10, 100, 1_000, 10_000]),
    "package": ("`lock`, MB of a package", [1, 5, 50, 500]),
}


def configuration(providers):
    blocks = "".join(f'    {name.split("/")[1]} = {{ source = "{name}" }}\n' for name in providers)
    return f'terraform {{\n  required_providers {{\n{blocks}  }}\n  backend "local" {{}}\n}}\n'


def version_list(count, directory):
    """A list with many old versions before the published ones."""
    platforms = [{"os": "linux", "arch": "amd64"}]
    old = [f"0.{number // 100}.{number % 100}" for number in range(count - 2)]
    versions = [{"version": version, "protocols": ["5.0"], "platforms": platforms} for version in [*old, "1.0.0", "1.1.0"]]
    path = directory / f"versions-{count}.json"
    path.write_text(json.dumps({"versions": versions}))
    return path


class Curves:
    def __init__(self, options, directory):
        self.options, self.directory, self.number = options, directory, 0

    def measure(self, command, project, variables=None, before=None):
        """The median seconds and bytes of peak memory of a command."""
        results = []
        for _ in range(self.options.runs):
            self.number += 1
            home = self.directory / f"home-{self.number}"
            home.mkdir()
            if before:
                before()
            environment = {"PATH": os.environ["PATH"], "HOME": str(home)} | (variables or {})
            start = time.perf_counter()
            process = subprocess.Popen(command, cwd=project, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            said = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            results.append((time.perf_counter() - start, usage.ru_maxrss * 1024))
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                raise SystemExit(f"{command} ended with {process.returncode}: {said.decode()[-2000:]}")
        return tuple(statistics.median(values) for values in zip(*results))

    def lock(self, project, scenario, bodies=(), recursive=False):
        """Locks what is in a project anew each time, with a registry for it."""
        registry = Registry(BASE | scenario, self.options.registry, False, bodies)
        variables = {"HTTPS_PROXY": registry.description["proxy"], "SSL_CERT_FILE": registry.description["certificate_file"]}
        command = [self.options.program, "lock", "--dialect", "terraform", "-p", "linux_amd64", *(["-r"] if recursive else [])]
        remove = lambda: [path.unlink() for path in project.rglob(".terraform.lock.hcl")]
        measured = self.measure(command, project, variables, remove)
        registry.end()
        return measured

    def project(self, providers):
        self.number += 1
        project = self.directory / f"project-{self.number}"
        project.mkdir()
        (project / "main.tf").write_text(configuration(providers))
        return project

    def point(self, curve, size):
        if curve == "verify":
            project = self.directory / f"verify-{size}"
            verify_many.make_tree(project, size)
            return self.measure([self.options.program, "verify", "-r"], project)
        if curve == "lock":
            project = self.directory / f"lock-{size}"
            for root in range(size):
                (project / f"root-{root}").mkdir(parents=True)
                names = [f"bench/p{1 + (root + one) % 50}" for one in range(3)]
                (project / f"root-{root}" / "main.tf").write_text(configuration(names))
            return self.lock(project, {"providers": 50}, recursive=True)
        if curve == "providers":
            return self.lock(self.project([f"bench/p{one + 1}" for one in range(size)]), {"providers": size})
        if curve == "versions":
            bodies = [f"{HOST}/v1/providers/bench/p1/versions={version_list(size, self.directory)}"]
            return self.lock(self.project(["bench/p1"]), {}, bodies)
        return self.lock(self.project(["bench/p1"]), {"size": f"{size}MB"})


def exponent(points, index):
    """How the value of the last point follows from the one before."""
    (one, *first), (other, *last) = points[-2:]
    return math.log(last[index] / first[index]) / math.log(other / one)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def row(curve, points):
    cells = ", ".join(f"{size:,}: {seconds:.3f} s, {memory / 2**20:.0f} MiB" for size, seconds, memory in points)
    return f"| {CURVES[curve][0]} | {cells} | {exponent(points, 0):.2f} | {exponent(points, 1):.2f} |"


def plot(measured):
    """One panel a curve, both axes logarithmic, with a dotted line for what is in proportion to the last point."""
    width, height, margin = 250, 190, 44
    panels = []
    for place, (curve, points) in enumerate(measured.items()):
        left, top = (place % 3) * (width + 30) + margin, (place // 3) * (height + 80) + 40
        smallest, largest = points[0][0], points[-1][0]
        across = lambda size: left + math.log(size / smallest) / math.log(largest / smallest) * (width - margin)
        parts = [f'<text x="{left}" y="{top - 16}" class="title">{CURVES[curve][0].replace("`", "")}</text>']
        parts.append(f'<rect x="{left}" y="{top}" width="{width - margin}" height="{height}" class="frame"/>')
        for index, name, unit in ((1, "time", 1), (2, "memory", 2**20)):
            low, high = (1e-3, 1e2) if index == 1 else (1e0, 1e3)
            up = lambda value: top + height - math.log(max(value, low) / low) / math.log(high / low) * height
            values = [(across(point[0]), up(point[index] / unit)) for point in points]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in values)
            parts.append(f'<polyline points="{line}" class="{name}"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" class="{name}"/>' for x, y in values]
            said = f"{number(points[-1][index] / unit)} {'s' if index == 1 else 'MiB'}"
            parts.append(f'<text x="{left + width - margin - 4}" y="{values[-1][1] + (-6 if index == 1 else 15):.1f}" class="{name} value">{said}</text>')
            if index == 1:
                end = points[-1][1] * smallest / largest
                start = across(max(smallest, largest * low / points[-1][1]))
                parts.append(f'<line x1="{start:.1f}" y1="{up(end):.1f}" x2="{values[-1][0]:.1f}" y2="{values[-1][1]:.1f}" class="proportion"/>')
        for size in (point[0] for point in points):
            parts.append(f'<text x="{across(size):.1f}" y="{top + height + 14}" class="tick">{size:,}</text>')
        panels.append("\n".join(parts))
    rows = (len(measured) + 2) // 3
    style = """
    text { font: 11px system-ui, sans-serif; fill: #24292f } .title { font-weight: 600 } .tick { text-anchor: middle; fill: #57606a }
    .frame { fill: none; stroke: #d0d7de } .value { text-anchor: end }
    polyline { fill: none; stroke-width: 2 } polyline.time { stroke: #0969da } polyline.memory { stroke: #bf5700 }
    circle.time, text.time { fill: #0969da } circle.memory, text.memory { fill: #bf5700 }
    .proportion { stroke: #0969da; stroke-dasharray: 2 4; opacity: .6 }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .tick { fill: #8b949e } .frame { stroke: #30363d }
      polyline.time, .proportion { stroke: #58a6ff } circle.time, text.time { fill: #58a6ff }
      polyline.memory { stroke: #f0883e } circle.memory, text.memory { fill: #f0883e } }"""
    size = f"0 0 {3 * (width + 30) + 20} {rows * (height + 80) + 30}"
    legend = f'<text x="{margin}" y="{rows * (height + 80) + 16}">Blue: time, 1 ms to 100 s. Orange: peak memory, 1 MiB to 1 GiB. Dotted: in proportion.</text>'
    content = "\n".join(panels)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img">\n<title>How time and memory grow</title>\n<style>{style}</style>\n{content}\n{legend}\n</svg>\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curve", action="append", choices=CURVES, help="may be repeated; all when absent")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=10_000, help="leaves out larger sizes")
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE", help="draws the curves")
    options = parser.parse_args()
    options.program = options.program.resolve()
    print(time.strftime("%Y-%m-%d"), machine())
    print("\n| what grows | time and peak memory | exponent of time | of memory |\n| --- | --- | ---: | ---: |")
    measured = {}
    with tempfile.TemporaryDirectory(prefix="provlock-curves-") as directory:
        curves = Curves(options, pathlib.Path(directory))
        for curve in options.curve or CURVES:
            sizes = [size for size in CURVES[curve][1] if size <= options.most]
            measured[curve] = [(size, *curves.point(curve, size)) for size in sizes]
            print(row(curve, measured[curve]), flush=True)
    if options.plot:
        options.plot.write_text(plot(measured))


if __name__ == "__main__":
    main()
