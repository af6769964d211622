"""One number of public Paddle models, wherever it is told."""

from __future__ import annotations

from benchmarks.paddle.counts import counts
from tests.support.paths import ROOT


def test_pages_tell_what_the_table_of_models_counts() -> None:
    pages = {name: " ".join((ROOT / name).read_text(encoding="utf-8").split()) for name in PAGES}
    found = counts((ROOT / "docs/paddle.md").read_text(encoding="utf-8"))
    for name, words in PAGES.items():
        assert words.format(**vars(found)) in pages[name], name
    assert found.equal + found.in_part == found.convert


#: where the numbers stand -> the words around them
PAGES = {
    "README.md": "{convert} of PaddleRec's {models} convert, {equal} equal Paddle in all stages of the proof",
    "docs/paddle.md": "Of PaddleRec's {models} `net.py` (commit of 2025-04-02), {convert} convert, where 3 did; "
    "{equal} of these equal Paddle in all stages of the proof, kim in those that were run, and {trained} were trained",
    "benchmarks/RESULTS.md": "{models} folders with a `net.py`, TensorFlow 2.15.1, Paddle 2.6.2: "
    "3 converted, now {convert}.",
}
