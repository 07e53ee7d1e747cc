"""Tokenization against the published vocabulary's reference encodings, and streaming."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from linnet.errors import CheckpointError, UsageError
from linnet.nest.text import TextDecoder, Tokenizer, find_tokenizer, text_after

DATA = Path(__file__).parent.parent / "data"
NEST = Path(__file__).parent.parent.parent / "nest"
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def published() -> Tokenizer:
    folder = NEST / "gpt2"
    found = find_tokenizer({n: folder / n for n in ("vocab.json", "merges.txt")}, END)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def encodings() -> Any:
    text = (DATA / "gpt2-tokenizer" / "encodings.json").read_text(encoding="utf-8")
    return json.loads(text)


def test_reference_encodings_both_ways(published: Tokenizer, encodings: Any) -> None:
    assert published.size == 50257
    for case in encodings["cases"]:
        assert published.encode(case["text"]) == case["ids"], case["name"]
        assert published.decode(case["ids"]) == case["text"], case["name"]


def test_reference_decodings_of_broken_bytes(published: Tokenizer, encodings: Any) -> None:
    for case in encodings["decode_cases"]:
        assert published.decode(case["ids"]) == case["text"], case["name"]
        decoder = TextDecoder(published)
        pieces = [decoder.push(i) for i in case["ids"]] + [decoder.flush()]
        assert "".join(pieces) == case["text"], case["name"]


def test_half_surrogates_are_refused_with_their_place(published: Tokenizer, encodings: Any) -> None:
    for case in encodings["invalid_text"]:
        with pytest.raises(UsageError, match=r"not valid Unicode.*surrogate"):
            published.encode(case["text"])


def test_pieces_join_to_the_whole_decode_for_random_ids(published: Tokenizer) -> None:
    chance = random.Random(7)
    # Ids of single bytes and rare tokens, so that most lists are broken UTF-8 somewhere.
    for _ in range(500):
        ids = [chance.choice([chance.randrange(256), chance.randrange(50257)]) for _ in range(12)]
        decoder = TextDecoder(published)
        pieces = [decoder.push(i) for i in ids] + [decoder.flush()]
        assert "".join(pieces) == published.decode(ids)


def test_a_character_comes_with_its_last_byte(tok: Tokenizer) -> None:
    family = "👨\u200d👩\u200d👧 é e\u0301"
    ids = tok.encode("🙂" + family)
    assert len(ids) > 8  # the tiny vocabulary has no emoji: one id a byte
    decoder = TextDecoder(tok)
    pieces = [decoder.push(i) for i in ids] + [decoder.flush()]
    assert pieces[:4] == ["", "", "", "🙂"]
    assert "\ufffd" not in "".join(pieces)
    assert "".join(pieces) == "🙂" + family


def test_an_unfinished_character_comes_out_in_the_end(tok: Tokenizer) -> None:
    ids = tok.encode("🙂")[:3]
    decoder = TextDecoder(tok)
    assert [decoder.push(i) for i in ids] == ["", "", ""]
    assert decoder.flush() == "\ufffd" == tok.decode(ids)


def test_silent_ids_show_nothing_and_ids_without_token_neither(tok: Tokenizer) -> None:
    decoder = TextDecoder(tok, silent=[511])
    assert [decoder.push(511), decoder.push(9999), decoder.flush()] == ["", "", ""]
    assert tok.decode([511]) == END


def test_both_file_forms_agree() -> None:
    folder = NEST / "gpt2-tales"
    names = ("tokenizer.json", "vocab.json", "merges.txt")
    one = find_tokenizer({names[0]: folder / names[0]}, None)
    two = find_tokenizer({n: folder / n for n in names[1:]}, END)
    assert one is not None
    assert two is not None
    for text in (
        "Once upon  a time,\n\n\tthere",
        f"a{END} b",
        "naïve 🍕 café",
        "it's THEY'RE 123456",
    ):
        assert one.encode(text) == two.encode(text)
    assert one.encode(END) == [1856]


def test_references_of_the_embedded_model() -> None:
    folder = NEST / "gpt2-tales"
    tokenizer = find_tokenizer({"tokenizer.json": folder / "tokenizer.json"}, None)
    assert tokenizer is not None
    references = json.loads((DATA / "gpt2-tales" / "references.json").read_text(encoding="utf-8"))
    for case in references["cases"]:
        if case["prompt"]:
            assert tokenizer.encode(case["prompt"]) == case["ids"], case["name"]


def test_truncation_written_into_a_tokenizer_file_is_not_obeyed(
    backend: Any, tmp_path: Path
) -> None:
    data = json.loads(backend.to_str())
    data["truncation"] = {
        "direction": "Right",
        "max_length": 3,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    tokenizer = find_tokenizer({"tokenizer.json": file}, None)
    assert tokenizer is not None
    assert len(tokenizer.encode("a b c d e f g")) > 3


@pytest.mark.parametrize("content", ["", "{}", "not json", "[1]"])
def test_a_damaged_tokenizer_file_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        find_tokenizer({"tokenizer.json": file}, None)
    (tmp_path / "vocab.json").write_text(content, encoding="utf-8")
    (tmp_path / "merges.txt").write_text("x\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"vocab\.json"):
        find_tokenizer({n: tmp_path / n for n in ("vocab.json", "merges.txt")}, END)


def test_a_tokenizer_that_does_not_work_on_bytes_writes_no_pieces(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    file = tmp_path / "tokenizer.json"
    Backend(models.WordLevel({"a": 0}, unk_token="a")).save(str(file))
    tokenizer = find_tokenizer({"tokenizer.json": file}, None)
    assert tokenizer is not None
    assert tokenizer.encode("a") == [0]
    with pytest.raises(CheckpointError, match=r"byte-level or SentencePiece's.*'none'"):
        TextDecoder(tokenizer)
    with pytest.raises(CheckpointError, match="byte-level"):
        tokenizer.token_bytes(0)


STORIES = NEST / "stories260k"


@pytest.fixture(scope="module")
def stories() -> Tokenizer:
    found = find_tokenizer({"tokenizer.json": STORIES / "tokenizer.json"}, None)
    assert found is not None
    return found


def pieces_of(tokenizer: Tokenizer, ids: list[int], **options: Any) -> str:
    decoder = TextDecoder(tokenizer, **options)
    return "".join([*(decoder.push(token) for token in ids), decoder.flush()])


def test_references_of_the_embedded_stories(stories: Tokenizer) -> None:
    references = json.loads((DATA / "stories260k" / "references.json").read_text(encoding="utf-8"))
    for case in references["cases"]:
        assert stories.encode(case["prompt"]) == case["ids"], case["name"]
        assert stories.decode(case["greedy_ids"]) == case["greedy_text"], case["name"]
        assert pieces_of(stories, case["ids"], silent=stories.special) == case["prompt"]


def spelled(decoder: Any) -> Tokenizer:
    """A vocabulary with spaces within and around its tokens, bytes, and special tokens."""
    from tokenizers import AddedToken, models
    from tokenizers import Tokenizer as Backend

    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    words = ["▁", "▁▁", "▁the", "a▁b", "x", "é", "▁▁y", "<0x", "<0xZZ>", "\ufffd", "🙂"]
    tokens = {token: at for at, token in enumerate(["<unk>", *bytes_, *words])}
    backend = Backend(models.BPE(tokens, [], unk_token="<unk>", byte_fallback=True))
    backend.decoder = decoder
    backend.add_special_tokens(["<s>", "▁<t> "])
    backend.add_tokens([AddedToken("▁plain é"), AddedToken("<0x41>")])
    return Tokenizer(Backend.from_str(backend.to_str()), "the test's")


def spellings() -> dict[str, Any]:
    from tokenizers import decoders as d

    start = [d.Replace("▁", " "), d.ByteFallback(), d.Fuse()]
    return {
        "strip one": d.Sequence([*start, d.Strip(" ", 1, 0)]),
        "strip two": d.Sequence([*start, d.Strip(" ", 2, 0)]),
        "strip none": d.Sequence(start),
        "metaspace": d.Metaspace(),
        "metaspace first": d.Metaspace(prepend_scheme="first"),
        "metaspace never": d.Metaspace(prepend_scheme="never"),
    }


@pytest.mark.parametrize("name", spellings())
def test_spelled_pieces_join_to_what_the_library_makes_of_the_whole(name: str) -> None:
    tokenizer = spelled(spellings()[name])
    backend = tokenizer._backend
    chance = random.Random(11)
    smiley = [1 + byte for byte in "🙂é".encode()]
    words = range(257, tokenizer.size + 2)  # two of no token
    for _ in range(3000):
        ids: list[int] = []
        while len(ids) < chance.randrange(1, 12):
            more = [[chance.choice(words)], [chance.randrange(257)], smiley, smiley[:2]]
            ids += chance.choice(more)
        whole = backend.decode(ids, skip_special_tokens=False)
        assert tokenizer.decode(ids) == whole
        assert pieces_of(tokenizer, ids) == whole, ids
        silent = backend.decode(ids, skip_special_tokens=True)
        assert pieces_of(tokenizer, ids, silent=tokenizer.special) == silent, ids


@pytest.mark.parametrize("name", spellings())
def test_what_follows_a_text_keeps_its_space(name: str) -> None:
    tokenizer = spelled(spellings()[name])
    the, x = (tokenizer.id_of(token) for token in ("▁the", "x"))
    assert the is not None
    assert x is not None
    start = tokenizer.id_of("<s>")
    options = {"silent": tokenizer.special, "after": [start, x]}
    assert pieces_of(tokenizer, [the, x], **options) == " thex"
    whole = tokenizer.decode([the, x])
    assert pieces_of(tokenizer, [the, x], silent=tokenizer.special, after=[start]) == whole
    for after in ([start], [start, x]):
        bytes_of = b"".join(tokenizer.spelled([the, x], after))
        assert bytes_of.decode() == text_after(tokenizer, [the, x], after)


def test_a_run_of_bytes_comes_when_it_ends(stories: Tokenizer) -> None:
    ids = [3 + byte for byte in "🙂🍕".encode()]
    decoder = TextDecoder(stories)
    assert [decoder.push(token) for token in ids] == [""] * 8
    assert decoder.push(ids[0]) == ""  # a ninth makes the run invalid
    assert decoder.flush() == "\ufffd" * 9 == stories.decode([*ids, ids[0]])
    bytes_of = [stories.token_bytes(token) for token in ids]
    assert b"".join(bytes_of).decode() == "🙂🍕"
    assert stories.token_bytes(403) == b" Once"


def wrapped(padding: dict[str, Any] | None, most: int | None) -> Tokenizer:
    """Words of one letter between two marks, by a file that pads or cuts."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers, processors

    letters = {letter: at + 3 for at, letter in enumerate("abcdefgh")}
    words = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, **letters}
    backend = Backend(models.WordPiece(words, unk_token="[PAD]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    if padding is not None:
        backend.enable_padding(**padding)
    if most is not None:
        backend.enable_truncation(max_length=most)
    return Tokenizer(Backend.from_str(backend.to_str()), "the test's")


@pytest.mark.parametrize("side", ["left", "right"])
def test_no_file_pads_or_cuts(side: str) -> None:
    tokenizer = wrapped({"direction": side, "length": 6}, 4)
    assert tokenizer.encode("a") == [1, 3, 2]
    assert tokenizer.encode("a b c d e") == [1, 3, 4, 5, 6, 7, 2]
    assert tokenizer.decode([1, 3, 4, 2]) == "[CLS] a b [SEP]"


def test_a_text_that_is_cut_keeps_the_marks_around_it() -> None:
    tokenizer = wrapped(None, None)
    assert tokenizer.encode_within("a b c d e", 7) == [1, 3, 4, 5, 6, 7, 2]
    assert tokenizer.encode_within("a b c d e", 4) == [1, 3, 4, 2]
    assert tokenizer.encode_within("a b c d e", 2) == [1, 2]
    # As quick as `encode`: a text of a thousand books must not take minutes.
    assert tokenizer.encode_within("a b c d e " * 400_000, 4) == [1, 3, 4, 2]
    assert tokenizer.encode("a b c d e") == [1, 3, 4, 5, 6, 7, 2]
    with pytest.raises(UsageError, match="1 tokens have no room for the 2"):
        tokenizer.encode_within("a", 1)
