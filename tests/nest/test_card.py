"""Cards: what a good one gives, and that every mistake is named with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from linnet import resources
from linnet.errors import CardError
from linnet.nest.card import Card, load_card


def broken(card_file: Path, text: str) -> str:
    card_file.write_text(text, encoding="utf-8")
    with pytest.raises(CardError) as caught:
        load_card(card_file)
    return str(caught.value)


def test_a_card_becomes_data(card: Card, card_file: Path) -> None:
    assert card.name == "tiny"
    assert card.source.path == card_file.parent / "tiny.linnet"
    assert card.generics == {"Vocab": 512, "MaxPositions": 128, "H": 64, "T": "f32"}
    assert card.known_generics == ("Vocab", "MaxPositions", "H", "T", "Inner")
    assert card.expect["act"].values == ("a", "b")
    assert card.expect["inner"].null
    assert card.config_generics["H"].key.text == "n_embd"
    assert card.weights.files == ("model.safetensors",)
    assert card.text is not None
    assert card.text.end_of_text_id == 511
    assert "none published" in str(card)


def test_every_card_of_the_zoo_is_valid() -> None:
    files = sorted(resources.folder("nest").glob("*/nest.toml"))
    assert files
    for file in files:
        card = load_card(file)
        assert card.name == file.parent.name
        assert card.source.path.is_file()


def test_paths_may_lead_to_a_neighbour(card_file: Path, card_text: str) -> None:
    text = card_text.replace('"tiny.linnet"', '"../other/it.linnet"')
    card_file.write_text(text + '[weights]\nbindings = "../other/b.json"\n', encoding="utf-8")
    card = load_card(card_file.parent)
    assert card.source.path == card_file.parent.parent / "other" / "it.linnet"
    assert card.weights.bindings == card_file.parent.parent / "other" / "b.json"


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("[generics]", "[generic]", ["unknown table [generic]", "did you mean 'generics'?"]),
        ("title =", "tittle =", ["unknown key model.tittle", "'title'", "model.title is missing"]),
        ("[config.expect]", "[config.expects]", ["config.expects", "did you mean 'expect'?"]),
        ("end_of_text =", "end_of_txt =", ["text.end_of_txt", "'end_of_text'"]),
        ('license = "MIT"', "license = 3", ["model.license = 3 must be a string"]),
        ("H = 64", "H = 64.0", ["generics.H = 64.0 must be an integer"]),
        ("H = 64", "H = true", ["generics.H = true must be an integer"]),
        ("H = 64", "H = -1", ["generics.H = -1"]),
        ('T = "f32"', 'T = "float32"', ['generics.T = "float32" must be one of the dtypes']),
        ('"Vocab"\ncontext', '"Vocabs"\ncontext', ["text.vocabulary", "did you mean 'Vocab'?"]),
        ('["MaxPositions"]', '["Max"]', ["text.context names no generic"]),
        ("equals =", "equal =", ["config.expect.inner", "'equals'"]),
        ('"4 * H", null', '"4 ** H", null', ["config.expect.inner", "no formula"]),
        ('default = "4', 'defaults = "4', ["config.generics.Inner", "'default'"]),
        ("scaled = true", "scaled = []", ["config.expect.scaled"]),
        ("scaled = true", "scaled = 2026-01-01", ["config.expect.scaled"]),
        ("[links]", "[[links]]", ["links must be a table"]),
        ('"MIT"\n', '"MIT"\ntask = "text"\n', ["model.task", "text-generation", "embedding"]),
        ('"MIT"\n', '"MIT"\ntask = "image-classification"\n', ["needs a table [image]"]),
        ("eps = 1e-5", "rope.type = 3", ["unknown key 'type'", "in quotes"]),
        ("eps = 1e-5", "eps = { any_of = [] }", ["`null = true`"]),
        ("eps = 1e-5", "eps = { any_of = [1], need = 'x' }", ["did you mean 'needs'?"]),
        ("eps = 1e-5", "eps = { any_of = [1], when = { a = [] } }", ["`when`", "'a'"]),
        ("eps = 1e-5", "'a..b' = 1", ["no path into config.json"]),
        ('H = "n_embd"', 'H = "n_embd | "', ["config.generics.H", "no path into config.json"]),
        ('H = "n_embd"', 'H = { default = "3" }', ["needs a `key`"]),
        ('H = "n_embd"', 'H = { key = "n", of = "2 ^ H" }', ["`of`", "no formula"]),
        ("[text]", "[constants]\nE = [1]\n[text]", ["constants.E", "name of a variant"]),
        ("[text]", "[constants]\nE = inf\n[text]", ["constants.E", "finite number"]),
        ("[text]", "[config.constants]\nE = 3\n[text]", ["config.constants.E"]),
        (
            "[text]",
            "[config.constants]\nE = { key = 'e', default = 'B', values = { a = 'B' } }\n[text]",
            ["`values` does not have"],
        ),
        ("[text]", "[image]\nsize = 'H'\n[text]", ["image.channels is missing", "image.std is"]),
    ],
)
def test_mistakes_are_named_with_line_and_nearest_name(
    card_file: Path, card_text: str, old: str, new: str, messages: list[str]
) -> None:
    assert card_text.count(old) == 1
    text = broken(card_file, card_text.replace(old, new))
    for message in messages:
        assert message in text
    line = card_text[: card_text.index(old)].count("\n") + 1
    lines = range(line, line + 1 + new.count("\n"))
    assert any(f"nest.toml:{number}:" in text for number in lines)


def test_preprocessing_and_tasks(card_file: Path, card_text: str) -> None:
    image = (
        '[image]\nsize = "H"\nchannels = "Vocab"\nresample = "bicubic"\nscale = 0.5\n'
        "mean = [0.5, 1]\nstd = [0.25, 2]\n"
    )
    task = card_text.replace('"MIT"\n', '"MIT"\ntask = "image-classification"\n')
    card_file.write_text(task + image, encoding="utf-8")
    card = load_card(card_file)
    assert card.about.task == "image-classification"
    assert card.image is not None
    assert (card.image.size, card.image.resample) == ("H", "bicubic")
    assert (card.image.mean, card.image.std) == ((0.5, 1), (0.25, 2))
    assert card.image.labels.text == "id2label"
    for old, new, message in (
        ("[0.25, 2]", "[0.25, 0]", "image.std = [0.25, 0] must not divide by 0"),
        ('"bicubic"', '"bicube"', "did you mean 'bicubic'?"),
        ('"H"\nch', '"Hs"\nch', "image.size names no generic of the card: Hs"),
        ("0.5\n", "true\n", "image.scale = true must be a finite number"),
    ):
        assert message in broken(card_file, task + image.replace(old, new))


def test_all_mistakes_come_together(card_file: Path) -> None:
    text = broken(
        card_file,
        '[model]\nname = "x"\ntags = "y"\n[weights]\nrepo = "nope"\nrevision = "main"\nfile = []\n'
        'files = ["../up"]\n[weights.sha256]\nf = "12"\n',
    )
    for part in (
        "[links] is missing", "[source] is missing", "model.title is missing", "model.tags",
        'weights.repo = "nope"', "full commit hash", "weights.file;", "did you mean 'files'",
        "outside of its folder", "nest.toml:10: weights.sha256.f",
    ):  # fmt: skip
        assert part in text.replace("unknown key weights.file", "weights.file"), part


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[model\n", "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = " + b"[" * 5000, "TOML|nested"),
        (b"", "is missing"),
    ],
)
def test_files_that_are_no_toml(card_file: Path, content: bytes, message: str) -> None:
    card_file.write_bytes(content)
    with pytest.raises(CardError, match=message):
        load_card(card_file)


def test_a_missing_card(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="cannot read"):
        load_card(tmp_path)


def test_revision_and_repository_come_together(card_file: Path, card_text: str) -> None:
    assert "weights.revision beside it" in broken(
        card_file, card_text + '[weights]\nrepo = "a/b"\n'
    )
