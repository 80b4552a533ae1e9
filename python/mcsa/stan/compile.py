"""Compiles a Stan program to a library with the C interface of BridgeStan, from packages of PyPI and a C++ compiler alone.

    python compile.py PROGRAM.stan LIBRARY.so

``stanc``, the headers and the libraries of Stan come from the package ``httpstan``, of which only files are used: it need not be
importable. Wheels exist for Linux and macOS on x86-64 and Python 3.11:

    pip install --no-deps httpstan==4.13.0
    pip install --no-deps --python-version 3.11 --only-binary=:all: --target FOLDER httpstan==4.13.0

The second line serves another Python; the variable ``MCSA_HTTPSTAN`` then names ``FOLDER/httpstan``. The interface is compiled once per
folder of libraries and kept there. A program takes about half a minute.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-w",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
    "-D_REENTRANT",
    "-DBOOST_DISABLE_ASSERTS",
    "-DSTAN_OVERRIDE_EIGEN_ASSERT",
    "-DSTAN_THREADS",
    "-DTBB_INTERFACE_NEW",
]
INTERFACE = Path(__file__).with_name("interface.cpp")


class CannotCompile(RuntimeError):
    """A program is wrong, or a tool failed."""


class NoTools(CannotCompile):
    """The package httpstan or a C++ compiler is missing."""


def compile_program(program: Path, library: Path) -> None:
    """Compiles ``program`` to ``library``; nothing is done if the library is of this program and this interface, by a checksum beside it."""
    interface_key = INTERFACE.read_bytes() + " ".join(FLAGS).encode()
    key = hashlib.sha256(program.read_bytes() + interface_key).hexdigest()
    made_of = library.with_suffix(".sha256")
    if library.exists() and made_of.exists() and made_of.read_text() == key:
        return
    stan = folder()
    if stan is None:
        raise NoTools("the package httpstan is not installed: pip install --no-deps httpstan==4.13.0")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise NoTools("no C++ compiler was found (g++, clang++, or the program that CXX names)")
    library.parent.mkdir(parents=True, exist_ok=True)
    include = ["-I", str(stan / "include")]
    digest = hashlib.sha256(interface_key).hexdigest()[:16]
    interface = library.with_name(f"interface-{digest}.o")
    if not interface.exists():
        _run([compiler, *FLAGS, *include, "-c", str(INTERFACE), "-o", str(interface)], interface)
    header, object_ = library.with_suffix(".hpp"), library.with_suffix(".o")
    _run([str(stan / "stanc"), f"--o={header}", str(program)], header)
    _run([compiler, *FLAGS, *include, "-x", "c++", "-c", str(header), "-o", str(object_)], object_)
    libraries = stan / "lib"
    sundials = [f"-lsundials_{name}" for name in ("cvodes", "idas", "kinsol", "nvecserial")]
    link = [f"-L{libraries}", *sundials, "-l:libtbb.so.2", f"-Wl,-rpath,{libraries}"]
    _run([compiler, "-shared", "-o", str(library), str(object_), str(interface), *link], library)
    header.unlink()
    object_.unlink()
    made_of.write_text(key)


def folder() -> Path | None:
    """Folder of the package httpstan, if there is one."""
    if named := os.environ.get("MCSA_HTTPSTAN"):
        return Path(named)
    found = importlib.util.find_spec("httpstan")
    return None if found is None or found.origin is None else Path(found.origin).parent


def _run(command: list[str], made: Path) -> None:
    """Runs a command that makes a file; what a failed one left is removed."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise CannotCompile(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        made.unlink(missing_ok=True)
        raise CannotCompile(f"{Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()[-2000:]}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    try:
        compile_program(Path(sys.argv[1]), Path(sys.argv[2]))
    except CannotCompile as error:
        print(error, file=sys.stderr)
        # 2: the tools are missing. Tests are skipped then, and then alone.
        sys.exit(2 if isinstance(error, NoTools) else 1)
