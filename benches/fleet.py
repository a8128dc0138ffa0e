#!/usr/bin/env python3
"""Runs `provlock lock -r` on many machines that have nothing in their caches, with and without shared facts.

    benches/fleet.py                        200 runs of 20 root modules that share 50 packages of 5 MB, eight at a time
    benches/fleet.py --runs 16 --provlock target/debug/provlock --registry PROGRAM

A run is a machine of its own: a new home directory and a new copy of the root modules. Providers come from the tests' registry,
facts from Debian's `docker-registry`, which this script starts on a free port. One machine has published before. In the third round
the OCI registry is killed when half of the runs are over. Every run must end well, with the lock files of the machine that has
published. Prints a section of Markdown.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
HOST = "registry.opentofu.org"
LOCK_FILE = ".terraform.lock.hcl"
PLATFORM = "linux_amd64"
AT_ONCE = 8
SHARE = 10


class Providers:
    """The tests' registry as a process of its own."""

    def __init__(self, arguments):
        command = [arguments.registry] if arguments.registry else ["cargo", "bench", "--quiet", "--bench", "registry", "--"]
        # A package has about half as many bytes as the program in it.
        options = {"host": HOST, "providers": arguments.providers, "platforms": 1, "size": 2 * arguments.size}
        command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
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


class Facts:
    """`docker-registry`, whose log says what it was asked."""

    def __init__(self, directory):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        directory.mkdir()
        configuration = {
            "version": "0.1",
            "log": {"level": "info", "formatter": "json", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(directory / "storage")}},
            "http": {"addr": self.address},
        }
        (directory / "config.yml").write_text(json.dumps(configuration))
        self.log = directory / "log"
        self.read = 0
        with open(self.log, "wb") as log:
            command = ["docker-registry", "serve", directory / "config.yml"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(200):
            try:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://{self.address}/v2/")
                return
            except OSError:
                time.sleep(0.05)
        sys.exit("docker-registry does not start (apt-get install docker-registry)")

    def statistics(self):
        """Statistics of the requests since the last call. The log comes after the answers."""
        time.sleep(1)
        text = self.log.read_bytes()
        lines, self.read = text[self.read :].splitlines(), len(text)
        entries = [json.loads(line) for line in lines if line.startswith(b"{")]
        answers = [entry for entry in entries if entry.get("msg", "").startswith("response completed")]
        return {"requests": len(answers), "bytes": sum(entry["http.response.written"] for entry in answers)}

    def end(self):
        self.process.kill()
        self.process.wait()


class Fleet:
    def __init__(self, arguments):
        self.arguments = arguments
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="provlock-fleet-"))
        program = arguments.provlock or REPOSITORY / "target" / "release" / "provlock"
        self.program = str(program.resolve())
        self.providers = Providers(arguments)
        self.facts = Facts(self.scratch / "oci")
        self.settings = ""
        self.expected = None

    def machine(self, name):
        """The directories of a new machine, with the root modules."""
        base = self.scratch / name
        (base / "home").mkdir(parents=True)
        providers = self.providers.description["providers"]
        step = max(1, len(providers) // self.arguments.roots)
        for root in range(self.arguments.roots):
            chosen = [providers[(root * step + number) % len(providers)] for number in range(min(SHARE, len(providers)))]
            blocks = "".join(f'    {p.split("/")[1]} = {{ source = "{p}" }}\n' for p in chosen)
            directory = base / "project" / f"root-{root}"
            directory.mkdir(parents=True)
            text = f'terraform {{\n  required_providers {{\n{blocks}  }}\n  backend "local" {{}}\n}}\n'
            (directory / "main.tf").write_text(text)
        (base / "project" / "provlock.toml").write_text(self.settings)
        return base

    def run(self, base, *arguments):
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "home"),
            "HTTPS_PROXY": self.providers.description["proxy"],
            "SSL_CERT_FILE": self.providers.description["certificate_file"],
        }
        command = [self.program, *arguments, "--dialect", "tofu"]
        done = subprocess.run(command, cwd=base / "project", env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{arguments} failed:\n{done.stderr[-3000:]}")
        return done

    def locks(self, base):
        return {path.parent.name: path.read_bytes() for path in (base / "project").rglob(LOCK_FILE)}

    def publish(self):
        """Locks on one machine, and publishes what it knows."""
        base = self.machine("publisher")
        self.run(base, "lock", "-r", "-p", PLATFORM)
        self.expected = self.locks(base)
        key = self.run(base, "cache", "keygen", "key").stdout.strip()
        place = f"oci://{self.facts.address}/facts"
        start = time.monotonic()
        self.run(base, "cache", "push", "--recursive", "--to", place, "--signing-key", "key")
        self.published = time.monotonic() - start
        return f'[cache]\nshared = "{place}"\ntrusted-keys = ["{key}"]\n'

    def round(self, name, settings, after_half=lambda: None):
        """All runs, eight at a time; what they took together."""
        self.settings = settings
        self.providers.statistics()
        self.facts.statistics()
        done, lock = 0, threading.Lock()

        def one(number):
            nonlocal done
            base = self.machine(f"{name}-{number}")
            start = time.monotonic()
            output = self.run(base, "lock", "-r", "-p", PLATFORM)
            seconds = time.monotonic() - start
            if self.locks(base) != self.expected:
                sys.exit(f"run {number} has other lock files")
            shutil.rmtree(base)
            with lock:
                done += 1
                if done == self.arguments.runs // 2:
                    after_half()
            return seconds, output.stderr.count("shared-facts-not-used")

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            runs = list(threads.map(one, range(self.arguments.runs)))
        total = time.monotonic() - start
        providers, facts = self.providers.statistics(), self.facts.statistics()
        print(f"  {name}: {total:.1f} s", file=sys.stderr)
        return {
            "total": total,
            "median": statistics.median(seconds for seconds, _ in runs),
            "bytes": providers["bytes_sent"] + facts["bytes"],
            "requests": providers["requests"],
            "facts": facts["requests"],
            "warned": sum(warnings > 0 for _, warnings in runs),
        }

    def end(self):
        self.providers.end()
        self.facts.end()
        shutil.rmtree(self.scratch, ignore_errors=True)


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return f"{len(names)} x {names[0]}, load average {os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--roots", type=int, default=20)
    parser.add_argument("--providers", type=int, default=50)
    parser.add_argument("--size", type=int, default=5_000_000, metavar="BYTES", help="of a package")
    parser.add_argument("--provlock", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    arguments = parser.parse_args()
    if not arguments.provlock:
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=REPOSITORY, check=True)
    fleet = Fleet(arguments)
    try:
        settings = fleet.publish()
        rounds = {
            "without shared facts": fleet.round("without", ""),
            "with shared facts": fleet.round("with", settings),
            "the OCI registry killed half way": fleet.round("killed", settings, fleet.facts.end),
        }
    finally:
        fleet.end()
    print(f"## Fleet\n\n{time.strftime('%Y-%m-%d')}, {machine()}\n")
    print(
        f"{arguments.runs} runs of `lock -r`, {AT_ONCE} at a time, each with an empty cache: {arguments.roots} root modules that "
        f"share {arguments.providers} packages of {arguments.size / 1e6:g} MB. To publish them took {fleet.published:.2f} s.\n"
    )
    print("| | all runs | median run | downloaded | requests to the provider registry | to the OCI registry | warned |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, took in rounds.items():
        print(
            f"| {name} | {took['total']:.1f} s | {took['median']:.2f} s | {took['bytes'] / 1e6:,.1f} MB "
            f"| {took['requests']:,} | {took['facts']:,} | {took['warned']} |"
        )
    without, with_facts = (rounds[name] for name in ("without shared facts", "with shared facts"))
    print(f"\nWith shared facts {without['bytes'] / with_facts['bytes']:.0f} times less is downloaded.")


main()
