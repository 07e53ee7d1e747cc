"""Checkpoints without a name: the entry that is chosen for them, from disk and from the hub."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linnet import nest, resources
from linnet.errors import CheckpointError, ConfigError, UnknownModelError, UsageError
from linnet.nest import families, registry
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.resolve import known_config, resolve

REPO, COMMIT, LATER = "owner/my-model", "a" * 40, "b" * 40
FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def tales() -> Path:
    return resources.folder("nest") / "gpt2-tales"


@pytest.fixture
def checkpoint(tales: Path, tmp_path: Path) -> Path:
    """A folder as `save_pretrained` leaves it: no card."""
    folder = tmp_path / "my finetune ü"
    folder.mkdir()
    for name in FILES:
        shutil.copy(tales / name, folder / name)
    return folder


def with_config(folder: Path, **values: Any) -> Path:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return folder


class Hub:
    """The hub as far as one repository goes, and what was asked of it."""

    def __init__(self, cache: Path, files: dict[str, bytes]) -> None:
        self.cache = cache
        self.files = files
        self.main = COMMIT
        self.asked: list[tuple[str, str]] = []

    def download(self, repo: str, name: str, *, revision: str, cache_dir: Path) -> str:
        self.asked.append((name, revision))
        assert (repo, cache_dir) == (REPO, self.cache)
        if name not in self.files:
            raise FileNotFoundError(f"404: {name}")
        commit = self.main if revision == "main" else revision
        folder = self.cache / f"models--{REPO.replace('/', '--')}"
        if revision == "main":
            (folder / "refs").mkdir(parents=True, exist_ok=True)
            (folder / "refs" / "main").write_text(commit)
        path = folder / "snapshots" / commit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.files[name])
        return str(path)


@pytest.fixture
def hub(tales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    from huggingface_hub import constants

    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    hub = Hub(tmp_path / "hub", {name: (tales / name).read_bytes() for name in FILES})
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub.cache))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", hub.download)
    monkeypatch.chdir(tmp_path)
    return hub


def written(name: Any, **options: Any) -> tuple[int, ...]:
    with nest.load(name, **options) as model:
        assert model.name == "gpt2"
        return tuple(model.generate(PROMPT, max_new_tokens=8).token_ids)


@pytest.fixture(scope="module")
def expected() -> tuple[int, ...]:
    with nest.load("gpt2-tales") as model:
        return tuple(model.generate(PROMPT, max_new_tokens=8).token_ids)


def test_a_folder_loads_without_a_name(checkpoint: Path, expected: tuple[int, ...]) -> None:
    assert written(checkpoint) == expected
    assert written(str(checkpoint / "model.safetensors")) == expected
    card = registry.find(checkpoint)
    assert (card.checkpoint, known_config(card)) == (checkpoint, checkpoint / "config.json")
    assert str(checkpoint) in str(card)


def test_a_repository_loads_without_a_name(hub: Hub, expected: tuple[int, ...]) -> None:
    assert written(REPO) == expected
    assert [name for name, _ in hub.asked] == [
        "config.json", "tokenizer.json", "generation_config.json", "model.safetensors"
    ]  # fmt: skip
    assert {revision for _, revision in hub.asked[1:]} == {COMMIT}
    # What the cache has is not asked for again, whether or not the branch has gone on.
    hub.asked.clear()
    hub.main = LATER
    assert written(REPO) == written(f"{REPO}@main", offline=True) == expected
    assert hub.asked == []
    assert written(REPO, revision=LATER) == expected
    assert {revision for _, revision in hub.asked} == {LATER}


def test_all_files_are_of_one_commit(hub: Hub) -> None:
    card = registry.find(REPO)
    hub.main = LATER
    assert resolve(card).weights.parent.name == COMMIT
    assert known_config(card) == resolve(card).config


def test_shards_come_by_their_index(hub: Hub, tales: Path, expected: tuple[int, ...]) -> None:
    tensors = load_file(tales / "model.safetensors")
    del hub.files["model.safetensors"]
    shards = {f"model-{n + 1:05}-of-00002.safetensors": list(tensors)[n::2] for n in range(2)}
    for file, names in shards.items():
        save_file({n: tensors[n] for n in names}, hub.cache.parent / "shard")
        hub.files[file] = (hub.cache.parent / "shard").read_bytes()
    where = {name: file for file, names in shards.items() for name in names}
    hub.files["model.safetensors.index.json"] = json.dumps({"weight_map": where}).encode()
    assert written(REPO) == expected
    hub.asked.clear()
    assert written(REPO) == expected
    assert hub.asked == []


@pytest.mark.parametrize(
    "index", [b"{", b"[]", b'{"weight_map": {"a": "../b"}}', b'{"weight_map": {"a": 3}}']
)
def test_a_damaged_index(hub: Hub, index: bytes) -> None:
    del hub.files["model.safetensors"]
    hub.files["model.safetensors.index.json"] = index
    with pytest.raises(CheckpointError, match=r"is no index|outside of its folder"):
        nest.load(REPO)


def test_what_a_repository_lacks(hub: Hub) -> None:
    with pytest.raises(CheckpointError, match="network is not used: offline") as caught:
        nest.load(REPO, offline=True)
    for part in (f"{REPO} at main", "config.json", "no folder of that name is here"):
        assert part in str(caught.value)
    del hub.files["model.safetensors"]
    with pytest.raises(CheckpointError, match=r"model\.safetensors, model\.safetensors\.index"):
        nest.load(REPO)
    with pytest.raises(CheckpointError, match=r"missing +model\.safetensors\n"):
        nest.load(REPO, offline=True)


def test_no_request_is_made_for_a_mistyped_path(hub: Hub) -> None:
    (hub.cache.parent / "owner").mkdir()
    with pytest.raises(UnknownModelError, match="there is no model 'owner/my-model'"):
        nest.load(REPO)
    assert hub.asked == []


def test_a_repository_of_an_unknown_family_is_not_downloaded(hub: Hub) -> None:
    hub.files["config.json"] = b'{"model_type": "gpt3"}'
    with pytest.raises(UnknownModelError, match="did you mean 'gpt2'"):
        nest.load(REPO)
    assert [name for name, _ in hub.asked] == ["config.json"]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"model_type": "rwkv9"}, UnknownModelError, 'model_type = "rwkv9"'),
        ({"model_type": None}, ConfigError, "model_type = null names no family"),
        ({"model_type": ["gpt2"]}, ConfigError, "names no family"),
    ],
)
def test_families_that_are_none(
    checkpoint: Path, values: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        nest.load(with_config(checkpoint, **values))
    assert str(checkpoint) in str(caught.value)
    if kind is UnknownModelError:
        assert "there are " in str(caught.value)
        assert "gpt2" in str(caught.value)
        assert "linnet nest new" in str(caught.value)


def test_a_checkpoint_of_another_family_names_the_entry_that_fits(
    checkpoint: Path, tmp_path: Path, card_text: str
) -> None:
    file = tmp_path / "nest.toml"
    file.write_text(card_text)
    with pytest.raises(ConfigError, match='model_type = "gpt2", expected "tiny"') as caught:
        nest.load(file, checkpoint=checkpoint)
    assert "`gpt2` is the entry for this checkpoint" in str(caught.value)


def test_folders_that_say_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match=r"has no nest\.toml and no config\.json"):
        nest.load(tmp_path)
    save_file({"a": np.zeros(1, np.float32)}, tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match=r"there is no .*config\.json"):
        nest.load(tmp_path / "a.safetensors")


def test_revisions_go_with_repositories(checkpoint: Path) -> None:
    for name in ("gpt2-tales", checkpoint):
        with pytest.raises(UsageError, match="does not come from a repository"):
            nest.load(name, revision="main")
    with pytest.raises(UsageError, match="names another one"):
        nest.load("a/b@c", revision="d")
    with pytest.raises(UsageError, match="revision = ''"):
        nest.load("gpt2", revision="")
    assert registry.find("gpt2", revision="main").weights.revision == "main"


def test_the_one_with_the_source_wins_then_the_one_without_weights(
    card: Card, tmp_path: Path
) -> None:
    config = Config({"model_type": "tiny"}, tmp_path / "config.json")
    elsewhere = replace(card, source=replace(card.source, path=tmp_path / "x" / "x.linnet"))
    weights = tmp_path / "own"
    weights.mkdir()
    (weights / "model.safetensors").touch()
    own = replace(elsewhere, file=weights / "nest.toml")
    assert families.choose(config, [own]) is own
    assert families.choose(config, [own, elsewhere]) is elsewhere
    assert families.choose(config, [own, card, elsewhere]) is card
    with pytest.raises(ConfigError, match="claimed by several entries: tiny, tiny"):
        families.choose(config, [elsewhere, own, elsewhere])


def test_no_two_families_of_the_zoo_claim_a_checkpoint() -> None:
    cards = registry.readable()
    kinds = {kind for card in cards for kind in families.model_types(card)}
    assert "gpt2" in kinds
    for kind in kinds:
        families.choose(Config({"model_type": kind}, Path("config.json")), cards)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("org/name", ("org/name", None)),
        ("org/na.me-1@main", ("org/na.me-1", "main")),
        ("org/name@refs/pr/1", ("org/name", "refs/pr/1")),
        ("name", None),
        ("/org/name", None),
        ("./org", None),
        ("../org", None),
        ("a/b/c", None),
        ("org/name@", None),
        ("~/name", None),
        ("a b/c", None),
    ],
)
def test_names_of_repositories(name: str, parts: tuple[str, str | None] | None) -> None:
    assert families.repository(name) == parts


def test_a_tokenizer_with_more_ids_than_the_model_is_refused(checkpoint: Path) -> None:
    file = checkpoint / "tokenizer.json"
    tokenizer = json.loads(file.read_text())
    tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": 1857, "content": "<x>"})
    file.write_text(json.dumps(tokenizer))
    with nest.load(checkpoint) as model:
        for use in (lambda: model.tokenize("a"), lambda: model.generate([1, 2])):
            with pytest.raises(
                CheckpointError, match=r"json has 1858 ids, and the model only 1857"
            ):
                use()
        assert model.prefill(np.array([[1, 2]], np.int32), 0).shape == (1, 1857)


def test_ids_without_a_token_are_no_text(checkpoint: Path, backend: Any) -> None:
    backend.save(str(checkpoint / "tokenizer.json"))  # 512 ids; the model has 1857
    with nest.load(checkpoint) as model:
        ids = model.tokenize("the lazy dog")
        assert model.detokenize([1856, *ids, 600]) == "the lazy dog"
        done = model.generate([900, 1000], max_new_tokens=8, ignore_eos=True)
        assert len(done.token_ids) == 8
        assert done.text == model.detokenize(done.token_ids)
