"""What the book's first page needs: the reader of notebook 03 as data, and the project as a file.

The page computes the forward pass itself, with the weights that the reader had on its way.
"""

import base64
import json
import os
import shutil
import subprocess
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import torch
from babel.messages.extract import extract

from chapter3_helpers.explorers.pronouns import BATCHES, SENTENCE
from chapter3_helpers.tasks.pronouns import (
    ADJECTIVES,
    NOUNS,
    PRONOUN_OF,
    PRONOUNS,
    VERBS,
    WORDS,
    trained_reader,
)
from tools.translations.catalogues import Say

ROOT = Path(__file__).parents[1]


def texts() -> list[str]:
    """Return what the page says, as it stands in its script."""
    with (ROOT / "docs" / "_static" / "front_door.js").open("rb") as script:
        found = extract("javascript", script, {"say": None})
        return [text for _, text, _, _ in found]


def reader_script(say: Say = str) -> str:
    """Write the words that the reader knows, its weights, and what the page says in another
    language, as a script for the page.

    The weights have the shape (batches, 3, 38, 3): query, key and value, and a row for each word.
    They are float32, as torch has them, so that nothing is rounded.
    """
    readers = [trained_reader().states[batches] for batches in BATCHES]
    layers = [
        torch.stack([layer.weight.T for layer in (reader.W_query, reader.W_key, reader.W_value)])
        for reader in readers
    ]
    weights = torch.stack(layers).numpy().astype("<f4")  # (batches, 3, 38, 3)
    data = {
        "words": WORDS,
        "nouns": NOUNS,
        "adjectives": ADJECTIVES,
        "verbs": VERBS,
        "pronouns": PRONOUNS,
        "pronounOf": PRONOUN_OF,
        "sentence": SENTENCE.lower(),
        "batches": BATCHES,
        "said": {text: say(text) for text in texts()},
        "weights": base64.b64encode(weights.tobytes()).decode(),
    }
    return f"const FRONT_DOOR = {json.dumps(data, separators=(',', ':'))};\n"


def project_files() -> list[Path]:
    """Return the project's files: those that git tracks or, where there is no git, all that
    .gitignore does not name."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
        return sorted(path for path in paths if path.is_file())
    ignored = [".git", *(ROOT / ".gitignore").read_text("utf-8").replace("/\n", "\n").split()]

    def kept(path: Path) -> bool:
        inside = f"/{path.relative_to(ROOT).as_posix()}"
        return not any(fnmatch(path.name, name) or fnmatch(inside, name) for name in ignored)

    files_kept = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if kept(Path(folder, name))]
        files_kept += [Path(folder, name) for name in files if kept(Path(folder, name))]
    return sorted(files_kept)


def write_archive(path: Path) -> None:
    """Pack the project into a zip file, in a folder of its own."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in project_files():
            archive.write(file, Path("attention", file.relative_to(ROOT)))
