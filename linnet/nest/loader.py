"""Loading a model: from a name and perhaps a checkpoint to a `Model` that is ready to run.

The steps stand in `load` in their order: card, files, config.json, compile, bind. Each refuses
what is wrong with its own input before the next begins, so that no weight is read for a
checkpoint of another kind. Only `_assemble` touches the compiler and the runtime.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from linnet import driver
from linnet.errors import CheckpointError, UsageError
from linnet.nest import registry
from linnet.nest.bindings import Bindings, kind_of, load_bindings, rival_of, tensor_names
from linnet.nest.card import Card, Constant, Generic
from linnet.nest.classify import Sight, class_names
from linnet.nest.config import Config, end_of_text_ids, load_config
from linnet.nest.generate import Setup
from linnet.nest.model import Facts, Model
from linnet.nest.nearest import did_you_mean
from linnet.nest.preparation import preparation
from linnet.nest.presence import check_presence
from linnet.nest.request import blaming, known_generics, request_for
from linnet.nest.resolve import Checkpoint, resolve
from linnet.nest.settings import resolve_settings
from linnet.nest.text import Tokenizer, find_tokenizer
from linnet.nest.tying import spare_copies
from linnet.runtime import moments

if TYPE_CHECKING:
    from linnet.runtime.program import Program as BoundProgram

SPARE_PARAMETERS = 256
"""Parameters (and states) that a program may always have, however few tensors a checkpoint has."""


def load(
    name: str | os.PathLike[str],
    checkpoint: str | os.PathLike[str] | None = None,
    generics: Mapping[str, Generic] | None = None,
    target: str = "native",
    numerics: str = "equivalent",
    threads: int | None = None,
    offline: bool = False,
    constants: Mapping[str, Constant] | None = None,
    revision: str | None = None,
) -> Model:
    """Load a model: a zoo entry by name, a folder with a card, or a checkpoint of a family that
    the zoo has, by its folder or as a repository of the hub, "owner/name".

    checkpoint: a folder or safetensors file to take in place of the published weights.
    generics: values for generics of the root block, over those of config.json and the card.
    target: `native`, or a target's name. numerics: `exact`, `equivalent` or `fast`.
    threads: how many to compute with; None is what this process may use.
    offline: make no request; files must be on this machine.
    constants: values for public constants of the source, over those of config.json and the card:
    numbers, booleans, and variants of an enum by name.
    revision: a commit, branch or tag of the repository; also as "owner/name@revision".

    Raises UsageError for an argument that cannot be, UnknownModelError for a name that means
    nothing, CardError for a malformed card, ConfigError for a config.json that asks for another
    model, CheckpointError for files that are missing, damaged or do not fit, and ToolchainError
    without a C compiler that works. All of them are LinnetErrors.
    """
    _check_arguments(generics, constants, target, numerics, threads, offline)
    if revision is not None and (not isinstance(revision, str) or not revision):
        raise UsageError(f"revision = {revision!r}: it must be a commit, a branch or a tag")
    card = registry.find(name, revision=revision, offline=offline)
    files = resolve(card, checkpoint, offline=offline)
    config = Config({}) if files.config is None else load_config(files.config)
    generation = None if files.generation is None else load_config(files.generation)
    known = known_generics(card, generics)
    settings = resolve_settings(card, config, generics, constants, known)
    ends = end_of_text_ids(card, config, generation, _vocabulary(card, settings.generics))
    text = _setup(card, files, settings.generics, ends)
    sight = _sight(card, files, config, settings.generics)
    moments.passed("card and config.json")
    request = request_for(card, settings, target, numerics)
    with blaming(settings):
        program, notes = _assemble(card, files, config, request, generics, threads)
    notes += _constants_note(settings.constants)
    sizes, constants = dict(program.artifact.generics), dict(settings.constants)
    facts = Facts(card, sizes, config.values, text, notes, sight, constants)
    model = Model(program, facts)
    moments.passed("the model's methods")
    return model


def _check_arguments(
    generics: object,
    constants: object,
    target: object,
    numerics: object,
    threads: int | None,
    offline: object,
) -> None:
    for what, given in (("generics", generics), ("constants", constants)):
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(f"{what} = {given!r}: it must be a dictionary of names and values")
    if not isinstance(target, str):
        raise UsageError(f"target = {target!r}: it must be the name of a target, or 'native'")
    if numerics not in driver.POLICIES:
        hint = did_you_mean(str(numerics), driver.POLICIES)
        raise UsageError(f"numerics = {numerics!r}: there is no such policy{hint}")
    driver.checked_threads(threads)
    if not isinstance(offline, bool):
        raise UsageError(f"offline = {offline!r}: it must be true or false")


def _setup(
    card: Card, files: Checkpoint, generics: Mapping[str, Generic], end_ids: tuple[int, ...]
) -> Setup | None:
    """What generation needs to know, or None for a model that writes no text."""
    if card.text is None:
        return None
    sizes = {n: v for n, v in generics.items() if isinstance(v, int)}
    context = [sizes[n] for n in card.text.context if n in sizes]
    vocabulary = _vocabulary(card, generics)
    return Setup(
        name=card.name,
        # When text is first used: many programs hand over ids, and it takes a while.
        find_tokenizer=lambda: _tokenizer(card, files, vocabulary),
        end_ids=end_ids,
        context=min(context, default=None),
        vocabulary=vocabulary,
    )


def _sight(
    card: Card, files: Checkpoint, config: Config, generics: Mapping[str, Generic]
) -> Sight | None:
    """What classification needs to know, or None for a model that looks at no images."""
    if card.image is None:
        return None
    return Sight(
        preparation(card, generics, files.preprocessor), class_names(config, card.image.labels)
    )


def _vocabulary(card: Card, generics: Mapping[str, Generic]) -> int | None:
    """The number of token ids, if the card says which generic it is."""
    value = generics.get(card.text.vocabulary or "") if card.text else None
    return value if isinstance(value, int) else None


def _tokenizer(card: Card, files: Checkpoint, vocabulary: int | None) -> Tokenizer | str:
    """The checkpoint's tokenizer, or why there is none. It may have fewer ids than the model, whose
    tables are padded then. Raises CheckpointError for one with more: it is another model's."""
    assert card.text is not None
    folder = files.weights if files.weights.is_dir() else files.weights.parent
    found = find_tokenizer(files.tokenizer, card.text.end_of_text)
    if found is None:
        return f"neither {folder} nor {card.folder} has one"
    # The entry's own tokenizer stands in for a missing one, but not for one of another size.
    borrowed = all(path.parent != folder for path in files.tokenizer.values())
    if vocabulary is None or found.size <= vocabulary:
        return found
    if borrowed:
        return (
            f"{folder} has none: the one of {card.name} has {found.size} ids and this "
            f"checkpoint {vocabulary}"
        )
    raise CheckpointError(
        f"{found.source} has {found.size} ids, and the model only {vocabulary}",
        help="put the tokenizer that belongs to this checkpoint beside its weights",
    )


def _assemble(
    card: Card,
    files: Checkpoint,
    config: Config,
    request: driver.Request,
    given: Mapping[str, Generic] | None,
    threads: int | None,
) -> tuple[BoundProgram, tuple[str, ...]]:
    """Compile the source for these sizes and bind the checkpoint; with notes for `explain`.
    `given` are the generics the caller chose, which `request` contains."""
    from linnet.runtime.checkpoint import open_checkpoint

    weights = open_checkpoint(files.weights)
    moments.passed("header of the checkpoint")
    manifest = driver.manifest(request, most=SPARE_PARAMETERS + 4 * len(weights.names))
    bindings = None if card.weights.bindings is None else load_bindings(card.weights.bindings)
    paths = [parameter.path for parameter in manifest]
    names = tensor_names(bindings, paths, weights.names, card.weights.prefixes)
    _check_twins(card, files, names, weights.names, bindings)
    surplus, unknown = _leftovers(card, names, weights.names, bindings)
    if surplus and not any(name in card.config_generics for name in given or ()):
        raise _too_many(files, surplus)
    if unknown:
        raise _not_known(card, files, unknown)
    check_presence(card, config, manifest, names, weights.names, bindings, _title(files))
    spare = spare_copies(card, config, manifest, names, weights, str(files.weights))
    stored = {n: weights.tensors[n].dtype for n in names.values() if n in weights.tensors}
    if not card.weights.widen:
        declared = {names[parameter.path]: parameter.dtype for parameter in manifest}
        _check_dtypes(card, files, stored, declared)
    moments.passed("names and shapes of the weights")
    program = driver.load(
        request, weights, names, where=_title(files), threads=threads, strict=True, spare=spare
    )
    return program, _notes(files, stored, weights.names)


def _title(files: Checkpoint) -> str:
    """What messages call a checkpoint whose tensors do not fit."""
    lost = "" if files.config else " (no config.json beside it: the sizes are the card's)"
    return f"{files.weights}{lost}"


def _check_twins(
    card: Card,
    files: Checkpoint,
    names: Mapping[str, str],
    available: tuple[str, ...],
    bindings: Bindings | None,
) -> None:
    """Refuse a checkpoint that holds a weight under two names or prefixes: which counts?"""
    rival = rival_of(bindings, names, available, card.weights.prefixes)
    if rival:
        raise CheckpointError(
            f"{files.weights}: it holds both `{rival[0]}` and `{rival[1]}`, and only one of them "
            "can be meant",
            help="remove those that do not belong to the model",
        )


def _leftovers(
    card: Card, names: Mapping[str, str], available: tuple[str, ...], bindings: Bindings | None
) -> tuple[list[str], list[str]]:
    """Tensors of more blocks than the program has, and tensors within blocks of which it knows
    nothing. With the first it would be a larger model, with the second another one. What is in no
    block and not bound (heads of other tasks) is nobody's business."""
    used = set(names.values())
    patterns = set() if bindings is None else bindings.kinds()
    kinds = {kind_of(name) for name in used}
    kinds |= {prefix + kind for prefix in card.weights.prefixes for kind in patterns}
    unused = {prefix + kind for prefix in card.weights.prefixes for kind in card.weights.unused}
    blocks = {kind.partition("{i}")[0] for kind in kinds if "{i}" in kind}
    surplus, unknown = [], []
    for name in available:
        kind = kind_of(name)
        if name in used or kind in unused:
            continue
        if kind in kinds:
            surplus.append(name)
        elif "{i}" in kind and kind.partition("{i}")[0] in blocks:
            unknown.append(name)
    return surplus, unknown


def _too_many(files: Checkpoint, surplus: list[str]) -> CheckpointError:
    return CheckpointError(
        f"{_title(files)}: there is {_counted(surplus)}, for which the program has no place",
        help="check that the sizes in config.json are those of this checkpoint; a part of it "
        "can be had by giving the generics yourself",
    )


def _not_known(card: Card, files: Checkpoint, unknown: list[str]) -> CheckpointError:
    return CheckpointError(
        f"{_title(files)}: there is {_counted(unknown)}, of which {card.source.path.name} knows "
        "nothing",
        help="with such weights it is another model (adapters have to be merged first); if "
        f"they do not matter, `unused` under [weights] in {card.file} says so",
    )


def _counted(names: list[str]) -> str:
    more = f" and {len(names) - 1} more like it" if len(names) > 1 else ""
    return f"`{names[0]}`{more}"


def _check_dtypes(
    card: Card, files: Checkpoint, stored: Mapping[str, str], declared: Mapping[str, str]
) -> None:
    """Refuse a conversion that the card does not ask for."""
    other = {name: dtype for name, dtype in stored.items() if dtype != declared[name]}
    if other:
        name, dtype = next(iter(other.items()))
        raise CheckpointError(
            f"{files.weights}: {len(other)} tensors have another dtype than the source, "
            f"such as `{name}`: {dtype}, declared {declared[name]}",
            help=f"`widen = true` under [weights] in {card.file} lets half precision be widened",
        )


def _constants_note(constants: Mapping[str, Constant]) -> tuple[str, ...]:
    """A line for `explain` where constants do not keep the value of the source."""
    listed = ", ".join(f"{name} = {value}" for name, value in constants.items())
    return (f"constants: {listed}",) if listed else ()


def _notes(
    files: Checkpoint, stored: Mapping[str, str], available: tuple[str, ...]
) -> tuple[str, ...]:
    """Lines about the checkpoint for `explain`."""
    ignored = [name for name in available if name not in stored]
    dtypes = ", ".join(sorted(set(stored.values())))
    notes = [f"weights: {files.weights} ({files.origin}), stored as {dtypes}"]
    if ignored:
        notes.append(f"tensors the source does not use: {', '.join(ignored)}")
    return tuple(notes)
