"""Takes a static model that stands beside a trainer into its program, if each shared file is right for both."""

from __future__ import annotations

from dataclasses import replace

from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Place
from migrate.source.paddle.model_files import STATIC


def take_in(program: Program, static: Program) -> str:
    """Let the program's files be rewritten for both; return why they cannot be, or an empty text."""
    if static.run.problems:
        first = min(static.run.problems.values(), key=lambda item: (item.path, item.span))
        return f"{first.path}:{first.span[0]}: {first.message}"
    if conflict := _conflict(program, static):
        return f"{conflict[0]}:{conflict[1][0]}: the two trainers need different converted code here"
    run, other = program.run, static.run
    for place, site in other.sites.items():
        known = run.sites.get(place)
        if known is None:
            run.sites[place] = replace(site)
        else:
            known.form = max(known.form, site.form)
    run.loops |= other.loops
    run.checks |= other.checks
    run.plain |= other.plain
    run.executed |= other.executed
    own = {module.path for module in run.modules.values()}
    run.modules |= {name: module for name, module in other.modules.items() if module.path not in own}
    program.beside, program.lookups = static, static.lookups
    return ""


def _conflict(program: Program, static: Program) -> Place | None:
    """Return a place that executes something else in both programs."""
    run, other = program.run, static.run
    for place, site in other.sites.items():
        known = run.sites.get(place)
        if site.mixed or (known is None and place in run.plain):
            return place
        if known is not None and (known.op is not site.op or known.kind != site.kind or place in other.plain):
            return place
    for mine, others in ((run, other), (other, run)):
        plain = next((place for place in mine.plain if place in others.sites and place not in mine.sites), None)
        if plain is not None:
            return plain
    both = run.executed & other.executed
    for place in (run.loops ^ other.loops) | (run.checks ^ other.checks):
        if place[0] != STATIC and any(_covers(one, place) for one in both):
            return place
    return None


def _covers(one: Place, place: Place) -> bool:
    (first, start, last, end), (line, column, to, stop) = one[1], place[1]
    return one[0] == place[0] and (first, start) <= (line, column) and (to, stop) <= (last, end)
