"""From a card and its settings to what the compiler is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from linnet import driver
from linnet.errors import ConfigError, ConstantError, SizeError, UsageError
from linnet.nest.card import Card, Generic
from linnet.nest.settings import Settings


def request_for(
    card: Card, settings: Settings, target: str = "native", numerics: str = "equivalent"
) -> driver.Request:
    """The request to compile a card's source with these values."""
    return driver.Request(
        source=card.source.path,
        root=card.source.root,
        generics=settings.generics,
        constants=settings.constants,
        target=target,
        numerics=numerics,
        name=card.name,
    )


@contextmanager
def blaming(settings: Settings) -> Iterator[None]:
    """Let a constant or a size that the source cannot take be the fault of who gave it."""
    try:
        yield
    except SizeError as error:
        if not error.generics.keys() <= settings.reasons.keys():
            raise
        told = ", ".join(
            f"{name} = {value} ({settings.reasons[name]})" for name, value in error.generics.items()
        )
        raise ConfigError(
            f"{settings.file}: {error.fact} with {told}",
            help=f"the source can compute no other sizes ({error.place})",
        ) from None
    except ConstantError as error:
        kind, where = settings.origins[error.constant]
        if kind is UsageError:
            raise
        raise kind(f"{where}: {error.message.removeprefix('constants: ')}") from None


def known_generics(card: Card, given: Mapping[str, Generic] | None) -> tuple[str, ...]:
    """The names that `given` may use: the card's; the source is read only for others, which
    have their defaults there."""
    if not given or all(name in card.known_generics for name in given):
        return card.known_generics
    program = driver.check(card.source.path).program
    assert program is not None
    return tuple(g.name for g in driver.root_block(program, card.source.root).generics)
