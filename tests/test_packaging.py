"""pyproject.toml says what the code, the pins and the changelog say."""

import re
import sys

import fairseq_rope
from tests.support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_every_requirement_is_pinned():
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").replace("_", "-")
    wanted = names([*PROJECT["dependencies"], *(name for extra in EXTRAS.values() for name in extra)])
    assert {"fairseq", "fairseq-fixed", "torch", "pytest"} <= wanted
    assert wanted - {"fairseq-rope"} <= set(re.findall(r"^([\w-]+)==", pins, re.M))


def test_the_extra_dev_has_all_others():
    others = ",".join(sorted(EXTRAS.keys() - {"dev"}))
    assert f"fairseq-rope[{others}]" in EXTRAS["dev"]


def test_the_newest_version_of_the_changelog_is_this_one():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert headings[:2] == ["Unreleased", fairseq_rope.__version__]


def test_the_classifiers_name_every_supported_python():
    low, high = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", PROJECT["requires-python"]).groups()
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: Python :: 3." in text]
    assert named == [f"3.{minor}" for minor in range(int(low), int(high))]
