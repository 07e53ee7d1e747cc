"""Where weights are sought, in which order, and what is said when they are nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import CheckpointError, UnknownModelError, UsageError
from linnet.nest import registry
from linnet.nest.card import Card, load_card
from linnet.nest.config import load_config
from linnet.nest.resolve import resolve

REVISION = "0123456789abcdef0123456789abcdef01234567"
HUB = f'\n[weights]\nrepo = "owner/tiny"\nrevision = "{REVISION}"\n'
FILES = ("config.json", "model.safetensors", "vocab.json", "merges.txt")


@pytest.fixture
def hub_card(card_file: Path, card_text: str) -> Card:
    card_file.write_text(card_text + HUB, encoding="utf-8")
    return load_card(card_file)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Hugging Face cache, and a network on which every request is an error."""
    from huggingface_hub import constants

    folder = tmp_path / "hub ü 模型"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)

    def no_network(*args: Any, **kwargs: Any) -> str:
        raise ConnectionError("no network in this test")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", no_network)
    return folder


def fill(folder: Path, names: tuple[str, ...] = FILES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("{}", encoding="utf-8")
    return folder


def snapshot(cache: Path) -> Path:
    return cache / "models--owner--tiny" / "snapshots" / REVISION


def test_the_given_path_comes_first(hub_card: Card, tmp_path: Path) -> None:
    fill(hub_card.folder)
    given = fill(tmp_path / "my models ü 模型")
    found = resolve(hub_card, str(given))
    assert found.weights == given
    assert found.config == given / "config.json"
    assert found.tokenizer == {n: given / n for n in ("vocab.json", "merges.txt")}
    single = resolve(hub_card, given / "model.safetensors")
    assert single.weights == given / "model.safetensors"
    assert single.config == given / "config.json"


def test_a_tokenizer_json_wins_and_the_entrys_own_stands_in(hub_card: Card, tmp_path: Path) -> None:
    fill(hub_card.folder, ("tokenizer.json",))
    given = fill(tmp_path / "given", ("model.safetensors", "vocab.json"))
    found = resolve(hub_card, given)
    assert found.tokenizer == {"tokenizer.json": hub_card.folder / "tokenizer.json"}
    assert found.config is None
    fill(given, ("tokenizer.json", "merges.txt"))
    assert resolve(hub_card, given).tokenizer == {"tokenizer.json": given / "tokenizer.json"}


@pytest.mark.parametrize("path", ["nowhere", "", 3, b"x"])
def test_bad_paths(card: Card, path: Any) -> None:
    with pytest.raises((CheckpointError, UsageError), match=r"nowhere|must be the path"):
        resolve(card, path)


def test_the_entrys_folder_comes_before_the_cache(hub_card: Card, cache: Path) -> None:
    fill(hub_card.folder)
    fill(snapshot(cache))
    assert resolve(hub_card).weights == hub_card.folder / "model.safetensors"


def test_an_entry_without_repository_says_what_to_do(card: Card) -> None:
    with pytest.raises(CheckpointError, match=r"lacks model\.safetensors") as caught:
        resolve(card)
    assert "checkpoint=" in str(caught.value)


def test_the_cache_is_used_without_any_request(
    hub_card: Card, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(snapshot(cache))
    for offline, variable in ((False, ""), (True, ""), (False, "1")):
        monkeypatch.setenv("HF_HUB_OFFLINE", variable)
        found = resolve(hub_card, offline=offline)
        assert found.weights == snapshot(cache) / "model.safetensors"
        assert set(found.tokenizer) == {"vocab.json", "merges.txt"}


def test_offline_names_repository_files_folders_and_variable(
    hub_card: Card, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CheckpointError) as caught:
        resolve(hub_card, offline=True)
    parts = ("owner/tiny", REVISION, "config.json", "model.safetensors", str(cache), "HF_HUB_CACHE")
    for part in (*parts, str(hub_card.folder), "offline was asked for"):
        assert part in str(caught.value)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(CheckpointError, match="HF_HUB_OFFLINE=1"):
        resolve(hub_card)


def test_one_missing_file_and_a_broken_link(hub_card: Card, cache: Path) -> None:
    fill(snapshot(cache), ("config.json",))
    with pytest.raises(CheckpointError, match=r"missing +model\.safetensors\n"):
        resolve(hub_card, offline=True)
    (snapshot(cache) / "model.safetensors").symlink_to(cache / "gone")
    with pytest.raises(CheckpointError, match=r"broken +model\.safetensors"):
        resolve(hub_card, offline=True)


def test_a_failing_download_is_told_with_its_reason(hub_card: Card, cache: Path) -> None:
    with pytest.raises(CheckpointError, match="download failed: ConnectionError: no network"):
        resolve(hub_card)


def test_a_download_asks_for_named_files_at_the_revision(
    hub_card: Card, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def download(repo: str, name: str, *, revision: str, cache_dir: Path) -> str:
        asked.append((repo, name, revision))
        if name == "tokenizer.json":
            raise FileNotFoundError("404")
        return str(fill(snapshot(cache), (name,)) / name)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    fill(snapshot(cache), ("config.json",))
    found = resolve(hub_card)
    # Small files first: a start that finds the weights asks for nothing more.
    assert [name for _, name, _ in asked] == [
        "tokenizer.json", "vocab.json", "merges.txt", "generation_config.json", "model.safetensors"
    ]  # fmt: skip
    assert {(repo, revision) for repo, _, revision in asked} == {("owner/tiny", REVISION)}
    assert set(found.tokenizer) == {"vocab.json", "merges.txt"}
    asked.clear()
    resolve(hub_card)
    assert asked == []


def test_a_model_for_embeddings_is_asked_how_it_pools(
    card_file: Path, card_text: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = card_text.replace('license = "MIT"', 'license = "MIT"\ntask = "embedding"')
    card_file.write_text(stated + HUB, encoding="utf-8")
    files = {
        "modules.json": '[{"type": "a.Pooling", "path": "1_P"}]',
        "1_P/config.json": '{"pooling_mode": "cls"}',
    }

    def download(repo: str, name: str, *, revision: str, cache_dir: Path) -> str:
        file = snapshot(cache) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(files.get(name, "{}"), encoding="utf-8")
        return str(file)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    found = resolve(load_card(card_file))
    assert found.config is not None
    assert load_config(found.config).values["sentence_transformers"]["pooling"] == "cls"


def test_models_are_found_by_name_or_folder(card_file: Path, monkeypatch: Any) -> None:
    assert {"gpt2", "gpt2-tales"} <= set(registry.names())
    assert registry.find("gpt2").name == "gpt2"
    for path in (card_file, card_file.parent, str(card_file.parent)):
        assert registry.find(path).name == "tiny"
    monkeypatch.chdir(card_file.parent)
    assert registry.find(".").name == "tiny"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt", "did you mean 'gpt2'"),
        ("GPT2", "did you mean 'gpt2'"),
        ("gpt2-tails", "did you mean 'gpt2-tales'"),
        ("zzzzzz", "known: .*gpt2"),
        ("", "no model name"),
        ("a\0b", "no model"),
        (os.sep, r"has no nest\.toml"),
    ],
)
def test_unknown_names(name: str, message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownModelError, match=message):
        registry.find(name)


def test_a_name_of_the_wrong_kind() -> None:
    with pytest.raises(UsageError):
        registry.find(3)  # type: ignore[arg-type]
