#!/usr/bin/env python3
"""Prints the peak memory and the time of provlock while a registry or a repository is as large as it may be, and larger.

    cargo build --release && benches/hostile.py every case, with one provider and with 64
    benches/hostile.py --case platforms         one of them
    benches/hostile.py --attacks                every attack by a repository
    benches/hostile.py --attack "many branches" one of them
    benches/hostile.py --program target/debug/provlock

An attack by a repository is tried with a quarter of the number, too, and how often its processor time the whole takes is
printed: about 4 times where time grows as the input does, 16 times where it grows with the square.

The tests' registry (`benches/registry.rs`) answers all requests about providers, 64 side by side, with the same hostile
answer. Ends with 1 if a run takes more than 64 MiB beyond what a run without hostile answers takes, or 256 MiB for all 64; or if an attack takes more
than 256 MiB, or 10 seconds of processor time.

Peak memory is what the system accounts for the process (`ru_maxrss`), so it is never below this script's own.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

from hostile_repositories import ATTACKS, required, write

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
    parser.add_argument("--program", type=pathlib.Path, default=REPOSITORY / "target" / "release" / "provlock")
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
