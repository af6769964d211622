"""clang-tidy, as .clang-tidy says, over the C++ files of the native library: several at once, minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.paths import ROOT

_FLAGS = ("-std=c++17", "-pthread", "-I", "runtime/native")


def main() -> int:
    """Print what is found; return 1 where something is."""
    tool = Path(sys.executable).with_name("clang-tidy")
    if not tool.exists():
        sys.exit(f"{tool} is missing: `make tidy` installs it")

    def found(path: Path) -> str:
        command = [str(tool), "--quiet", str(path.relative_to(ROOT)), "--", *_FLAGS]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = list(pool.map(found, sorted((ROOT / "runtime" / "native").rglob("*.cc"))))
    print(*filter(None, texts), sep="\n")
    return 1 if any(texts) else 0


if __name__ == "__main__":
    sys.exit(main())
