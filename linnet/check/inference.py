"""What the generics of a call stand for, and what the callee demands: steps 3 to 6 of a call.

In: the callee, and a typed argument for each parameter (None for a default). Out: bindings of all
generics with every obligation proven, or one report. Structs are built by the same rules.
"""

from __future__ import annotations

from linnet.check import show
from linnet.check.context import Context, is_poison, poison
from linnet.check.dims_of import possible_sizes
from linnet.check.fit import ARGUMENT, Place, adapt, mismatch, shape_notes
from linnet.check.proofs import counterexample, equal, suggestion
from linnet.check.substitute import Bindings
from linnet.check.typed import Call, FunctionDecl, GenericParam, Parameter, TExpr
from linnet.check.types import (
    DTypeVar,
    GenericArgument,
    GenericSymbol,
    Tensor,
    Type,
    Unit,
)
from linnet.check.types_of import generic_argument, in_class, prove_clauses
from linnet.check.unify import Clash, Unifier
from linnet.diag import Label, Span
from linnet.dims import Clause
from linnet.syntax import tree


def explicit_generics(
    ctx: Context, node: tree.Call, decl: FunctionDecl, span: Span
) -> list[GenericArgument] | None:
    """The generic arguments that a call writes out, or None after a report."""
    written = node.type_args or ()
    if len(written) > len(decl.generics):
        ctx.report(
            "E2111",
            f"`{decl.name}` has too many generic arguments",
            span,
            f"{len(written)} given, takes {len(decl.generics)} at most",
            related=(Label(decl.span, "declared here"),),
            notes=(f"declared as `{show.signature(decl)}`",),
        )
        return None
    found = [
        generic_argument(ctx, argument, param)
        for argument, param in zip(written, decl.generics, strict=False)
    ]
    whole = [argument for argument in found if argument is not None]
    return whole if len(whole) == len(found) else None


class Inference:
    """Steps 3 to 6 of a call: unify, defaults, proofs, result."""

    def __init__(
        self,
        ctx: Context,
        node: tree.Call,
        decl: FunctionDecl,
        unifier: Unifier,
        values: list[TExpr | None],
        span: Span,
        place: Place = ARGUMENT,
    ) -> None:
        self.ctx = ctx
        self.node = node
        self.decl = decl
        self.unifier = unifier
        self.bindings = unifier.bindings
        self.sought = frozenset(unifier.open)
        self.values = values
        self.span = span
        self.place = place

    def solve(self) -> bool:
        """Everything up to the proofs; False after the first report."""
        return (
            self._unify()
            and self._defaults()
            and self._postponed()
            and self._classes()
            and self._literals()
            and self._where()
        )

    def _unify(self) -> bool:
        for number, (param, value) in enumerate(
            zip(self.decl.parameters, self.values, strict=True)
        ):
            if value is None:
                continue
            self.unifier.argument = number
            clash = self.unifier.type(param.variable.type, value.type)
            if clash is not None:
                self._clash(clash, param, value)
                return False
        return True

    def _clash(self, clash: Clash, param: Parameter, value: TExpr) -> None:
        wanted = self.bindings.type(param.variable.type)
        related = (Label(param.span, f"`{param.variable.name}` is declared here"),)
        if clash.kind == "packs":
            packs = [g for g in self.decl.generics if g.symbol in self.unifier.open]
            self._undetermined(packs[0])
            return
        self._mismatch(value, wanted, related, param)

    def _mismatch(
        self, value: TExpr, wanted: Type, related: tuple[Label, ...], param: Parameter
    ) -> None:
        if wanted != param.variable.type:
            name = param.variable.name
            text = f"`{name}` is `{show.type_(wanted)}` here, from the generics known so far"
            related = (Label(param.span, text),)
        mismatch(self.ctx, value, wanted, self.place, related, self._turned(value, param))

    def _turned(self, value: TExpr, param: Parameter) -> tuple[str, ...]:
        """The help for a tensor with which the call would fit if its last two axes stood the other
        way round, as those of a matrix often do that comes from elsewhere."""
        if not isinstance(value.type, Tensor) or len(value.type.axes) < 2:
            return ()
        *before, rows, columns = value.type.axes
        turned = Tensor(value.type.dtype, (*before, columns, rows))
        known = (self.bindings.dims, self.bindings.packs, self.bindings.dtypes)
        given = {s: a for group in known for s, a in group.items() if s not in self.sought}
        unifier = Unifier(self.ctx.facts, Bindings(given), set(self.sought))
        for other, argument in zip(self.decl.parameters, self.values, strict=True):
            found = turned if other is param else None if argument is None else argument.type
            if found is not None and unifier.type(other.variable.type, found) is not None:
                return ()
        facts, bindings = self.ctx.facts, unifier.bindings
        if not all(equal(facts, bindings.dim(d), found) for d, found, _ in unifier.postponed):
            return ()
        which = "its axes" if not before else "its last two axes"
        return (
            f"with {which} the other way round it would fit: declare it {show.quoted(turned)}, "
            "or `permute` it",
        )

    def _defaults(self) -> bool:
        for param in self.decl.generics:
            if param.symbol not in self.unifier.open:
                continue
            if param.default is None:
                self._undetermined(param)
                return False
            self.unifier.bind(param.symbol, self.bindings.argument(param.default))
        return True

    def _undetermined(self, param: GenericParam) -> None:
        names = []
        for generic in self.decl.generics:
            bound = self.bindings.get(generic.symbol)
            names.append(generic.name if bound is None else show.argument(bound))
        still_open = self.unifier.open
        last = max(n for n, g in enumerate(self.decl.generics) if g.symbol in still_open)
        callee = self.node.callee.span.text
        spelling = f"{callee}<{', '.join(names[: last + 1])}>(…)"
        self.ctx.report(
            "E2110",
            f"generic `{param.name}` of `{self.decl.name}` cannot be worked out",
            self.span,
            "no argument determines it",
            related=(Label(param.span, "declared here"),),
            notes=("products and quotients of dimensions are compared, never solved",)
            if self.unifier.postponed
            else (),
            help=f"write it at the call: `{spelling}`, with a value for `{param.name}`",
        )

    def _postponed(self) -> bool:
        for pattern, found, number in self.unifier.postponed:
            wanted = self.bindings.dim(pattern)
            if equal(self.ctx.facts, wanted, found):
                continue
            param, value = self.decl.parameters[number], self.values[number]
            assert value is not None
            claim = Clause.of("==", wanted, found)
            full = self.bindings.type(param.variable.type)
            self.ctx.report(
                self.place.shape,
                f"{self.place.noun} has another shape than needed",
                value.span,
                f"this is {show.quoted(value.type)}",
                related=(Label(param.span, f"`{pattern}` is `{wanted}` here"),),
                notes=(
                    f"expected {show.quoted(full)}",
                    *shape_notes(self.ctx, value.type, full),
                    *counterexample(self.ctx.facts, claim),
                ),
                help=suggestion(self.ctx, claim),
            )
            return False
        return True

    def _classes(self) -> bool:
        explicit = len(self.node.type_args or ())
        for param in self.decl.generics[explicit:]:
            bound = self.bindings.get(param.symbol)
            if not isinstance(bound, str | DTypeVar):
                continue
            if not in_class(self.ctx, bound, param, self.span):
                return False
        return True

    def _literals(self) -> bool:
        """Give the literals among the arguments the types their parameters have by now."""
        for number, (param, value) in enumerate(
            zip(self.decl.parameters, self.values, strict=True)
        ):
            if value is None:
                continue
            wanted = self.bindings.type(param.variable.type)
            adapted = adapt(self.ctx, value, wanted, self.place)
            if adapted is None or is_poison(adapted):
                return False
            self.values[number] = adapted
        return True

    def _where(self) -> bool:
        clauses = [self.bindings.clause(clause) for clause in self.decl.where]
        return prove_clauses(self.ctx, clauses, f"`{self.decl.name}`", self.span)

    def generics(self) -> dict[GenericSymbol, GenericArgument]:
        """What every generic of the callee stands for, after `solve`."""
        found: dict[GenericSymbol, GenericArgument] = {}
        for param in self.decl.generics:
            bound = self.bindings.get(param.symbol)
            assert bound is not None
            found[param.symbol] = bound
        return found

    def result(self, receiver: TExpr | None) -> TExpr:
        """The call, with the type that the callee's result has here."""
        type = Unit() if self.decl.result is None else self.bindings.type(self.decl.result)
        if not possible_sizes(self.ctx, type, self.node.span, f"`{self.decl.name}`"):
            return poison(self.node.span)
        return Call(type, self.node.span, self.decl, self.generics(), tuple(self.values), receiver)
