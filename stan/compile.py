"""Compiles a Stan program to a library with the C interface of BridgeStan, from packages of PyPI and a C++ compiler alone.

    python compile.py PROGRAM.stan LIBRARY.so

``stanc``, the headers and the libraries of Stan come from the package ``httpstan`` (Linux and macOS on x86-64, Python 3.11 or the
package unpacked: ``pip install --no-deps httpstan==4.13.0``). The interface is compiled once per folder and kept beside the library.
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


def compile_program(program: Path, library: Path) -> None:
    """Compiles ``program`` to ``library``; nothing is done if the library is newer than the program."""
    stan = _stan()
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise SystemExit("no C++ compiler was found (g++, clang++, or the program that CXX names)")
    if library.exists() and library.stat().st_mtime > program.stat().st_mtime:
        return
    library.parent.mkdir(parents=True, exist_ok=True)
    include = ["-I", str(stan / "include")]
    digest = hashlib.sha256(INTERFACE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
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


def _stan() -> Path:
    found = importlib.util.find_spec("httpstan")
    if found is None or found.origin is None:
        raise SystemExit("the package httpstan is not installed: pip install --no-deps httpstan==4.13.0")
    return Path(found.origin).parent


def _run(command: list[str], made: Path) -> None:
    """Runs a command that makes a file; what a failed one left is removed."""
    if subprocess.run(command, check=False).returncode != 0:
        made.unlink(missing_ok=True)
        raise SystemExit(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    compile_program(Path(sys.argv[1]), Path(sys.argv[2]))
