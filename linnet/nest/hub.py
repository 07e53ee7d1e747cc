"""One repository of the Hugging Face hub at one revision: what the cache has, and the rest.

In goes the name of a file; out comes its path on this disk. The cache is asked first, and no
request is made for what it has. A branch such as `main` is what the cache knows it as; where the
cache knows nothing of it, the commit it leads to now. Files are found here, never opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from linnet.errors import CheckpointError

MAIN = "main"


class Repository:
    """`title` completes "... are not on this machine"; `looked_in` are further places where files
    were sought before."""

    def __init__(
        self, repo: str, revision: str, offline: bool, title: str, looked_in: Sequence[str] = ()
    ) -> None:
        # Imported here: it takes longer than the rest of a warm start, and it reads the
        # HF_ variables at that moment.
        from huggingface_hub import constants

        self.repo = repo
        self.revision = revision
        self.title = title
        self.looked_in = tuple(looked_in)
        self.why_offline = _why_offline(offline)
        self.cache = Path(constants.HF_HUB_CACHE)

    def cached(self, name: str) -> Path | None:
        """The file if the cache has it."""
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(
            self.repo, name, cache_dir=self.cache, revision=self.revision
        )
        return Path(found) if isinstance(found, str) else None

    def get(self, names: Sequence[str]) -> dict[str, Path]:
        """All of `names`. Raises CheckpointError that names what is missing, and why."""
        found = {name: path for name in names if (path := self.cached(name)) is not None}
        missing = [name for name in names if name not in found]
        if missing and self.why_offline is not None:
            raise self.missing(missing, f"the network is not used: {self.why_offline}")
        return found | {name: self.fetch(name, missing) for name in missing}

    def fetch(self, name: str, missing: Sequence[str]) -> Path:
        """Download one of the `missing` files."""
        from huggingface_hub import hf_hub_download

        try:
            return Path(
                hf_hub_download(self.repo, name, revision=self.revision, cache_dir=self.cache)
            )
        # Whatever goes wrong inside, from name resolution to a full disk, is one outcome for
        # the user, and the library's own hierarchy changes between its releases.
        except Exception as error:
            raise self.missing(missing, f"the download failed: {_first_line(error)}") from error

    def get_if_any(self, names: Sequence[str]) -> bool:
        """Have all of `names` in the cache if the repository has them; whether it does."""
        if all(self.cached(name) is not None for name in names):
            return True
        if self.why_offline is not None:
            return False
        try:
            for name in names:
                self.fetch(name, names)
        except CheckpointError:
            return False
        return True

    def pin(self, file: Path) -> None:
        """Take all further files from the commit that `file` is of, wherever the branch goes."""
        snapshot = file.parent.name
        if re.fullmatch(r"[0-9a-f]{40}", snapshot):
            self.revision = snapshot

    def missing(self, names: Sequence[str], reason: str) -> CheckpointError:
        broken = [name for name in names if self._snapshot(name).is_symlink()]
        places = [*self.looked_in, f"{self.cache} (set by HF_HUB_CACHE or HF_HOME)"]
        lines = [
            f"{self.title} are not on this machine; {reason}",
            f"  repository  {self.repo} at {self.revision}",
            f"  missing     {', '.join(names)}",
            f"  looked in   {places[0]}",
            *(f"              {place}" for place in places[1:]),
        ]
        if broken:
            lines.append(f"  broken      {', '.join(broken)}: a link in the cache leads nowhere")
        command = f"hf download {self.repo} --revision {self.revision} {' '.join(names)}"
        return CheckpointError(
            "\n".join(lines),
            help=f"with a network and without HF_HUB_OFFLINE, load it once or run `{command}`; "
            "or give a folder that has the files: checkpoint=...",
        )

    def _snapshot(self, name: str) -> Path:
        folder = "models--" + self.repo.replace("/", "--")
        return self.cache / folder / "snapshots" / self.revision / name


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
