"""Draws `docs/trial.svg`: what `migrate trial` says of `examples/tensorflow/clicks.py`, as its page shows it.

`python -m tests.support.documentation.trial_picture`, in an environment with TensorFlow, writes it anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.paths import ROOT

PICTURE = ROOT / "docs" / "trial.svg"
PROGRAM = ROOT / "examples" / "tensorflow" / "clicks.py"
_STYLE = """
text { font: 11px sans-serif; fill: #1b2130 } .soft { fill: #5a6375; font-size: 10px } .name, .head { font-weight: 600 }
path { fill: none } .grid { stroke: #dfe3ea } .axis { stroke: #5a6375 } .curve { stroke-width: 1.6 }
.curve.original { stroke: #8a94a6; stroke-width: 4.5; opacity: .75 }
.curve.converted { stroke: #1f6f8b; stroke-dasharray: 5 3 } circle.converted, .after { fill: #1f6f8b }
.before { fill: #fff; stroke: #8a94a6; stroke-width: 1.6 }
"""
#: Width and height of the whole; the height of a heading and of the first row; the column of a picture.
_WIDTH, _HEIGHT, _HEAD, _COLUMN = 740, 470, 40, 370


def drawn(page: str) -> str:
    """Return one picture of the losses, the memory and the rows over the steps on a trial's page."""
    verdict = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert verdict is not None
    text = re.sub(r"<[^>]+>|\s+", " ", verdict[1]).strip().partition(" and make a step")[0]  # times are the machine's
    figures = re.findall(r"<figure>(<svg.*?</svg>)<figcaption>(.*?)</figcaption>", page, re.DOTALL)
    chosen = [one for one in figures if not one[1].startswith("time")]
    parts = []
    for at, (svg, caption) in enumerate(chosen[:4]):
        x, y = 10 + _COLUMN * (at % 2), _HEAD + 215 * (at // 2)
        short = re.sub(r"<[^>]+>", "", caption).partition(": as it is")[0].partition("; at most")[0]
        short = short.partition(": the variable")[0]
        parts.append(f'<text class="head" x="{x}" y="{y + 10}">{short}</text>')
        parts.append(re.sub(r'<svg class="picture" role="img" ', f'<svg x="{x}" y="{y + 14}" ', svg))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}">\n'
        f"<title>{text}</title><style>{_STYLE}</style>\n"
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#fff"/>\n'
        f'<text class="head" x="10" y="24" style="font-size: 13px">$ migrate trial -- python train.py</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    """Try the program and write the picture."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_ENABLE_ONEDNN_OPTS": "0"}
    with tempfile.TemporaryDirectory() as place:
        shutil.copy(PROGRAM, Path(place, "train.py"))
        options = ["--steps", "30", "--html", "trial.html", "--", sys.executable, "train.py"]
        subprocess.run([sys.executable, "-m", "migrate", "trial", *options], cwd=place, env=environment, check=True)
        page = Path(place, "trial.html").read_text(encoding="utf-8")
    PICTURE.write_text(drawn(page), encoding="utf-8")


if __name__ == "__main__":
    main()
