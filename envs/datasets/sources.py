"""Reading of records from a file, a folder or a data set of the Hugging Face hub.

The input is a name given by the user; the output is the records in order, each with its place, for messages. Nothing is
loaded from the network unless the name is a hub data set's, and code of a data set is never run.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ...errors import InputError, MissingExtra
from .hub_access import describe_outage, hub_is_reachable, offline

_PACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_TEXTS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
SUFFIXES = (".parquet", *_TEXTS, *(text + packed for text in _TEXTS for packed in _PACKED))
# Names of parts of data sets.
PARTS = ("train", "test", "validation", "valid", "val", "dev", "auxiliary_train")
_KINDS = "a .jsonl, .json, .csv, .tsv or .parquet file (but for parquet also with .gz, .bz2 or .xz)"
# A folder with this file is one record, with its files as fields (the layout of APPS).
_RECORD = "question.txt"
_FIELDS, _MORE_FIELDS = (".txt", ".json", ".py"), "metadata.json"
# Files written by the hub's library that contain no records.
_NOT_DATA = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
# The first line of a CSV file is a header if it contains one of these names.
_QUESTION = {"question", "question_stem", "problem"}
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")

Record = tuple[str, dict[str, Any]]


def is_hub_name(source: str) -> bool:
    """Return True if ``source`` names a data set of the hub: "owner/name", and neither a file nor a folder here."""
    return not Path(source).expanduser().exists() and bool(_HUB.fullmatch(source)) and not source.endswith(SUFFIXES)


def read_source(
    source: str, part: str | None = None, config: str | None = None, columns: Sequence[str] = ()
) -> Iterator[Record]:
    """Yield every record of ``source`` with its place, such as "train.jsonl, line 3".

    Args:
        source: a file, a folder (searched recursively; a folder with a question.txt is one record, its other files
            being more fields), or "owner/name" on the hub.
        part: the part of a folder or hub data set: "train", "test", ...
        config: the configuration of a hub data set.
        columns: column names for a CSV file without header, which must have exactly these columns.

    Raises:
        InputError: nothing there, an unknown part, or a file that cannot be read.
        MissingExtra: a parquet file or hub data set without the library ``datasets``.
    """
    if is_hub_name(source):
        yield from read_hub(source, part, config)
        return
    path = Path(source).expanduser()
    if config is not None:
        raise InputError(f"config={config!r} is for data sets of the hub; {source} is read without it.")
    if not path.exists():
        raise InputError(f"there is no file or folder {source}; give {_KINDS}, a folder, or a hub id 'owner/name'.")
    if path.is_dir():
        for file in _list_files(path, part):
            yield from _read_file(file, file.relative_to(path).as_posix(), columns)
        return
    if part is not None and not any(suffix == ".json" for suffix in path.suffixes):
        raise InputError(f"part={part!r} is for folders and data sets of the hub; the file {source} is read whole.")
    yield from _read_file(path, path.name, columns, part)


def read_hub(name: str, part: str | None, config: str | None) -> Iterator[Record]:
    """Yield the records of one part of a hub data set, or of a local folder that ``datasets.load_dataset`` accepts."""
    datasets = _import_datasets(f"{name!r}, which is no file or folder here and so a data set of the hub,")
    reachable = Path(name).exists() or hub_is_reachable()
    try:
        with nullcontext() if reachable else offline():
            if part is None:
                part = _choose_only_part(name, list(datasets.get_dataset_split_names(name, config)))
            rows = datasets.load_dataset(name, config, split=part)
    except InputError:
        raise
    # The library raises its own errors, network errors and Python's.
    except Exception as error:
        if not reachable:
            raise InputError(
                f"{name!r} is no file here and not in the cache of the hub; {describe_outage()}."
            ) from error
        why = " ".join(str(error).split())[:300]
        raise InputError(
            f"{name!r} is no file here and could not be loaded from the hub with config={config!r} and part={part!r} "
            f"({type(error).__name__}: {why}); check the spelling, the config and the part."
        ) from error
    for number, row in enumerate(rows, 1):
        yield f"{name}, {part}, row {number}", row


def _import_datasets(feature: str) -> Any:
    try:
        import datasets  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(feature, "datasets") from None
    return datasets


def _choose_only_part(source: str, parts: Iterable[str]) -> str | None:
    """Return the only part. Raise InputError if there are several: train and test are never mixed unless requested."""
    names = sorted(set(parts))
    if len(names) > 1:
        raise InputError(f"{source} has the parts {', '.join(names)}; say which, such as part={names[-1]!r}.")
    return names[0] if names else None


def _list_files(folder: Path, part: str | None) -> list[Path]:
    every = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    found = [file for file in every if file.name == _RECORD]
    found = found or [file for file in every if file.name.endswith(SUFFIXES)]
    found = [file for file in found if file.name not in _NOT_DATA]
    found = [file for file in found if not any(name.startswith(".") for name in file.relative_to(folder).parts)]
    if not found:
        raise InputError(f"the folder {folder} holds no {' or '.join(SUFFIXES)} file.")
    parts = {file: _part_of(file.relative_to(folder)) for file in found}
    if part is None:
        part = _choose_only_part(f"the folder {folder}", filter(None, parts.values()))
        return found if part is None else [file for file in found if parts[file] in (part, None)]
    chosen = [file for file in found if parts[file] == part]
    if not chosen:
        known = ", ".join(sorted({name for name in parts.values() if name})) or "none"
        raise InputError(f"the folder {folder} has no part {part!r}; its parts by name of file or folder: {known}.")
    return chosen


def _part_of(file: Path) -> str | None:
    """Return the part of a file, given by its name or a folder's name: train.jsonl, test/algebra/1.json,
    main/train-00000-of-00001.parquet, anatomy_test.csv, ARC-Easy-Dev.jsonl."""
    for name in (*file.parts[:-1], file.name.split(".")[0]):
        name = name.lower()
        for part in sorted(PARTS, key=len, reverse=True):
            if re.fullmatch(rf"(?:.*[-_])?{part}(?:-[0-9]+-of-[0-9]+(?:-[0-9a-f]+)?)?", name):
                return part
    return None


def _read_folder(folder: Path, shown: str) -> Record:
    """Read the folder of one problem: its files, named without suffix, and the fields in metadata.json."""
    record: dict[str, Any] = {}
    for file in sorted(folder.iterdir()):
        if file.suffix not in _FIELDS:
            continue
        text = _read_text(file)
        if file.name == _MORE_FIELDS:
            record.update(_check_record(_parse_json(text, f"{shown}/{file.name}"), f"{shown}/{file.name}"))
        else:
            record[file.stem] = text
    return shown, record


def _read_file(path: Path, shown: str, columns: Sequence[str], part: str | None = None) -> Iterator[Record]:
    if path.name == _RECORD:
        yield _read_folder(path.parent, shown.removesuffix(f"/{_RECORD}"))
        return
    suffix = next((suffix for suffix in SUFFIXES[::-1] if path.name.endswith(suffix)), None)
    if suffix is None:
        raise InputError(f"{path} is not {_KINDS}; rename or convert it.")
    if suffix == ".parquet":
        yield from _read_parquet(path, shown)
        return
    text = _read_text(path)
    if suffix.startswith((".csv", ".tsv")):
        yield from _read_csv(text, shown, columns, "\t" if suffix.startswith(".tsv") else None)
    elif suffix.startswith((".jsonl", ".ndjson")):
        yield from _read_json_lines(text, shown)
    else:
        yield from _read_json(text, shown, part)


def _read_text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        raw = _PACKED[path.suffix](raw) if path.suffix in _PACKED else raw
        return raw.decode("utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig")
    except (OSError, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read ({error}); it must be text in UTF-8 or UTF-16, packed as its name says."
        ) from None


def _read_parquet(path: Path, shown: str) -> Iterator[Record]:
    datasets = _import_datasets(f"the parquet file {shown}")
    try:
        rows = datasets.Dataset.from_parquet(str(path))
    except Exception as error:
        raise InputError(f"{path} cannot be read as parquet ({type(error).__name__}); write it anew.") from error
    for number, row in enumerate(rows, 1):
        yield f"{shown}, row {number}", row


def _read_json_lines(text: str, shown: str) -> Iterator[Record]:
    # Split at line feeds only: JSON strings may contain other line separators.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{shown}, line {number}"
            yield place, _check_record(_parse_json(line, place), place)


def _read_json(text: str, shown: str, part: str | None = None) -> Iterator[Record]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        # Many .json files hold one record a line; errors then name the line.
        yield from _read_json_lines(text, shown)
        return
    if isinstance(whole, dict):
        whole = _rows_of(whole, shown, part)
    elif part is not None:
        raise InputError(f"{shown} is one list of records, without the part {part!r}; leave part= out.")
    if not isinstance(whole, list):
        raise InputError(f"{shown} holds {type(whole).__name__}; it must hold a list of records, or one a line.")
    for number, record in enumerate(whole, 1):
        place = f"{shown}, record {number}"
        yield place, _check_record(record, place)


def _rows_of(whole: dict[str, Any], shown: str, part: str | None) -> list[Any]:
    """Return the records of a JSON object: one of its lists of records, its columns as rows, or the object itself."""
    values = list(whole.values())
    if values and all(isinstance(v, list) and v and all(isinstance(each, dict) for each in v) for v in values):
        if part is not None and part not in whole:
            raise InputError(f"{shown} has no part {part!r}; it has {', '.join(whole)}.")
        return whole[part if part is not None else _choose_only_part(shown, whole) or ""]
    if isinstance(whole.get("data"), list):
        return whole["data"]
    lists = [list(v.values()) if isinstance(v, dict) else v for v in values]
    even = len(lists) > 1 and all(isinstance(v, list) for v in lists) and len({len(v) for v in lists}) == 1
    if even and lists[0]:
        return [dict(zip(whole, row)) for row in zip(*lists)]
    return [whole]


def _parse_json(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{place} is not JSON ({error.msg} at column {error.colno}); mend or remove it.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is not JSON that can be read ({error}); mend or remove it.") from None


def _check_record(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f'{place} is {type(value).__name__}, not a record of fields such as {{"question": ...}}.')
    return value


def _read_csv(text: str, shown: str, columns: Sequence[str], delimiter: str | None = None) -> Iterator[Record]:
    # A header without commas shows the separator used instead.
    first = text.lstrip().partition("\n")[0]
    delimiter = delimiter or max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] | None = None
    try:
        for row in reader:
            if not row:
                continue
            place = f"{shown}, line {reader.line_num}"
            if header is None:
                named = _QUESTION & {cell.strip().lower() for cell in row}
                header = row if named or len(row) != len(columns) else list(columns)
                twice = [name for name, count in Counter(map(str.strip, header)).items() if name and count > 1]
                if twice:
                    raise InputError(f"{place} has the column {twice[0]!r} twice; give each its own name.")
                if header is row:
                    continue
            if len(row) != len(header):
                raise InputError(f"{place} has {len(row)} columns and the header {len(header)}; mend it.")
            yield place, dict(zip(header, row))
    except csv.Error as error:
        raise InputError(f"{shown}, line {reader.line_num} is not CSV ({error}); mend it.") from None
