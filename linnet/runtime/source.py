"""What is asked of a place that weights come from: a checkpoint, or arrays by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from linnet.runtime.bind import Tensor
from linnet.runtime.memory import Stored

if TYPE_CHECKING:
    import numpy.typing as npt


class WeightSource(Protocol):
    """Where weights come from: a `Checkpoint`, or `Arrays`."""

    @property
    def tensors(self) -> Mapping[str, Tensor]: ...

    def array(self, name: str) -> npt.NDArray[Any]:
        """The tensor as stored, read-only; f16 as float16, bf16 as its bits in uint16."""
        ...

    def stored(self, name: str) -> Stored:
        """Where the bytes of the tensor are."""
        ...

    def release(self, name: str) -> None:
        """The tensor was copied elsewhere; its memory may go until it is asked for again."""
