"""The process in which the other stack runs: `python -m linnet.compare.worker`.

Requests and answers as in `linnet.bench.worker`:

    check                                          -> title
    record  checkpoint, kind, inputs, sizes, folder -> recorded (see `recording`)
    digests names                                  -> digests, {parameter: text}

`kind` names the class that opens the checkpoint, `inputs` a file with the model's arguments;
of tensors only those with a number of elements in `sizes` are kept. Hooks see what each module
takes in and gives, a function mode what the functions inside it give.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linnet.bench.engine import need
from linnet.bench.worker import Worker, serve
from linnet.compare.recording import FUNCTION, GAVE, TAKEN, Event, Recording


class Recorder:
    """Keeps the tensors that pass by while a model runs."""

    def __init__(self, sizes: set[int]) -> None:
        self.sizes = sizes
        self.events: list[Event] = []
        self.arrays: dict[str, Any] = {}
        self._open: list[tuple[str, int]] = []
        self._calls: Counter[str] = Counter()
        self._keys: dict[tuple[Any, ...], str] = {}
        self._keeping = False

    def watch(self, model: Any) -> None:
        """Put hooks on every module."""
        for name, module in model.named_modules():
            module.register_forward_pre_hook(self._enter(name), with_kwargs=True)
            module.register_forward_hook(self._leave())

    def _enter(self, name: str) -> Any:
        def hook(module: Any, args: Any, kwargs: Any) -> None:
            self._open.append((name, self._calls[name]))
            self._calls[name] += 1
            self.keep(TAKEN, "", (*args, *kwargs.values()))

        return hook

    def _leave(self) -> Any:
        def hook(module: Any, args: Any, result: Any) -> None:
            self.keep(GAVE, "", result)
            self._open.pop()

        return hook

    def keep(self, what: str, name: str, values: Any) -> None:
        """Note the tensors in `values` as they are now."""
        if self._keeping:  # what making a copy calls is none of the model's doing
            return
        self._keeping = True
        module, call = self._open[-1] if self._open else ("", 0)
        keys = [self._key(t) for t in tensors(values) if t.numel() in self.sizes]
        if keys:
            self.events.append(Event(module, call, what, name, tuple(keys)))
        self._keeping = False

    def _key(self, tensor: Any) -> str:
        """The name of an array; equal ones are kept once."""
        array = as_array(tensor)
        facts = (array.shape, array.dtype.str, hashlib.blake2b(array.tobytes()).digest())
        if facts not in self._keys:
            self._keys[facts] = str(len(self.arrays))
            self.arrays[self._keys[facts]] = array
        return self._keys[facts]

    def mode(self) -> Any:
        """A context in which every function of the library is seen."""
        base: Any = need("torch.overrides").TorchFunctionMode
        recorder = self

        class Mode(base):  # type: ignore[misc]
            def __torch_function__(
                self, function: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                result = function(*args, **(kwargs or {}))
                recorder.keep(FUNCTION, getattr(function, "__name__", str(function)), result)
                return result

        return Mode()


def tensors(values: Any) -> Iterator[Any]:
    """The tensors in a value, lists and dictionaries walked through."""
    if isinstance(values, need("torch").Tensor):
        yield values
    elif isinstance(values, dict):
        for value in values.values():
            yield from tensors(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors(value)


def as_array(tensor: Any) -> Any:
    """A copy in numpy; halves as f32."""
    tensor = tensor.detach()
    if tensor.is_floating_point() and tensor.dtype != need("torch").float64:
        tensor = tensor.float()
    return tensor.cpu().clone(memory_format=need("torch").contiguous_format).numpy()


class CompareWorker(Worker):
    """Answers the requests above; holds the model that was recorded last."""

    def do_check(self, engine: str = "") -> dict[str, Any]:
        versions = [f"{name} {need(name).__version__}" for name in ("transformers", "torch")]
        return {"title": ", ".join(versions)}

    def do_record(
        self, checkpoint: str, kind: str, inputs: str, sizes: list[int], folder: str
    ) -> dict[str, Any]:
        import numpy as np

        torch = need("torch")
        model = open_model(checkpoint, kind)
        self._parameters = dict(model.named_parameters(remove_duplicate=False))
        recorder = Recorder(set(sizes))
        recorder.watch(model)
        with np.load(inputs) as file:
            arguments = {name: torch.from_numpy(file[name]) for name in file.files}
        with torch.inference_mode(), recorder.mode():
            found = model(**arguments)
        outputs = {}
        for name, value in found.items():
            if isinstance(value, torch.Tensor) and value.numel() in recorder.sizes:
                outputs[name] = f"output.{name}"
                recorder.arrays[outputs[name]] = as_array(value)
        title = self.do_check()["title"]
        names = tuple(self._parameters)
        events = tuple(recorder.events)
        Recording(title, names, events, outputs, recorder.arrays).save(Path(folder))
        return {"recorded": len(events)}

    def do_digests(self, names: list[str]) -> dict[str, Any]:
        return {"digests": {name: digest(as_array(self._parameters[name])) for name in names}}


def digest(array: Any) -> str:
    """A text equal for parameters with the same elements in row-major order, as f32."""
    import numpy as np

    flat = np.ascontiguousarray(array, np.float32)
    return hashlib.blake2b(flat.tobytes(), digest_size=16).hexdigest()


def open_model(checkpoint: str, kind: str) -> Any:
    """The checkpoint as a module that computes in f32, attention written out in steps."""
    transformers = need("transformers")
    transformers.logging.set_verbosity_error()
    opener = getattr(transformers, kind)
    model = opener.from_pretrained(
        checkpoint, dtype=need("torch").float32, attn_implementation="eager"
    )
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = False
    return model.eval()


if __name__ == "__main__":
    serve(CompareWorker())
