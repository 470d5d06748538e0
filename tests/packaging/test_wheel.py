"""The package that is installed is the one in the repository, with all that is not Python in it."""

import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

import app
from tests.packaging.tree import ROOT, text, tracked


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if Version(version("setuptools")) < Version("77"):
        pytest.skip("setuptools of constraints-test.txt is not installed")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in tracked("app", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(out), str(source)], check=True, timeout=100)
    (built,) = out.iterdir()
    return zipfile.ZipFile(built)


def test_it_carries_every_file_of_the_application_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    carried = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert carried == set(tracked("app"))


def test_it_installs_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}

    assert "vitals = app.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert wheel.read(f"{info}/licenses/LICENSE").decode() == text("LICENSE")


def test_the_version_is_the_same_everywhere() -> None:
    (declared,) = re.findall(r'^version = "(.+)"$', text("pyproject.toml"), re.MULTILINE)

    assert app.__version__ == declared
    assert Path(app.__file__).is_relative_to(ROOT), "the tests are to run against the checkout"
