"""Render one kernel template: the one place that knows what templates are given.

In: a template, the C name and parameters, constants, the layout of each operand, the epilogue.
Out: C text. `codegen/README.md` describes the contract for those who write templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linnet.emit import env
from linnet.emit.names import wrapped
from linnet.plan.epilogues import FACTOR, PARTNERS, RESIDUAL
from linnet.targets.target import Target

_COMMENT = re.compile(r"//.*")


@dataclass(frozen=True)
class Epilogue:
    """What a kernel does to its result before the store, as templates see it."""

    activation: str  # its name, or ""
    partner: str  # the operand that the result meets, or ""
    sign: str  # how: "+" or "*"
    text: str

    @staticmethod
    def of(parts: tuple[str, ...]) -> Epilogue:
        activation = next((part for part in parts if part not in PARTNERS), "")
        partner = next((part for part in parts if part in PARTNERS), "")
        sign = {RESIDUAL: "+", FACTOR: "*"}.get(partner, "")
        text = f", then {activation}" if activation else ""
        if partner:
            text += f"{',' if activation else ''} {sign} {partner}"
        return Epilogue(activation, partner, sign, text)


def render_kernel(
    template: str,
    target: Target,
    name: str,
    params: str,
    consts: Sequence[tuple[str, int]],
    layouts: Mapping[str, str],
    dtypes: Mapping[str, str],
    epilogue: tuple[str, ...] = (),
) -> str:
    """The C function. `layouts` and `dtypes` map the operands of the card to how they are
    passed and to the element type they have in memory."""
    text = env.render(
        template,
        target,
        name=name,
        params=_broken(name, params),
        consts=list(consts),
        has={operand: layout != "absent" for operand, layout in layouts.items()},
        forms=dict(layouts),
        dtypes=dict(dtypes),
        epilogue=Epilogue.of(epilogue),
    )
    return _without_unused(text, [generic for generic, _ in consts])


def _broken(name: str, params: str) -> str:
    """The parameter list, broken over lines where the function's head would be too long."""
    before, after = f"static void {name}(", ") {"
    head = wrapped(f"{before}{params}{after}")
    return head[len(before) : -len(after)]


def _without_unused(text: str, generics: list[str]) -> str:
    """Drop the constants of generics that a kernel's body never mentions."""
    for generic in generics:
        definition = re.compile(rf"^  const int64_t {generic} = \d+;\n", re.MULTILINE)
        if len(re.findall(rf"\b{generic}\b", _COMMENT.sub("", text))) == 1:
            text = definition.sub("", text)
    return text
