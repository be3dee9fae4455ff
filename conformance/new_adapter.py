"""`python -m conformance new-adapter NAME`: a driver that runs, for a newcomer to fill."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from pathlib import Path

from conformance.adapter import BUILT_IN
from conformance.roles import ROLES

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MANIFEST = """\
# How the kit reaches your system. Every field is described in the kit's adapters/README.md.
name: {name}
role: {role}
driver: process
command: ["{{python}}", driver.py]     # or [node, driver.mjs], [./driver], …: a list of arguments, never a shell line
wire: draft-1
envelopes: plain
timeouts: {{reply: 5s, start: 30s}}
"""


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("new-adapter", help="write a driver that runs, to be filled", description=__doc__)
    parser.add_argument("name", help="the adapter's name; a folder of that name is made under --into")
    parser.add_argument("--role", choices=tuple(ROLES), default="relay", help="what you wrote (default: %(default)s)")
    parser.add_argument("--into", type=Path, default=Path("adapters"), help="where (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """0 if it was written, 1 if the folder is there already or cannot be made, 2 for a name that does not do."""
    name, role, into = str(args.name), str(args.role), Path(args.into)
    if not NAME.fullmatch(name):
        sys.stderr.write(f"{name!r} is no name for an adapter: use letters, digits, dots, dashes and underscores.\n")
        return 2
    folder = into / name
    try:
        folder.mkdir(parents=True)
        (folder / "adapter.yaml").write_text(MANIFEST.format(name=name, role=role), encoding="utf-8")
        (folder / "driver.py").write_text(_driver(role).replace("@NAME@", name), encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"{folder} cannot be written: {error.strerror}; choose another name or --into.\n")
        return 1
    print(f"{folder}/adapter.yaml and {folder}/driver.py are there. Now run:\n")
    print(f"    pytest conformance --adapter={folder / 'adapter.yaml'}\n")
    print("Some vectors pass with the toy inside; the others say what your system has to do. See adapters/README.md.")
    return 0


def _driver(role: str) -> str:
    package = importlib.import_module(BUILT_IN)
    return (Path(next(iter(package.__path__))) / "skeletons" / role / "driver.py").read_text(encoding="utf-8")
