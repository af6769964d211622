"""HTML: one self-contained page, from the template `templates/report.html.jinja`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from migrate.report import answer, summary, words
from migrate.report.files_view import FileView, per_file
from migrate.report.model import Comparison, Memory, Report, Series, by_stage
from migrate.report.pictures import losses, memory
from migrate.report.serialize import to_json
from migrate.report.table_view import TablePart, side, slug, table_parts, unique
from migrate.report.visible import one_line, visible
from rewriter.drawing.svg import STYLE, draw
from rewriter.plan.region import ADDED, REMOVED, Region

#: Work that is listed at once, of the rest when it is asked for.
_FIRST_WORK = 20
#: Steps of a proof whose losses are listed as numbers.
_LISTED_STEPS = 60
_CARDS_UP_TO = 12  #: tables; more of them are a list at first
_OPEN_UP_TO = 120  #: findings; in a page with more, files are collapsed at first
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)")
_RUNGS = {
    "initial": "Initial values",
    "forward": "Forward pass",
    "loss": "Loss",
    "gradient": "Gradients",
    "evaluation": "Forward pass in evaluation",
    "sgd": "SGD steps",
    "adagrad": "Adagrad steps",
    "adam": "Adam steps",
    "optimizer": "Optimizer steps",
    "traced": "Steps with functions traced",
    "own": "Steps of the trainer's own optimizer",
}
_WHOLE = {"ok": "Complete", "work": "Work remains", "blocked": "Blocked", "failed": "Failed"}


@dataclass(frozen=True)
class DiffLine:
    """One line of a unified diff, with its line numbers in both files."""

    kind: str  #: `add`, `del`, `ctx` or `hunk`
    old: str
    new: str
    text: str


@dataclass(frozen=True)
class Rung:
    """The comparisons of one stage of a verification."""

    title: str
    comparisons: tuple[Comparison, ...]

    @property
    def equal(self) -> int:
        """The number of equal comparisons."""
        return sum(comparison.verdict == "equal" for comparison in self.comparisons)

    @property
    def worst(self) -> float:
        """The largest relative difference."""
        return words.largest(comparison.max_rel for comparison in self.comparisons)


def render(report: Report) -> str:
    """Return the page; all text of the report is escaped, and hidden characters are made visible."""
    state, sentence = summary.verdict(report)
    views = list(per_file(report))
    parts = table_parts(report)
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            report=report,
            state=state,
            state_word=_WHOLE[state],
            sentence=sentence,
            sentences=[line for line in _sentences(report) if line not in sentence],
            buckets=summary.buckets(report),
            labels=_labels(report),
            views=views,
            has_bucket={view.file.path: " ".join(_buckets_in(view)) for view in views},
            files_open=len(report.findings) <= _OPEN_UP_TO,
            anchors=_anchors(report),
            answer=list(answer.lines(report)),
            table_parts=parts,
            tables_of=_tables_of(parts),
            as_list=len(report.tables) > _CARDS_UP_TO,
            first_work=_FIRST_WORK,
            listed_steps=_LISTED_STEPS,
            remaining=summary.remaining(report),
            available=summary.available(report),
            rungs=[rungs(verification.comparisons) for verification in report.verifications],
            data=_embedded(report),
            drawing_style=Markup(STYLE) if any(finding.drawing for finding in report.findings) else "",
        )
    )


def diff_lines(diff: str) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff without its two file headers, with the line numbers of both files."""
    old = new = 0
    for line in visible(diff).split("\n"):
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            yield DiffLine("hunk", "", "", line)
        elif not old and not new:
            continue  # file headers, which the page does not need
        elif line.startswith("+"):
            yield DiffLine("add", "", str(new), line[1:])
            new += 1
        elif line.startswith("-"):
            yield DiffLine("del", str(old), "", line[1:])
            old += 1
        elif line.startswith(" "):
            yield DiffLine("ctx", str(old), str(new), line[1:])
            old, new = old + 1, new + 1
        elif line:
            yield DiffLine("hunk", "", "", line)  # `\ No newline at end of file`


def rungs(comparisons: Sequence[Comparison]) -> list[Rung]:
    """Group the comparisons of the same stage, in the order in which they were made."""
    groups = by_stage(comparisons).items()
    return [Rung(_RUNGS.get(stage, stage[:1].upper() + stage[1:]), group) for stage, group in groups]


def _sentences(report: Report) -> list[str]:
    return summary.tallies(report) + [f"{item.original}: {summary.proof(item)}" for item in report.verifications]


def _labels(report: Report) -> dict[summary.Bucket, str]:
    """Return the labels of the five counts, with `convertible` for a check, in which nothing was converted."""
    labels = dict(summary.LABELS)
    del labels[summary.Bucket.NOTED]
    if summary.conversion_verb(report) == "convertible":
        labels[summary.Bucket.EXACT] = "convertible exactly"
    return labels


def _buckets_in(view: FileView) -> list[str]:
    return sorted({summary.bucket(finding).value for finding in view.findings})


def _anchors(report: Report) -> dict[int, str]:
    """Return `id(finding)` -> HTML element id, made from the finding's fingerprint and unique on the page."""
    names = unique(f"f-{slug(finding.id)}" for finding in report.findings)
    return dict(zip(map(id, report.findings), names, strict=True))


def _tables_of(parts: Sequence[TablePart]) -> dict[int, str]:
    """Return `id(finding)` -> HTML element ids of the tables that it is about, with spaces between them."""
    by_finding: dict[int, list[str]] = {}
    for part in parts:
        for finding in part.findings:
            by_finding.setdefault(id(finding), []).append(part.anchor)
    return {one: " ".join(anchors) for one, anchors in by_finding.items()}


def _embedded(report: Report) -> Markup:
    """Return the report as JSON that is safe inside a script element."""
    text = to_json(report)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Markup(text)


def _ticks(text: str) -> Markup:
    """Return the text escaped, with names in back-ticks as code elements."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def _finalize(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _losses_picture(series: Series, name: str, title: str) -> Markup:
    return Markup(losses.draw(series, name, title))


def _memory_picture(tables: Sequence[Memory], name: str, title: str) -> Markup:
    return Markup(memory.draw(tables, name, title))


def _drawing(region: Region) -> Markup:
    """Return the SVG, with hidden characters made visible; `draw` escapes all text."""
    boxes = (
        replace(box, ops=tuple(map(one_line, box.ops)), type=one_line(box.type), source=one_line(box.source))
        for box in region.boxes
    )
    return Markup(draw(replace(region, table=one_line(region.table), boxes=tuple(boxes)), style=False))


#: So many tables have their memory drawn, the largest; more would leave the page beside them white.
DRAWN_TABLES = 5


def environment() -> Environment:
    """Return what pages are made with: text is escaped, and hidden characters in it are made visible."""
    jinja = Environment(
        loader=PackageLoader("migrate.templates", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters.update(ticks=_ticks, number=words.number, diff_lines=diff_lines)
    jinja.globals.update(words=words, blocking=summary.BLOCKING, id=id, plural=summary.plural)
    jinja.globals.update(losses_picture=_losses_picture, memory=memory, drawn_tables=DRAWN_TABLES)
    jinja.globals.update(memory_picture=_memory_picture, loss_words=losses.sentence)
    jinja.globals.update(before=lambda region: side(region, REMOVED), after=lambda region: side(region, ADDED))
    jinja.globals.update(drawing=_drawing, bucket=summary.bucket, table_bucket=summary.table_bucket)
    return jinja
