"""What the readers of published models share: settings, weights and tokenizers in files.

``gpt2`` and ``real_model`` put what is read here into the taught classes. A folder is as it was
published, or as ``save_pretrained`` of ``transformers`` writes it. Nothing is downloaded. What is
missing or wrong in a file is said with the name of the file, with what was expected and what came.
"""

import json
import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DTYPES = ("float32", "float16", "bfloat16", "float64")


class Config(dict):
    """The settings that a file says, by name, and checks of them that name the file.

    A setting of null counts as one that is missing.

    Args:
        settings: values by name.
        path: the file that says them.
    """

    def __init__(self, settings: dict, path: str | Path):
        super().__init__({name: value for name, value in settings.items() if value is not None})
        self.path = path

    def whole(self, name: str, default: int | None = None) -> int:
        """Return a setting that counts something: a whole number of at least 1, 3.0 among them."""
        value = self.get(name, default)
        if not _is_number(value) or value < 1 or value % 1 != 0:
            raise self._refused(f"{name}, a whole number of at least 1", value)
        return int(value)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a setting that is any number but a negative or an infinite one, or NaN."""
        value = self.get(name, default)
        if not _is_number(value) or not 0 <= value < math.inf:
            raise self._refused(f"{name}, a number of at least 0", value)
        return float(value)

    def one_of(self, name: str, values: Sequence, default: object = None) -> object:
        """Return a setting that is one of some values."""
        value = self.get(name, default)
        if value not in values:
            raise self._refused(f"{name} = {' or '.join(map(repr, values))}", value)
        return value

    def _refused(self, expected: str, value: object) -> ValueError:
        return ValueError(f"{self.path} must say {expected}, got {value!r}")


def read_config(folder: str | Path) -> Config:
    """Read the settings of a model from the ``config.json`` in a folder.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file does not hold settings.
    """
    path = find(folder, "config.json")
    return Config(_read_object(path), path)


def read_weights(folder: str | Path, config: Config) -> dict[str, torch.Tensor]:
    """Read the tensors of a model, by name, from the safetensors files in a folder.

    They lie in ``model.safetensors``, or in the parts that ``model.safetensors.index.json`` names.
    All floating-point tensors get one dtype, as in ``transformers``: the one that ``config.json``
    says, or else that of the first by name.

    Args:
        folder: where the files are.
        config: the settings, as ``read_config`` returns them.

    Raises:
        ImportError: the package ``safetensors`` is not installed.
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or the parts do not belong to the index.
    """
    folder = Path(folder)
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").exists() or not index.is_file():
        weights = _read_tensors(find(folder, "model.safetensors"))
    else:
        weights = _read_parts(index)
    first = next((t.dtype for t in weights.values() if t.is_floating_point()), torch.float32)
    default = config.get("torch_dtype", str(first).removeprefix("torch."))
    dtype = getattr(torch, config.one_of("dtype", DTYPES, default))
    return {
        name: tensor.to(dtype) if tensor.is_floating_point() else tensor
        for name, tensor in weights.items()
    }


def read_tokenizer(path: str | Path) -> "Tokenizer":
    """Read what cuts texts into tokens, from a ``tokenizer.json``.

    ``read_tokenizer(path).encode("some text").ids`` are the token ids of a text, ``.tokens`` their
    names. All of a text is read, and nothing is added to make it longer: padding, truncation and
    random merges, which the file may ask for, are switched off.

    Args:
        path: the file, or the folder where it is.

    Raises:
        ImportError: the package ``tokenizers`` is not installed.
        FileNotFoundError: the file is missing.
        ValueError: the file does not hold a tokenizer.
    """
    tokenizers = package("tokenizers")
    path = Path(path)
    path = find(path.parent, path.name) if path.is_file() else find(path, "tokenizer.json")
    text = _read_text(path)
    try:
        tokenizer = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the package raises nothing more special
        raise ValueError(
            f"{path} must hold a tokenizer that this version of the package tokenizers knows, got "
            f"a file that it cannot read ({error}). Copy the file again, or update the package"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if getattr(tokenizer.model, "dropout", None):
        tokenizer.model.dropout = None  # byte pairs that are left unmerged at random, in training
    return tokenizer


def find(folder: str | Path, name: str) -> Path:
    """Return the path of a file in a folder, or say what is there instead.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: git has put a pointer in its place.
    """
    folder = Path(folder)
    path = folder / name
    if not path.is_file():
        held = f"{folder} is not a folder"
        if folder.is_dir():
            there = sorted(entry.name for entry in folder.iterdir())
            held = f"This one holds {', '.join(there[:9]) or 'nothing'}"
        raise FileNotFoundError(
            f"there is no {path}. The folder of a model holds config.json, model.safetensors (or "
            "its parts and model.safetensors.index.json) and tokenizer.json, as save_pretrained "
            f"of transformers writes them. {held}. Nothing is downloaded for you"
        )
    with path.open("rb") as file:
        if file.read(24) == b"version https://git-lfs.":
            raise ValueError(
                f"{path} must be the file itself, got the pointer that git puts in its place. "
                "Run git lfs pull where it was cloned"
            )
    return path


def package(name: str) -> ModuleType:
    """Import a package, or part of one, that only readers of files need."""
    try:
        return import_module(name)
    except ImportError as error:
        name = name.split(".")[0]
        raise ImportError(
            f"reading the files of a model takes the package {name}: pip install {name}"
        ) from error


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_text(path: Path) -> str:
    """Return the text of a JSON file in any form of Unicode, with a byte order mark or without."""
    data = path.read_bytes()
    try:
        return data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a text in UTF-8, got {error}") from error


def _read_object(path: Path) -> dict:
    text = _read_text(path)
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ValueError(
            f"{path} must be JSON, got {text[:20]!r} and {len(text)} characters in all: {error}. "
            "Mend that place, or copy the whole file"
        ) from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold names and values in braces, got {text[:20]!r}")
    return value


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    safetensors = package("safetensors")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in sorted(file.keys())}
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{path} must be a whole safetensors file, got one that cannot be read ({error}). "
            "Copy it again"
        ) from error


def _read_parts(index: Path) -> dict[str, torch.Tensor]:
    places = Config(_read_object(find(index.parent, index.name)), index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(part, str) for part in places.values()):
        raise ValueError(f"{index} must say weight_map, files by tensor, got {places!r:.60}")
    weights = {}
    for part in sorted(set(places.values())):
        path = find(index.parent, part)
        tensors = _read_tensors(path)
        expected = {name for name, place in places.items() if place == part}
        for name in sorted(tensors.keys() ^ expected):
            raise ValueError(
                f"{path} must hold the tensors that {index.name} says, and no others, got a file "
                f"{'with' if name in tensors else 'without'} {name}. Take all parts and the index "
                "from one model"
            )
        weights |= tensors
    return weights
