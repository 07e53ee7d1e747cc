"""Where the files of a model come from.

In goes a card and perhaps a path; out comes a `Checkpoint`: the weight files, config.json and
tokenizer files on this disk. The places are tried in this order, and the first that has the
weights is used: the path the caller gave, the entry's own folder, the Hugging Face cache, a
download into that cache. Only files the card names, at the card's revision, are asked for, and
no request is made while the cache has them. Files are found here, never opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from linnet.errors import CheckpointError, UsageError
from linnet.nest.card import Card

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
INDEX_FILE = "model.safetensors.index.json"
# Either of these sets is a whole tokenizer.
TOKENIZER_SETS = (("tokenizer.json",), ("vocab.json", "merges.txt"))


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint's files. `weights` is what to open: a safetensors file, or a folder with one
    or with shards and their index. `origin` tells people where it was found."""

    weights: Path
    config: Path | None
    generation: Path | None
    tokenizer: Mapping[str, Path]
    origin: str


def resolve(
    card: Card, checkpoint: str | os.PathLike[str] | None = None, *, offline: bool = False
) -> Checkpoint:
    """Find the files of `card`'s model; `checkpoint` is a folder or a safetensors file.

    Raises CheckpointError when there is nothing at the path, or when the weights are in none of
    the places and cannot be fetched; the message says what is missing and where it was sought.
    """
    if checkpoint is not None:
        return _explicit(card, checkpoint)
    names = card.weights.files
    if all((card.folder / name).is_file() for name in names):
        return _in_folder(card, card.folder, names, "the entry's own folder")
    if card.weights.repo is None:
        lost = ", ".join(name for name in names if not (card.folder / name).is_file())
        raise CheckpointError(
            f"{card.name} names no repository, and {card.folder} lacks {lost}",
            help="give the folder of a checkpoint: checkpoint=... or --checkpoint",
        )
    return _Hub(card, offline).resolve()


def _explicit(card: Card, checkpoint: str | os.PathLike[str]) -> Checkpoint:
    if not isinstance(checkpoint, str | os.PathLike) or not os.fspath(checkpoint):
        raise UsageError(f"checkpoint = {checkpoint!r} must be the path of a folder or file")
    # os.path says no where Path raises: for a name too long for a file, or with a zero byte.
    path = Path(os.path.expanduser(checkpoint)).absolute()
    if not os.path.exists(path):
        raise CheckpointError(
            f"there is no checkpoint at {path}",
            help="give a folder with model.safetensors, or the file itself",
        )
    if path.is_dir():
        return _in_folder(card, path, (), f"the path {path}")
    found = _in_folder(card, path.parent, (), f"the path {path}")
    return Checkpoint(path, found.config, found.generation, found.tokenizer, found.origin)


def _in_folder(card: Card, folder: Path, names: tuple[str, ...], origin: str) -> Checkpoint:
    """The checkpoint in `folder`; `names` are its weight files if the card has listed them."""
    tokenizer = find_tokenizer_files((folder, card.folder)) if card.text else {}
    return Checkpoint(
        weights=folder / names[0] if len(names) == 1 else folder,
        config=_if_there(folder / CONFIG_FILE),
        generation=_if_there(folder / GENERATION_FILE),
        tokenizer=tokenizer,
        origin=origin,
    )


def find_tokenizer_files(folders: Iterable[Path]) -> dict[str, Path]:
    """The files of a whole tokenizer, from the first folder that has one; else nothing."""
    for folder in folders:
        for names in TOKENIZER_SETS:
            if all((folder / name).is_file() for name in names):
                return {name: folder / name for name in names}
    return {}


def _if_there(path: Path) -> Path | None:
    """A folder or a dead link counts as there: whoever reads it says what is wrong."""
    return path if os.path.lexists(path) else None


class _Hub:
    """Looks into the Hugging Face cache, and fetches what it lacks."""

    def __init__(self, card: Card, offline: bool) -> None:
        assert card.weights.repo is not None
        assert card.weights.revision is not None
        self.card = card
        self.repo = card.weights.repo
        self.revision = card.weights.revision
        self.why_offline = _why_offline(offline)
        # Imported here: it takes longer than the rest of a warm start, and it reads the
        # HF_ variables at that moment.
        from huggingface_hub import constants

        self.cache = Path(constants.HF_HUB_CACHE)

    def resolve(self) -> Checkpoint:
        needed = self._needed()
        found = {name: path for name in needed if (path := self._cached(name)) is not None}
        missing = [name for name in needed if name not in found]
        origin = f"the Hugging Face cache {self.cache}"
        if missing:
            if self.why_offline is not None:
                raise self._missing(missing, f"the network is not used: {self.why_offline}")
            found.update({name: self._fetch(name, missing) for name in missing})
            origin = f"downloaded from {self.repo}"
        folder = found[CONFIG_FILE].parent
        if self.card.text and not find_tokenizer_files((folder, self.card.folder)):
            self._fetch_tokenizer()
        return _in_folder(self.card, folder, self.card.weights.files, origin)

    def _needed(self) -> list[str]:
        names = [CONFIG_FILE, *self.card.weights.files]
        if len(self.card.weights.files) > 1 and INDEX_FILE not in names:
            names.insert(1, INDEX_FILE)
        return names

    def _snapshot(self, name: str) -> Path:
        folder = "models--" + self.repo.replace("/", "--")
        return self.cache / folder / "snapshots" / self.revision / name

    def _cached(self, name: str) -> Path | None:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(
            self.repo, name, cache_dir=self.cache, revision=self.revision
        )
        return Path(found) if isinstance(found, str) else None

    def _fetch(self, name: str, missing: list[str]) -> Path:
        from huggingface_hub import hf_hub_download

        try:
            return Path(
                hf_hub_download(self.repo, name, revision=self.revision, cache_dir=self.cache)
            )
        # Whatever goes wrong inside, from name resolution to a full disk, is one outcome for
        # the user, and the library's own hierarchy changes between its releases.
        except Exception as error:
            raise self._missing(missing, f"the download failed: {_first_line(error)}") from error

    def _fetch_tokenizer(self) -> None:
        """Fetch the first tokenizer the repository has. None at all is no error here: ids are
        still good prompts, and a text prompt then says what is missing."""
        if self.why_offline is not None:
            return
        for names in TOKENIZER_SETS:
            try:
                for name in names:
                    self._fetch(name, [name])
            except CheckpointError:
                continue
            return

    def _missing(self, names: list[str], reason: str) -> CheckpointError:
        broken = [name for name in names if self._snapshot(name).is_symlink()]
        lines = [
            f"the weights of {self.card.name} are not on this machine; {reason}",
            f"  repository  {self.repo} at {self.revision}",
            f"  missing     {', '.join(names)}",
            f"  looked in   {self.card.folder}",
            f"              {self.cache} (set by HF_HUB_CACHE or HF_HOME)",
        ]
        if broken:
            lines.append(f"  broken      {', '.join(broken)}: a link in the cache leads nowhere")
        command = f"hf download {self.repo} --revision {self.revision} {' '.join(names)}"
        return CheckpointError(
            "\n".join(lines),
            help=f"with a network and without HF_HUB_OFFLINE, load it once or run `{command}`; "
            "or give a folder that has the files: checkpoint=...",
        )


def _why_offline(asked: bool) -> str | None:
    if asked:
        return "offline was asked for"
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(variable, "").upper() in ("1", "ON", "YES", "TRUE"):
            return f"{variable}={os.environ[variable]}"
    return None


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
