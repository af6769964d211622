"""Every place where a variable is mentioned: as a name, an attribute, or a member of a dict or a list."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.collected import collection
from migrate.source.frontends.tensorflow.containers import Key, entry, holder_of, is_display, member_of
from migrate.source.frontends.tensorflow.copied import made_of
from migrate.source.frontends.tensorflow.copies import copy_of
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.listed import Reader, reader
from migrate.source.frontends.tensorflow.mentioned import RULE, Mentions, alias_target, direct, targets_of
from migrate.source.frontends.tensorflow.passing import parameter_of, receivers_of
from migrate.source.frontends.tensorflow.trained import is_trained
from migrate.source.frontends.tensorflow.values import is_target, scope_of_name

__all__ = ["RULE", "Mentions", "alias_target", "mentions", "value_mentions"]


@dataclass
class _Flow:
    """Where a value goes that is assigned, stored, returned or passed on."""

    names: list[cst.BaseExpression] = field(default_factory=list)  #: that are bound to it
    uses: list[cst.BaseExpression] = field(default_factory=list)  #: other expressions that are it


def mentions(file: File, target: cst.BaseExpression) -> Mentions:
    """Return every mention of what is assigned to `target`, aliases included."""
    found = Mentions()
    flow = _Flow([target])
    if isinstance(target, cst.Subscript):
        found.writes.append(target)
        flow = _stored(file, target.value, entry(target), found) or _Flow()
    _follow(file, flow, found)
    return found


def value_mentions(file: File, value: cst.Call) -> Mentions | None:
    """Return every mention of what a call makes that is bound, stored, returned or passed; None for any other call."""
    found = Mentions()
    flow = _goes_to(file, value, found)
    if flow is None:
        return None
    found.aliased.append(value)
    label = found.label
    _follow(file, flow, found)
    found.label = label
    return found


def _follow(file: File, flow: _Flow, found: Mentions) -> None:
    """Add the mentions of everything that a value goes to."""
    seen: set[int] = set()
    pending = [flow]
    while pending:
        current = pending.pop()
        uses = list(current.uses)
        for target in current.names:
            if id(target) not in seen:
                batch = _bound_in(file, target, found)
                seen |= {id(node) for node in (*batch, target)}
                found.writes += [node for node in batch if is_target(file.tree, node)]
                uses += [node for node in batch if not is_target(file.tree, node)]
        for node in uses:
            goes = _goes_to(file, node, found) if id(node) not in found.known else _Flow()
            if goes is None:
                found.reads.append(node)
            elif id(node) not in found.known:
                found.aliased.append(node)
                pending.append(goes)
            found.known.add(id(node))


def _goes_to(file: File, node: cst.BaseExpression, found: Mentions) -> _Flow | None:
    """Return where a value goes that is assigned, stored, returned or passed on by `node`; None when it is used."""
    targets = targets_of(file, node)
    if targets is not None:
        return _bound(file, node, targets, found)
    taken = parameter_of(file, node)
    if taken is not None:
        found.passed += taken[1]
        found.parameters.append(taken[0])
        return _Flow([taken[0]])
    received = receivers_of(file, node)
    if received is not None:
        found.received += [*received.names, *received.uses]
        found.passed += received.others
        return _Flow(received.names, received.uses)
    chosen = file.tree.parent(node)
    if isinstance(chosen, cst.IfExp) and chosen.test is not node:
        other = chosen.orelse if chosen.body is node else chosen.body
        found.passed += [other] if literal(other) is not None else []
        return _Flow(uses=[chosen])
    copied = copy_of(file, node)
    if copied is not None:
        found.copies.append(copied)
        return _Flow(uses=[copied])
    holder = holder_of(file, node)
    return _stored(file, *holder, found) if holder is not None else None


def _bound(file: File, node: cst.BaseExpression, targets: list[cst.BaseExpression], found: Mentions) -> _Flow | None:
    """Return where a value goes that is bound to one or more targets."""
    flow = _Flow([one for one in targets if not isinstance(one, cst.Subscript)])
    for one in targets:
        if isinstance(one, cst.Subscript):
            member = _stored(file, one.value, entry(one), found) if entry(one) is not None else None
            if member is None:
                return None
            flow.names += member.names
            flow.uses += member.uses
    around = file.tree.parent(node)
    flow.uses += [around] if isinstance(around, cst.NamedExpr) else []
    return flow


def _stored(file: File, holder: cst.BaseExpression, key: Key, found: Mentions) -> _Flow | None:
    """Return where the member of that key goes; None for a collection that is not followed, or need not be."""
    shown = is_display(file, holder) or made_of(file, holder) is not None
    name: cst.BaseExpression | None = None if shown else holder
    targets = targets_of(file, holder) if shown else None
    name = targets[0] if targets is not None and len(targets) == 1 else name
    if not shown and not isinstance(holder, cst.Name | cst.Attribute) and member_of(holder) is None:
        return None
    if isinstance(root := _root(holder), cst.Name) and not shown and scope_of_name(file.tree, root) is None:
        return None  # of which the file does not show what it is
    read = reader(file, name) if name is not None else None
    if isinstance(read, Reader) and read is not Reader.OTHERS:
        return None  # a list that no lookup reads
    known = collection(file, holder)
    if read is Reader.OTHERS and not any(is_trained(file, one) for one in known.uses):
        return None
    if any(one is holder for one in known.whole):
        return None  # a list that is used where it is written
    text = file.tree.source(name) if name is not None else known.name
    if not found.label and text:
        found.label = f"{text}[{key}]" if isinstance(key, int) else text
        if isinstance(key, cst.CSTNode) and string(key) is not None:
            found.label = f'{text}["{string(key)}"]'
    reads = known.members(key, found)
    whole = known.looked_up_whole(found)
    found.reads += [node for node in whole if id(node) not in found.known]
    found.known |= {id(node) for node in whole}
    names = [read.node for read in reads if read.bound]
    found.received += names
    return _Flow(names, [read.node for read in reads if not read.bound])


def _root(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the `W` of `W["user"]["emb"]`."""
    while (held := member_of(node)) is not None:
        node = held[0]
    return node


def _bound_in(file: File, target: cst.BaseExpression, found: Mentions) -> list[cst.BaseExpression]:
    """Return the mentions of a binding: of the variable of a loop those in the loop, when it is read nowhere else."""
    batch = direct(file, target, found)
    if all(is_target(file.tree, node) and not isinstance(file.tree.parent(node), cst.AugAssign) for node in batch):
        return [target]  # nothing reads it: what else is bound to it does not matter
    loop = next((a for a in file.tree.ancestors(target) if isinstance(a, cst.For)), None)
    if loop is None or not file.tree.contains(loop.target, target) or not isinstance(target, cst.Name):
        return batch
    inside = [node for node in batch if file.tree.contains(loop, node)]
    alone = all(node is target or not is_target(file.tree, node) for node in inside)
    others = [node for node in batch if all(node is not one for one in inside)]
    function = file.tree.enclosing(loop, cst.FunctionDef)
    apart = all(file.tree.enclosing(one, cst.FunctionDef) is function and _is_bound_near(file, one) for one in others)
    return inside if alone and apart else batch


def _is_bound_near(file: File, node: cst.BaseExpression) -> bool:
    """True for a name that is bound here, or by a loop around it."""
    loops = [a for a in file.tree.ancestors(node) if isinstance(a, cst.For)]
    text = file.tree.source(node)
    bound = (use for loop in loops for use in file.tree.names.get(text, ()) if file.tree.contains(loop.target, use))
    return is_target(file.tree, node) or any(True for _ in bound)
