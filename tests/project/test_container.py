"""The image of the collector: the files that it copies are enough to build the package, and none of them is spare."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from paths import ROOT

CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
COPIES = re.findall(r"^COPY (?!--from).*$", CONTAINERFILE, re.MULTILINE)
SOURCE = "/source"


def copied(containerfile: str, root: Path) -> Path:
    """The folder with the source, as a build of the image would have it, below `root`."""
    for line in re.findall(r"^COPY (?!--from)(.*)$", containerfile, re.MULTILINE):
        *given, target = line.split()
        for name in given:
            place = root / target.lstrip("/")
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
            else:
                assert target.endswith("/"), f"{line}: several files go into a folder, whose name ends with a slash"
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, place)
    return root / SOURCE.lstrip("/")


def wheel_of(containerfile: str, root: Path) -> Path:
    """The wheel that is built of what the image copies, and of nothing else. It has everything that the package has."""
    source = copied(containerfile, root)
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(root / "built")]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(line, cwd=source, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, f"no wheel can be built of what the image copies:\n{done.stderr[-2_000:]}"
    (wheel,) = (root / "built").glob("localdp-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    needed = _below("src/localdp", "localdp")
    assert needed <= names, f"the wheel lacks {sorted(needed - names)[:5]}"
    return wheel


def _below(folder: str, target: str) -> set[str]:
    """The files of a folder of the repository, as a wheel has them below `target`."""
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert files
    return {str(PurePosixPath(target, *path.relative_to(ROOT / folder).parts)) for path in files}


def test_what_the_image_copies_builds_the_package_and_the_collector_finds_its_files(tmp_path):
    wheel = wheel_of(CONTAINERFILE, tmp_path)
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    program = (
        "import localdp.collector.routes.pages as pages, localdp.cli\n"
        "print(pages.__file__); print(sorted(pages.client_files()))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(installed) in done.stdout
    assert "'index.js'" in done.stdout


@pytest.mark.parametrize("line", COPIES)
def test_without_a_line_that_copies_there_is_no_whole_package(line, tmp_path):
    """Whether a line was forgotten is found out by the test above."""
    with pytest.raises((AssertionError, FileNotFoundError)):
        wheel_of(CONTAINERFILE.replace(line + "\n", "", 1), tmp_path)


def test_the_image_installs_the_source_that_it_copied():
    assert len(COPIES) >= 2
    assert f"pip install --no-cache-dir '{SOURCE}[collector,fast]'" in CONTAINERFILE
