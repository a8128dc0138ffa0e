"""For pre-commit and `pip install .`, which install this repository as a Python package: it holds nothing but the wheel of its own version.

Before that version is released there is no such wheel, so it is built from these sources, which takes Rust; or PIP_FIND_LINKS names a
directory that has it.
"""

import os
import pathlib
import re

from setuptools import setup

here = pathlib.Path(__file__).resolve().parent
manifest = (here / "Cargo.toml").read_text(encoding="utf-8")
version = re.search(r'^version = "(.+)"$', manifest, re.MULTILINE).group(1)
is_released = f"## [{version}]" in (here / "CHANGELOG.md").read_text(encoding="utf-8")
sources = f"provlock-cli @ {(here / 'packaging/pypi').as_uri()}"
places = map(pathlib.Path, os.environ.get("PIP_FIND_LINKS", "").split())
is_here = any(list(place.glob(f"provlock_cli-{version}-*.whl")) for place in places)
wheel = f"provlock-cli=={version}" if is_released or is_here else sources

setup(name="provlock-hooks", version=version, py_modules=[], packages=[], install_requires=[wheel])
