"""For pre-commit, which installs this repository as a Python package: it holds nothing but the wheel of its own version."""

import pathlib
import re

from setuptools import setup

manifest = pathlib.Path(__file__).parent / "Cargo.toml"
version = re.search(r'^version = "(.+)"$', manifest.read_text(encoding="utf-8"), re.MULTILINE).group(1)

setup(name="provlock-hooks", version=version, py_modules=[], packages=[], install_requires=[f"provlock-cli=={version}"])
