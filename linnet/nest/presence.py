"""Optional tensors: is what a checkpoint holds of them, and leaves out, one model?

Optional parameters (biases, norms of heads) are there if their tensors are. In go a card, a
config.json and the names of a checkpoint; out comes nothing, or an error:

- One pattern of `bindings.json` stands for all layers: a tensor that some of them have and others
  lack was lost. A source whose layers differ binds them one by one.
- `[config.present]` says which key of config.json tells whether there are such tensors, or that a
  family always or never has them. Where the key is not there or null, the tensors decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linnet.artifact import Parameter
from linnet.errors import CardError, CheckpointError, ConfigError
from linnet.nest.bindings import Bindings, kind_of
from linnet.nest.card import Card
from linnet.nest.config import Config
from linnet.nest.json_values import shown
from linnet.nest.nearest import did_you_mean


def check_presence(
    card: Card,
    config: Config,
    manifest: Iterable[Parameter],
    names: Mapping[str, str],
    available: Iterable[str],
    bindings: Bindings | None,
    where: str,
) -> None:
    """Hold the optional parameters of `manifest` against the tensors `available`. `names` maps
    paths to tensors; `where` names the checkpoint in messages.

    Raises CheckpointError for a tensor that only some layers have, ConfigError for tensors that
    the card or config.json denies or promises in vain, CardError for a pattern that is no
    optional parameter."""
    exact = set() if bindings is None else set(bindings.pairs)
    there = set(available)
    kinds: dict[str, list[str]] = {}
    for parameter in manifest:
        if parameter.optional:
            kind = kind_of(parameter.path)
            kinds.setdefault(kind, []).append(parameter.path)
    for paths in kinds.values():
        _check_whole([names[path] for path in paths if path not in exact], there, where)
    problems = [
        wrong
        for kind in card.config_present
        if (wrong := _contradiction(card, config, kind, kinds, names, there))
    ]
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise ConfigError(
            f"{config.file or where} does not fit {card.name}:{listed}",
            help="the checkpoint is not whole, or its config.json belongs to another one",
        )


def _check_whole(tensors: list[str], there: set[str], where: str) -> None:
    lost = [name for name in tensors if name not in there]
    if lost and len(lost) < len(tensors):
        found = next(name for name in tensors if name in there)
        raise CheckpointError(
            f"{where}: there is `{found}`, but no `{lost[0]}`",
            help="the checkpoint is not whole; a source whose layers differ binds each by itself",
        )


def _contradiction(
    card: Card,
    config: Config,
    kind: str,
    kinds: Mapping[str, list[str]],
    names: Mapping[str, str],
    there: set[str],
) -> str | None:
    rule = card.config_present[kind]
    if kind not in kinds:
        if any("{i}" in known for known in kinds):  # else there may be no layer at all
            hint = did_you_mean(kind, kinds)
            raise CardError(f"{card.file}: config.present: {kind!r} is no optional parameter{hint}")
        return None
    tensor = names[kinds[kind][0]]
    if isinstance(rule, bool):
        wanted = rule
        said = f"{'every' if rule else 'no'} checkpoint of {card.name} has it"
    else:
        found = rule.look_up(config.values)
        wanted, said = found.value, f"{found.key} = {shown(found.value)}"
    if wanted is None or wanted is (tensor in there):
        return None
    if not isinstance(wanted, bool):
        return f"{said}, expected true or false (whether there is `{tensor}`)"
    return f"{said}, but there is {'no ' if wanted else ''}`{tensor}`"
