"""`linnet generate`: what it writes where, how a prompt is found, which values it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import EMBEDDED, ROOT, Run

References = dict[str, dict[str, Any]]


def test_greedy_text_is_that_of_the_reference(run: Run, references: References) -> None:
    case = references["king"]
    result = run("generate", "--prompt", case["prompt"])
    assert result.exit_code == 0
    assert result.stdout == case["greedy_text"].removesuffix("\n") + "\n"
    assert result.stderr == ""


def test_without_a_prompt_it_starts_from_end_of_text(run: Run, references: References) -> None:
    texts = {run("generate", *args, stdin="").stdout for args in ([], ["--prompt", ""])}
    assert texts == {references["empty"]["greedy_text"] + "\n"}


def test_a_prompt_comes_from_stdin_or_a_file_without_the_last_newline(
    run: Run, tmp_path: Path, references: References
) -> None:
    case = references["once"]
    file = tmp_path / "my prompt ü 模型.txt"
    file.write_bytes(b"\xef\xbb\xbf" + case["prompt"].encode() + b"\r\n")
    expected = run("generate", "-p", case["prompt"], "-n", "8").stdout
    assert expected.strip()
    assert run("generate", "-n", "8", stdin=case["prompt"] + "\n").stdout == expected
    assert run("generate", "-n", "8", "--file", str(file), stdin="no").stdout == expected
    assert run("generate", "-n", "8", "--file", "-", stdin=case["prompt"]).stdout == expected


def test_the_seed_is_reported_and_gives_the_text_again(run: Run) -> None:
    first = run("generate", "-p", "The king", "--temp", "1.2", "-n", "24")
    found = re.fullmatch(r"seed: (\d+)\n", first.stderr)
    assert found is not None
    args = ("generate", "-p", "The king", "--temp", "1.2", "-n", "24", "--seed", found.group(1))
    assert run(*args).stdout == first.stdout
    other = run(*args[:-1], str(int(found.group(1)) + 1))
    assert other.stdout != first.stdout


def test_echo_writes_the_prompt_first(run: Run) -> None:
    plain = run("generate", "-p", "Once", "-n", "6").stdout
    assert run("generate", "-p", "Once", "-n", "6", "--echo").stdout == "Once" + plain


def test_stop_text_is_cut_away(run: Run, references: References) -> None:
    text = references["empty"]["greedy_text"]
    assert run("generate", "--stop", "zzz", "--stop", " was").stdout == text.split(" was")[0] + "\n"
    spaced = run("generate", LINNET_STOP=" was chased")
    assert spaced.stdout == text.split(" was chased")[0] + "\n"


def test_json_is_one_document(run: Run, references: References) -> None:
    case = references["three_sons"]
    result = run("generate", EMBEDDED, "-p", case["prompt"], "--json")
    document = json.loads(result.stdout)
    assert document["token_ids"] == case["greedy_ids"]
    assert document["text"] == case["greedy_text"]
    assert document["usage"]["prompt_tokens"] == len(case["ids"])
    assert document["model"] == EMBEDDED
    assert document["seed"] is None


def test_variables_stand_in_for_options_and_the_command_line_wins(run: Run) -> None:
    def count(*args: str, **env: str) -> int:
        return len(json.loads(run("generate", "--json", *args, **env).stdout)["token_ids"])

    assert count(LINNET_MAX_TOKENS="3") == 3
    assert count("--max-new-tokens", "2", LINNET_MAX_TOKENS="3") == 2


def test_zero_tokens_are_no_text(run: Run) -> None:
    result = run("generate", "-n", "0", "-p", "Once")
    assert (result.exit_code, result.stdout) == (0, "")


def test_a_huge_limit_ends_with_the_positions(run: Run, references: References) -> None:
    prompt = references["long_250"]["prompt"]
    result = run("generate", "-n", str(10**18), "-p", prompt, "--ignore-eos", "--json")
    document = json.loads(result.stdout)
    assert document["usage"]["total_tokens"] == 256
    assert document["finish_reason"] == "length"


@pytest.mark.parametrize("value", ["0", "-0.0", "1e-45", "1e-10"])
def test_vanishing_temperatures_are_greedy(run: Run, value: str) -> None:
    result = run("generate", "--temp", value, "-n", "8")
    assert result.stdout == run("generate", "-n", "8").stdout
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--temp", "-1", "--temp = -1.0: it must be 0 or more"),
        ("--temp", "nan", "--temp = nan: it must be finite"),
        ("--temp", "inf", "--temp = inf: it must be finite"),
        ("--temp", "warm", "--temp: 'warm' is not a valid float"),
        ("--top-p", "1.5", "--top-p = 1.5: it must be 1 or less"),
        ("--min-p", "-0.1", "--min-p = -0.1"),
        ("--top-k", "-2", "--top-k = -2"),
        ("--repeat-penalty", "0", "--repeat-penalty = 0.0: it must be greater than 0"),
        ("--seed", "-1", "--seed = -1"),
        ("--max-tokens", "-1", "--max-tokens = -1: it must be 0 or more"),
        ("--max-tokens", "1.5", "--max-tokens: '1.5' is not a valid integer"),
        ("--stop", "", "--stop '': an empty text would stop at once"),
        ("--threads", "0", "--threads must be a number from 1 on, not 0"),
        ("--threads", "-1", "--threads must be a number from 1 on, not -1"),
        ("--threads", "many", "--threads: 'many' is not a valid integer"),
        ("--target", "mmx", "--target: 'mmx' is no target; there are native, avx512"),
        ("--numerics", "sloppy", "--numerics: 'sloppy' is no policy"),
    ],
)
def test_values_out_of_range_are_usage_errors(run: Run, option: str, value: str, said: str) -> None:
    result = run("generate", option, value)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"error: {said}")
    assert "help: `linnet generate --help`" in result.stderr


def test_a_bad_variable_is_named(run: Run) -> None:
    result = run("generate", LINNET_TOP_P="most")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: LINNET_TOP_P: 'most' is not a valid float")


def test_prompt_and_file_exclude_each_other(run: Run) -> None:
    result = run("generate", "-p", "a", "--file", "b")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_a_prompt_in_the_place_of_a_second_argument(run: Run) -> None:
    result = run("generate", EMBEDDED, "The king")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unexpected 'The king': a prompt is given by --prompt" in result.stderr


@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (["gtp2-tales"], b"", "there is no model 'gtp2-tales'; did you mean 'gpt2-tales'?"),
        (["Once upon a time"], b"", "help: a prompt is given by --prompt"),
        (["--file", "nowhere.txt"], b"", "error: nowhere.txt: No such file or directory"),
        ([], b"Ol\xe9", "stdin is not UTF-8 text: byte 0xe9 at offset 2"),
        (["-p", "half \udc80"], b"", "the prompt is not valid Unicode"),
        (["--checkpoint", "nowhere"], b"", "there is no checkpoint at"),
        (["gpt2", "--offline", "-p", "x"], b"", "the network is not used: offline was asked for"),
    ],
)
def test_bad_input_is_one_message_and_no_traceback(
    run: Run,
    args: list[str],
    stdin: bytes,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    result = run("generate", *args, stdin=stdin)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_prompt_that_does_not_fit_names_clause_and_sizes(run: Run) -> None:
    result = run("generate", stdin="once upon a time " * 100)
    assert result.exit_code == 1
    assert "S <= MaxPositions" in result.stderr
    assert "MaxPositions = 256" in result.stderr
    assert "gpt2.linnet:" in result.stderr


def test_a_checkpoint_folder_is_taken_as_it_is(run: Run, references: References) -> None:
    folder = str(ROOT / "nest" / EMBEDDED)
    result = run("generate", "gpt2", "--checkpoint", folder, "-p", "", "-n", "16")
    assert result.exit_code == 0
    assert references["empty"]["greedy_text"].startswith(result.stdout.strip())


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), PermissionError(13, "no", "x")])
def test_what_the_system_refuses_is_no_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("linnet.nest.load", refuse)
    result = run("generate")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
