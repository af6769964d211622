"""Lets ranks of Horovod wait for each other before it connects them, because its Gloo would abort the process.

They report to the key-value store of the launcher (`horovodrun`, `runtime.launch --engine horovod`). Ranks that
`mpirun` starts have none, and MPI starts all of them or none.
"""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request

from runtime.ranks.engine import RanksError, listed

_SCOPE = "recmigrate_started"
_RETRY_SECONDS = 0.1
_TRY_SECONDS = 5.0


def meet(seconds: float) -> None:
    """Wait until all ranks of the launcher have started; return at once if there is no store of a launcher.

    Raises:
        RanksError: a rank has not started in time.
    """
    try:
        address, port = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]
        rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
    except (KeyError, ValueError):
        return
    if "HOROVOD_ELASTIC" in os.environ:
        return
    store = f"http://{address}:{port}/{_SCOPE}/"
    until = time.monotonic() + seconds
    missing = _reported(store, rank, [one for one in range(size) if one != rank], until)
    if missing:
        raise RanksError(
            f"rank {rank} has waited for {seconds:g} s for {listed(missing)}: start all {size} ranks within this time, "
            "each calling runtime.ranks.start()"
        )


def _reported(store: str, rank: int, others: list[int], until: float) -> list[int]:
    """Report to the store, and return who has not done so when time is up."""
    told = False
    while True:
        told = told or _asked(f"{store}{rank}", b"here")
        others = [one for one in others if not _asked(f"{store}{one}")]
        if (told and not others) or time.monotonic() > until:
            return others
        time.sleep(_RETRY_SECONDS)


def _asked(address: str, value: bytes | None = None) -> bool:
    """Put a value, or ask for one; whether it is there."""
    request = urllib.request.Request(address, data=value, method="GET" if value is None else "PUT")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=_TRY_SECONDS) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
