"""Make everything that a release consists of, in the folder dist/, and try it in empty environments: `make dist`.

    localdp-<version>-py3-none-any.whl, localdp-<version>.tar.gz     the Python package
    localdp-<version>.tgz                                            the npm package, if npm is installed
    localdp.cdx.json                                                 a list of everything that it installs (SBOM)
    SHA256SUMS                                                       the checksums of all of them

The wheel is installed into a new environment of every Python from 3.11 to 3.13 that is on the path, where it makes,
counts and calibrates reports. If podman is installed, the image of the collector is built too.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13")
TRIAL = """
import localdp as ldp
plan = ldp.Plan(["tea", "coffee"], epsilon=2.0)
found = plan.aggregate(plan.read(plan.privatize(["tea"] * 900 + ["coffee"] * 100).to_bytes())).estimate().calibrate()
assert found.top(1).items == ["tea"], found
"""


def run(*command: str | Path, folder: Path = ROOT) -> None:
    print("$", *command, flush=True)
    subprocess.run(list(map(str, command)), cwd=folder, check=True)  # noqa: S603 (commands of ours)


def environment(python: str, folder: Path, *installed: str | Path) -> Path:
    """A new environment with these packages; its Python."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *installed)
    return inside


def pythons() -> dict[str, str]:
    """The Pythons that are there, by version."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = {version: sys.executable if version == own else shutil.which(f"python{version}") for version in PYTHONS}
    return {version: path for version, path in found.items() if path}


def tried(wheel: Path, scratch: Path) -> None:
    """Install the wheel everywhere, run it, and list what came with it."""
    for version, python in pythons().items():
        inside = environment(python, scratch / version, wheel)
        run(inside, "-c", TRIAL, folder=scratch)
        run(inside.parent / "localdp", "--version", folder=scratch)
    listed = environment(sys.executable, scratch / "all", f"{wheel}[all]")
    lister = environment(sys.executable, scratch / "lister", "cyclonedx-bom>=5")
    run(lister.parent / "cyclonedx-py", "environment", listed, "--output-file", DIST / "localdp.cdx.json")


def main() -> None:
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run(sys.executable, "-m", "hatchling", "build", "-d", DIST)
    if shutil.which("npm"):
        run("npm", "pack", "--silent", "--pack-destination", DIST, folder=ROOT / "js")
    else:
        print("npm is not installed, so there is no npm package")
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as scratch:
        tried(wheel, Path(scratch))
    if shutil.which("podman"):
        run("podman", "build", "-t", "localdp", "-f", "deploy/Containerfile", ".")
    else:
        print("podman is not installed, so the image was not built")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("\n".join(sums) + "\n", "utf-8")
    print(*sums, sep="\n")


if __name__ == "__main__":
    main()
