"""What `convert -o` suggests next, and the files that it copies beside those that change."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from migrate.checkpoint import latest
from migrate.cli.check import check
from migrate.cli.checkpoint import _beside
from migrate.cli.convert import convert
from migrate.errors import MigrateError
from migrate.source.project import whole_folder
from tests.support.source.runs import record

TOWER = (
    "import tensorflow.compat.v1 as tf\n\n\ndef tower(ids):\n"
    "    users = tf.get_variable('users', [9, 4], initializer=tf.zeros_initializer())\n"
    "    return tf.nn.embedding_lookup(users, ids)\n"
)
MODEL = (
    "import tensorflow.compat.v1 as tf\nfrom shop.tower import tower\n\n\ndef model_fn(features, labels, mode):\n"
    "    loss = tf.reduce_sum(tower(features['user']))\n"
    "    step = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())\n"
    "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)\n"
)
TRAIN = (
    "import tensorflow.compat.v1 as tf\nfrom shop.model import model_fn\n"
    "tf.estimator.Estimator(model_fn, 'run').train(input_fn)\n"
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program whose training file does not change, beside data and a link out of it."""
    files = {
        "shop/tower.py": TOWER,
        "shop/model.py": MODEL,
        "train.py": TRAIN,
        "shop/__init__.py": "",
        "data/a.csv": "1\n",
    }
    for name, text in {**files, ".gitignore": "*.log\n", "old.log": "x", ".hidden": "x"}.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text)
    (tmp_path / "secret.txt").write_text("s")
    (tmp_path / "src" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "src" / "data" / "fetch.sh").write_text("#!/bin/sh\n")
    for name in ("data/fetch.sh", "shop/model.py"):
        (tmp_path / "src" / name).chmod(0o744)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, command: click.Command = convert) -> Result:
    done = CliRunner().invoke(command, [*arguments, "--no-cache", "-j", "1"])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def written(folder: Path) -> list[str]:
    """Return the relative paths of the files in a folder that are no records of migrate."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith("."))


def save(folder: Path, *names: str, index: bytes = b"x") -> None:
    """Write what looks like checkpoints of a Saver."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*names, "alone"):
        (folder / f"{name}.index").write_bytes(index)
    for name in (*names, "other"):
        (folder / f"{name}.data-00000-of-00001").write_bytes(b"x")


def test_copied_checkpoints_of_the_original_are_named(work: Path) -> None:
    save(work / "src" / "runs", "model-7")
    says = "copied: out/runs/model-7, a checkpoint of the original, which the converted program cannot restore; remove"
    assert says in run("src", "-o", "out", "--copy-rest").output
    (work / "src" / "shop" / "model.py").write_text("print(1)\n")
    assert "a checkpoint of the original" not in run("src", "-o", "other", "--copy-rest").output


@pytest.mark.parametrize("model", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_saved_model_and_a_checkpoint_of_keras_are_no_checkpoints_of_a_saver(
    model: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_folder, "LARGEST", 10_000)
    save(work / "src" / "served" / "variables", "variables")
    (work / "src" / "served" / model).write_bytes(b"x" * (10_001 if model.endswith("txt") else 1))
    save(work / "src" / "weights", "model", index=b"_CHECKPOINTABLE_OBJECT_GRAPH")
    done = run("src", "-o", "out", "--copy-rest")
    assert "a checkpoint of the original" not in done.output and "to train on" not in done.output
    assert (work / "out" / "served" / "variables" / "variables.index").exists()
    (work / "src" / "served" / model).unlink()
    done = run("src", "-o", "other", "--copy-rest")
    assert "copied: other/served/variables/variables, a checkpoint" in done.output
    assert "to train on from src/served/variables:" in done.output


def test_python_2_comes_first(work: Path) -> None:
    for name in ("src/train.py", "src/shop/old.py"):
        (work / name).write_text("import tensorflow\nprint 'trained'\n")
    assert run("src", command=check).stderr.endswith("next: python -m lib2to3 -w -n src; then migrate check src\n")


def test_who_has_trained_is_told_how_to_train_on(work: Path) -> None:
    assert "to train on" not in run("src", "-o", "out").output
    save(work / "runs", "model-7", "model-9")
    save(work / "src" / "a" / "b", "model-7")
    save(work / "src" / "a" / "b" / "c", "too-deep")
    save(work / "src" / ".hidden-runs", "model-7")
    save(work / "out" / "runs", "converted")
    save(work / "moved", "model", index=b"..user..-keys..")
    save(work / "weights", "model", index=b"_CHECKPOINTABLE_OBJECT_GRAPH")
    done = run("src", "-o", "out", "--report", "out/say.json").stderr.splitlines()
    moving = "to train on from runs, as from 1 more: migrate checkpoint runs --report"
    assert done[-2] == f"{moving} out/say.json" and done[-1].startswith("next: ")
    moving = moving.replace(": ", ": migrate convert src --output out --report convert.json; then ")
    assert run("src", "-o", "out").stderr.splitlines()[-2] == f"{moving} convert.json"
    (work / "src" / "shop" / "model.py").write_text("print(1)\n")
    assert "to train on" not in run("src", "-o", "out").output


def test_among_very_many_files_checkpoints_are_not_looked_for(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(work / "src" / "a" / "b", "model-7")
    assert [*map(str, latest.beside(["src"], None))] == ["src/a/b"]
    monkeypatch.setattr(latest, "_MOST", 2)
    assert not latest.beside(["src"], None)


@pytest.mark.parametrize(("at", "paths"), [("src", ["."]), ("src/shop", [".."])])
def test_folders_without_a_name_get_their_checkpoints_in_another(
    work: Path, monkeypatch: pytest.MonkeyPatch, at: str, paths: list[str]
) -> None:
    save(work / "src", "model-7")
    monkeypatch.chdir(work / at)
    says = f"to train on from {paths[0]}: migrate checkpoint {paths[0]} --report {work}/say.json\n"
    assert says in run(*paths, "-o", str(work / "out"), "--report", str(work / "say.json")).stderr
    assert _beside(paths[0]) == f"{Path(paths[0], 'moved')}/" and _beside(str(work / "src")) == f"{work}/src_moved/"
    assert _beside("runs/model-7") == "runs_moved/"


def test_a_checkpoint_with_a_large_part_is_not_copied_in_part(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_folder, "LARGEST", 600)
    save(work / "src" / "runs", "model.ckpt-7", "model.ckpt-8")
    save(work / "src" / "more", "model.ckpt-7")
    (work / "src" / "runs" / "model.ckpt-7.data-00000-of-00001").write_bytes(b"x" * 601)
    for name in ("model.ckpt-7.meta", "checkpoint"):
        (work / "src" / "runs" / name).write_bytes(b"x")
    run("src", "-o", "out", "--copy-rest")
    kept = [name for name in written(work / "out") if name.startswith(("runs", "more")) and "-7" in name]
    assert kept == ["more/model.ckpt-7.data-00000-of-00001", "more/model.ckpt-7.index"]
    assert (work / "out" / "runs" / "model.ckpt-8.index").exists() and not (work / "out/runs/checkpoint").exists()


def test_the_rest_is_copied(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("src", "-o", "out")
    monkeypatch.setattr(whole_folder, "LARGEST", 600)
    (work / "src" / "data" / "b.csv").write_text("1" * 601)
    done = run("src", "-o", "out", "--copy-rest")
    copied = ["data/a.csv", "data/fetch.sh", "shop/__init__.py", "shop/model.py", "shop/tower.py", "train.py"]
    assert written(work / "out") == copied
    assert "not copied: src/data/b.csv, larger than" in done.output
    assert "not copied: src/link.txt, a link to a place outside of the directory" in done.output
    assert "not copied: src/old.log, which git ignores; give --no-gitignore, or copy or link" in done.output
    runs = [name for name in copied if os.access(work / "out" / name, os.X_OK)]
    assert runs == ["data/fetch.sh", "shop/model.py"]
    assert "next: migrate verify src/train.py out/train.py\n" in done.output
    assert "create_table(" in (work / "out" / "shop" / "tower.py").read_text()
    assert (work / "out" / "train.py").read_text() == TRAIN


def test_what_git_ignores_is_not_left_out_in_silence(work: Path) -> None:
    (work / "src" / ".gitignore").write_text("*.log\n/cache/\n/words/\n.secret\ndata/a.csv\n")
    for name in ("cache/deep/x.txt", "words/w.txt", ".secret", "__pycache__/x.log"):
        (work / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (work / "src" / name).write_text("x")
    done = run("src", "-o", "out", "--copy-rest")
    assert "not copied: src/cache/, src/old.log, src/words/ and 1 more, which git ignores" in done.output
    everything = run("src", "-o", "whole", "--copy-rest", "--no-gitignore")
    assert "git ignores" not in everything.output and (work / "whole" / "cache" / "deep" / "x.txt").exists()


def test_what_copies_the_rest_is_next_as_it_is_typed(work: Path) -> None:
    assert run("src", command=check).output.endswith("\nnext: migrate convert src --copy-rest\n")
    proof = "migrate verify src/train.py out/train.py"
    rest = f"--copy-rest, as the program needs files that did not change; then {proof}"
    assert run("src", "-o", "out").output.endswith(f"\nnext: migrate convert src --output out {rest}\n")
    (work / "src" / "train.py").write_text(f"{MODEL}\n\n{TRAIN.replace('from shop.model import model_fn', '')}")
    (work / "src" / "shop" / "__init__.py").unlink()
    assert run("src", command=check).output.endswith("\nnext: migrate convert src\n")


def test_nothing_is_written_by_a_link_out_of_the_output(work: Path) -> None:
    (work / "elsewhere").mkdir()
    (work / "out").mkdir()
    (work / "out" / "shop").symlink_to(work / "elsewhere")
    for force in ([], ["--force"]):
        with pytest.raises(MigrateError, match=r"out/shop/\w+.py: a link leads to .*, outside of out;"):
            run("src", "-o", "out", *force)
    assert not list((work / "elsewhere").iterdir())


def test_a_program_in_a_folder_of_what_we_are_in_is_proven_by_its_command(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads its data where it is started. A program that only calls what it imports comes after one that trains."""
    (work / "src" / "train.py").rename(work / "src" / "shop" / "train.py")
    (work / "src" / "shop" / "evaluate.py").write_text("from shop.model import model_fn\nprint(model_fn)\nmodel_fn()\n")
    monkeypatch.chdir(work / "src")
    assert run(".", "-o", "../out").stderr.splitlines()[-1] == "next: migrate verify . ../out -- python shop/train.py"
    monkeypatch.chdir(work)
    assert "migrate verify src/shop/train.py out/shop/train.py" in run("src", "-o", "out").stderr.splitlines()[-1]


def test_a_program_that_a_record_moves_is_proven_with_its_arguments(work: Path) -> None:
    """It is another file that gets the line which moves the tables of a module; we are not in the folder."""
    (work / "src" / "shop" / "tower.py").write_text(
        TOWER.replace("'users'", "'item'").replace("tf.nn.embed", "look.embed")
    )
    names = ("train.py", "shop/tower.py", "shop/model.py", "shop/__init__.py")
    files = {f"src/{name}": (work / "src" / name).read_text() for name in names}
    seen = replace(record(files), command=("python", "src/train.py", "30"), entry="src/train.py")
    (work / "trace.json").write_text(seen.dump())
    said = run("src", "-o", "out", "--copy-rest", "--evidence", "trace.json").stderr.splitlines()
    assert said[-1] == "next: migrate verify src/train.py out/train.py -- 30"


def test_where_nothing_converts_this_is_said_with_what_check_suggests(work: Path) -> None:
    (work / "src" / "shop" / "tower.py").write_text(TOWER.replace("'users', [", "name, constraint=mine, shape=["))
    traced = "next: migrate trace -- python src/train.py; then migrate"
    checked = run("src", command=check).stderr.splitlines()
    assert checked[-1] == f"{traced} check src --evidence trace.json"
    said = run("src", "-o", "out").stderr.splitlines()
    assert said[-2:] == ["nothing was written to out/", f"{traced} convert src --output out --evidence trace.json"]
    copies = run("src", "-o", "out", "--copy-rest").stderr.splitlines()
    assert copies[-2] == "nothing converts: unchanged copies were written to out/"


def test_a_decision_that_converts_nothing_is_not_the_next_step(work: Path) -> None:
    """The table stays for a reason of its own, which no decision lifts."""
    text = TOWER.replace("[9, 4]", "[9, 4], constraint=mine")
    read = "g = tf.get_default_graph().get_tensor_by_name('u{}:0'.format(ids))"
    (work / "src" / "shop" / "tower.py").write_text(text.replace("    return", f"    {read}\n    return"))
    assert "needs a decision" in run("src", command=check).output
    assert "next: migrate trace -- python src/train.py; then" in run("src", command=check).stderr.splitlines()[-1]


def test_a_program_is_next_that_trains_and_with_arguments_that_it_requires(work: Path) -> None:
    """It imports no framework, and an export comes first by its name."""
    (work / "src" / "export.py").write_text(
        "import tensorflow.compat.v1 as tf\nfrom shop.tower import tower\ntf.Session().run(tower(1))\n"
    )
    train = (work / "src" / "train.py").read_text()
    (work / "src" / "shop" / "loop.py").write_text(train.replace("tf.estimator", "def go():\n    tf.estimator"))
    (work / "src" / "train.py").write_text("import sys\nfrom shop.loop import go\nprint(sys.argv[1])\ngo()\n")
    said = run("src", "-o", "out", "--copy-rest").stderr.splitlines()[-1]
    assert said.removeprefix("next: ") == (
        "migrate verify src/train.py out/train.py -- ARGUMENTS, with the arguments that src/train.py requires"
    )
    (work / "src" / "shop" / "tower.py").write_text(TOWER.replace("'users', [", "name, constraint=mine, shape=["))
    said = run("src", command=check).stderr
    assert said.count("-- python src/train.py ARGUMENTS") == 3 and "python src/export.py" not in said
