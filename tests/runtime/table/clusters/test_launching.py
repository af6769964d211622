"""`python -m runtime.launch --ps`: what each task is told, which failures start again, and wrong arguments."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from runtime import launch
from tests.support import forking, programs


def test_each_task_knows_all_and_servers_end_with_the_others(tmp_path: Path) -> None:
    program = tmp_path / "tells.py"
    program.write_text(
        "import json, os, sys, time\n"
        "task = json.loads(os.environ['TF_CONFIG'])['task']\n"
        "mark = sys.argv[1] + task['type']\n"
        "time.sleep(300) if task['type'] == 'ps' else None\n"
        "if task['type'] == 'worker' and not os.path.exists(mark):\n"
        "    open(mark, 'w').close()\n"
        "    sys.exit(3)\n"
        "print(os.environ['TF_CONFIG'], *sys.argv[2:])\n"
    )
    flags = ["--ps", "1", "--workers", "1", "--chief", "--evaluator", "--grace", "1"]
    command = [forking.python(), "-m", "runtime.launch", *flags, "--restarts", "1", str(program), f"{tmp_path}/"]
    done = programs.run([*command, "--hosts={ps_hosts}", "{worker_hosts}", "{job_name}:{task_index}"], 60)
    assert done.returncode == 0, done.stderr
    assert "runtime.launch: worker 0 ended with exit code 3\nruntime.launch: worker 0 is started again" in done.stderr
    lines = dict(line.split("] ", 1) for line in done.stdout.splitlines())
    assert sorted(lines) == ["[chief:0", "[evaluator:0", "[worker:0"]
    config, rest = lines["[worker:0"].split("}} ")
    told = json.loads(config + "}}")
    jobs = told["cluster"]
    assert [len(jobs[job]) for job in ("ps", "chief", "worker")] == [1, 1, 1]
    assert told["task"] == {"type": "worker", "index": 0}
    assert rest == f"--hosts={jobs['ps'][0]} {jobs['chief'][0]},{jobs['worker'][0]} worker:0"


def test_a_suspended_task_is_named_while_others_wait(tmp_path: Path) -> None:
    program = tmp_path / "stops.py"
    program.write_text(
        "import json, os, signal, sys, time\n"
        "from pathlib import Path\n"
        "mark = Path(sys.argv[1])\n"
        "if json.loads(os.environ['TF_CONFIG'])['task']['type'] == 'ps':\n"
        "    mark.touch()\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "while not mark.exists():\n"
        "    time.sleep(0.1)\n"
        "time.sleep(5)\n"
    )
    # A Python of its own: behind a forked one, the launcher does not know the process that is stopped.
    command = [sys.executable, "-m", "runtime.launch", "--ps", "1", str(program), str(tmp_path / "mark")]
    done = programs.run(command, 120)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("ps 0 was suspended, as by SIGSTOP, and others wait for it: `kill -CONT ") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "2", "--ps", "1", __file__], "give -n, a number of ranks, or --ps"),
        ([__file__], "give -n, a number of ranks, or --ps"),
        (["--ps", "0", __file__], "there must be a server, and a worker or --chief"),
        (["--ps", "1", "--workers", "0", __file__], "there must be a server, and a worker or --chief"),
    ],
)
def test_what_is_no_cluster(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        launch.main(arguments)
    assert message in capsys.readouterr().err
