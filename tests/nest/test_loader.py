"""Loading: the order of the steps, and what each is handed. The compiler is a stand-in here."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from linnet import driver, nest
from linnet.artifact import Parameter
from linnet.errors import CheckpointError, ConfigError, ShapeError, UnknownModelError, UsageError
from linnet.nest import loader

from .conftest import Script

LEAVES = (
    *("ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias"),
    *("attn.c_attn.weight", "attn.c_attn.bias", "attn.c_proj.weight", "attn.c_proj.bias"),
    *("mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"),
)


class Driver:
    """Notes what it is asked to build and bind; what it gives back runs a script."""

    def __init__(self) -> None:
        self.built: list[driver.Request] = []
        self.bound: list[dict[str, str]] = []

    def manifest(self, request: driver.Request, most: int | None = None) -> tuple[Parameter, ...]:
        self.built.append(request)
        layers = request.generics["Layers"]
        assert isinstance(layers, int)
        paths = [f"blocks.{i}.{leaf}" for i in range(layers) for leaf in LEAVES]
        paths += ["wte", "wpe", "ln_f.weight", "ln_f.bias"]
        return tuple(Parameter(path, "f32", (1,), False, "") for path in paths)

    def load(
        self, request: driver.Request, source: Any, names: dict[str, str], **options: Any
    ) -> Script:
        self.bound.append(names)
        assert options["strict"] is True
        program = Script([1, 2, 3])
        program.artifact = SimpleNamespace(generics=tuple(request.generics.items()))
        return program


def checked(source: Path) -> Any:
    """What the checker tells of a source, cut down to the generics of its root."""
    names = ("Vocab", "MaxPositions", "H", "Heads", "Layers", "Batch", "MaxSeq", "Inner", "Spare")
    generics = tuple(SimpleNamespace(name=name) for name in names)
    return SimpleNamespace(program=SimpleNamespace(generics=generics))


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Driver:
    fake = Driver()
    monkeypatch.setattr(driver, "manifest", fake.manifest)
    monkeypatch.setattr(driver, "load", fake.load)
    monkeypatch.setattr(driver, "check", checked)
    monkeypatch.setattr(driver, "root_block", lambda program, root: program)
    return fake


def checkpoint(folder: Path, prefix: str = "", dtype: Any = np.float32, **config: Any) -> Path:
    folder.mkdir(exist_ok=True)
    sizes = {"n_embd": 8, "n_head": 2, "n_layer": 2, "n_positions": 16, "vocab_size": 40}
    values = {"model_type": "gpt2", "eos_token_id": 39, **sizes, **config}
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    names = [f"h.{i}.{leaf}" for i in range(2) for leaf in (*LEAVES, "attn.bias")]
    names += ["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"]
    save_file(
        {prefix + name: np.zeros(1, dtype) for name in names},
        folder / "model.safetensors",
    )
    return folder


def test_the_embedded_model_loads_with_its_own_files(compiler: Driver) -> None:
    with nest.load("gpt2-tales") as model:
        assert model.context == 256
        assert model.generics["Inner"] == 640
        assert model.tokenize("<|endoftext|>") == [1856]
        assert model.config["n_embd"] == 160
        assert model._facts.text is not None
        assert model._facts.text.end_ids == (1856,)
    (built,) = compiler.built
    assert built.source.name == "gpt2.linnet"
    assert (built.root, built.target, built.numerics) == ("Gpt2", "native", "equivalent")
    assert compiler.bound[0]["blocks.3.mlp.c_fc.bias"] == "transformer.h.3.mlp.c_fc.bias"
    assert compiler.bound[0]["wte"] == "transformer.wte.weight"


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_a_checkpoint_of_the_family_gives_its_own_sizes(
    compiler: Driver, tmp_path: Path, prefix: str
) -> None:
    folder = checkpoint(tmp_path / "my models ü 模型", prefix)
    model = nest.load("gpt2", checkpoint=str(folder), generics={"MaxSeq": 12})
    sizes = {"H": 8, "Heads": 2, "Layers": 2, "Inner": 32, "MaxSeq": 12, "MaxPositions": 16}
    assert {name: model.generics[name] for name in sizes} == sizes
    assert model.context == 12
    assert compiler.bound[0]["wte"] == prefix + "wte.weight"
    assert compiler.bound[0]["blocks.1.ln_1.bias"] == prefix + "h.1.ln_1.bias"
    explained = model.explain()
    assert str(folder) in explained
    assert f"{prefix}h.0.attn.bias, {prefix}h.1.attn.bias" in explained


@pytest.mark.parametrize("generics", [None, {"MaxSeq": 12}])
def test_more_within_a_layer_is_another_model(
    compiler: Driver, tmp_path: Path, generics: dict[str, int] | None
) -> None:
    folder = checkpoint(tmp_path, "transformer.")
    tensors = load_file(folder / "model.safetensors")
    # A head of another task beside the layers is nobody's business.
    more = {"score.weight": np.zeros(1, np.float32), "head.0.weight": np.zeros(1, np.float32)}
    save_file(tensors | more, folder / "model.safetensors")
    nest.load("gpt2", checkpoint=folder, generics=generics)
    adapters = {
        f"transformer.h.{i}.attn.c_attn.lora_A.weight": np.zeros(1, np.float32) for i in range(2)
    }
    save_file(tensors | more | adapters, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"h\.0\.attn\.c_attn\.lora_A.* and 1 more") as caught:
        nest.load("gpt2", checkpoint=folder, generics=generics)
    assert "of which gpt2.linnet knows nothing" in str(caught.value)
    assert "`unused` under [weights]" in str(caught.value)


def test_generics_that_only_the_source_knows_may_be_given(compiler: Driver) -> None:
    assert nest.load("gpt2-tales", generics={"Spare": 3}).generics["Spare"] == 3


def test_a_tokenizer_of_another_size_is_not_borrowed(compiler: Driver, tmp_path: Path) -> None:
    model = nest.load("gpt2", checkpoint=checkpoint(tmp_path / "small"))
    with pytest.raises(UsageError, match="the one of gpt2 has 50257 ids and this checkpoint 40"):
        model.generate("text")
    assert model.generate([1, 2], max_new_tokens=1).token_ids == (1,)
    assert model.generate("", max_new_tokens=1).usage.prompt_tokens == 1
    full = nest.load("gpt2", checkpoint=checkpoint(tmp_path / "full", vocab_size=50257))
    assert full.tokenize("Hello, world!") == [15496, 11, 995, 0]


def test_a_contradicting_config_is_refused_before_anything_else(
    compiler: Driver, tmp_path: Path
) -> None:
    folder = checkpoint(tmp_path / "bad", scale_attn_weights=False)
    (folder / "model.safetensors").write_bytes(b"not a weight file at all")
    with pytest.raises(ConfigError, match="scale_attn_weights = false, expected true"):
        nest.load("gpt2", checkpoint=folder)
    assert compiler.built == []


def test_a_card_in_a_folder_of_its_own(compiler: Driver, card_file: Path, tmp_path: Path) -> None:
    text = card_file.read_text(encoding="utf-8")
    card_file.write_text(text.replace("[generics]\n", "[generics]\nLayers = 0\n"), encoding="utf-8")
    checkpoint(card_file.parent, model_type="tiny")
    model = nest.load(card_file.parent)
    assert model.name == "tiny"
    assert compiler.built[0].source == card_file.parent / "tiny.linnet"
    assert "ln_f.weight" in compiler.bound[0].values()


def test_half_precision_is_widened_only_when_the_card_says_so(
    compiler: Driver, card_file: Path, tmp_path: Path
) -> None:
    half = checkpoint(tmp_path / "half", dtype=np.float16)
    assert "stored as f16" in nest.load("gpt2", checkpoint=half).explain()
    text = card_file.read_text(encoding="utf-8")
    card_file.write_text(text.replace("[generics]\n", "[generics]\nLayers = 0\n"), encoding="utf-8")
    checkpoint(card_file.parent, dtype=np.float16, model_type="tiny")
    with pytest.raises(CheckpointError, match="widen = true"):
        nest.load(card_file.parent)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, "threads must be a number.* 0"),
        ({"threads": 1.5}, "threads must"),
        ({"threads": True}, "threads must"),
        ({"threads": "2"}, "threads must"),
        ({"numerics": "exakt"}, "did you mean 'exact'"),
        ({"target": None}, "target = None"),
        ({"offline": 1}, "offline = 1"),
        ({"generics": {"Layer": 3}}, "did you mean 'Layers'"),
        ({"checkpoint": 7}, "checkpoint = 7"),
    ],
)
def test_bad_arguments(compiler: Driver, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        nest.load("gpt2-tales", **options)
    assert compiler.built == []


def test_unknown_model_suggests(compiler: Driver) -> None:
    with pytest.raises(UnknownModelError, match="did you mean 'gpt2'"):
        nest.load("gpt-2")


def test_paths_that_are_no_models(compiler: Driver, tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match=r"^there is no folder \./nowhere\n"):
        nest.load("./nowhere")
    source = tmp_path / "pond.linnet"
    source.write_text("module pond\n")
    with pytest.raises(UnknownModelError, match=r"pond\.linnet is a source file, not a model") as e:
        nest.load(source)
    assert "linnet.compile" in (e.value.help or "")


@pytest.mark.parametrize("name", ["é" * 500, "a\0b", "~nobody-of-that-name/x"])
def test_names_that_no_file_can_have(compiler: Driver, name: str) -> None:
    with pytest.raises(UnknownModelError, match="there is no model"):
        nest.load(name)
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        nest.load("gpt2-tales", checkpoint=name)


def test_no_name_at_all(compiler: Driver) -> None:
    with pytest.raises(UnknownModelError, match="no model name is given"):
        nest.load("")


def test_listing_and_showing() -> None:
    assert {"gpt2", "gpt2-tales"} <= set(nest.list())
    assert nest.show("gpt2").about.family == "gpt2"
    assert "607a30d783dfa663caf39e06633721c8d4cfcd7e" in str(nest.show("gpt2"))


def test_importing_the_zoo_stays_light() -> None:
    import subprocess

    heavy = "{'numpy', 'tokenizers', 'huggingface_hub', 'lark', 'linnet.runtime.checkpoint'}"
    code = f"import sys, linnet.nest; print(sorted({heavy} & set(sys.modules)))"
    root = str(Path(loader.__file__).parent.parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


def test_a_warm_start_imports_what_it_needs_and_packs_before_numpy(tmp_path: Path) -> None:
    import os
    import subprocess

    code = """
        import sys
        from linnet import nest
        from linnet.runtime import layout

        class Watched(layout.Layout):
            def __init__(self, *given):
                print("numpy" in sys.modules)
                super().__init__(*given)

        layout.Layout = Watched
        model = nest.load("gpt2-tales")
        stages = "syntax modules check lower passes plan emit interp".split()
        idle = {f"linnet.{name}" for name in stages}
        idle |= {"lark", "jinja2", "subprocess", "shutil", "tempfile", "logging", "tokenizers"}
        print(*sorted(idle & set(sys.modules)))
    """
    root = str(Path(loader.__file__).parent.parent.parent)
    variables = {**os.environ, "LINNET_CACHE": str(tmp_path), "PYTHONPATH": root}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    said = [
        subprocess.run(command, capture_output=True, text=True, check=True, env=variables).stdout
        for _ in range(2)
    ]
    assert "linnet.check" in said[0]
    assert said[1] == "False\n\n"


def test_too_many_members_are_refused_alike_cold_and_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from linnet import driver

    monkeypatch.setenv("LINNET_CACHE", str(tmp_path))
    card = nest.show("gpt2-tales")
    request = driver.Request(card.source.path, root=card.source.root, generics=card.generics)
    said = []
    for _ in range(2):
        with pytest.raises(ShapeError) as caught:
            driver.manifest(request, most=55)
        said.append(str(caught.value))
        driver.manifest(request)  # what is remembered then must not hide the refusal
    assert said[0] == said[1]
    assert "more than 55 parameters" in said[0]  # 52 weights, and states
