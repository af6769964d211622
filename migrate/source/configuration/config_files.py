"""Reads configuration: `[tool.migrate]` of the nearest `pyproject.toml` above a file.

Keys: `select`, `ignore`, `exclude` and `entry` (lists), `per-file-ignores` (pattern -> rules), `target` and its
switches, `assume`, and `rules` (files with custom rules). Patterns and files are relative to the configuration file.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular, read_regular_text
from migrate.source.configuration.user_rules import read_rule_file, rule_ids
from migrate.source.files.path_lookup import is_file, is_link
from migrate.source.project.entries import Pattern
from migrate.source.rules.catalogue import known_ids
from migrate.source.settings.options import Assume, Given, Options, RuleFile
from migrate.source.settings.rule_selection import Selection, check_known, nearest
from migrate.targets import check_switches, check_target, switches

LISTS = ("select", "ignore", "exclude", "entry", "rules")
KEYS = (*LISTS, "per-file-ignores", "target", "assume", *switches.KEYS)
_PACKAGE = "recmigrate"  #: the distribution's name, after which a section may be named by mistake
#: Below the user's folder of settings: a folder a line, whose configurations may name rules.
_SETTING = Path("recmigrate", "allow-rules")


@dataclass(frozen=True)
class Config:
    """One configuration file."""

    path: Path
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    entry: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    target: str | None = None
    assume: Assume | None = None
    switches: tuple[tuple[str, object], ...] = ()

    def matches(self, pattern: str, path: Path) -> bool:
        """True if the pattern matches the file's name, its path relative to this file, or one of its directories."""
        relative = Path(os.path.relpath(os.path.realpath(path), self.path.parent))
        ways = [relative, *relative.parents[:-1]]
        names = {name for way in ways for name in (way.as_posix(), way.name)}
        return any(fnmatch.fnmatchcase(name, pattern.rstrip("/")) for name in names)


def for_file(path: Path, options: Options) -> Options:
    """Return the options of one file, from the command line, else the nearest configuration, else the defaults.

    Raises MigrateError for an invalid configuration, and for one with rules that nobody has allowed to run.
    """
    overrides = options.overrides
    if overrides is None:
        return options
    config = nearest_config(path) or Config(path)
    select = config.select if overrides.select is None else overrides.select
    ignore = config.ignore if overrides.ignore is None else overrides.ignore
    local = [rule for pattern, rules in config.per_file if config.matches(pattern, path) for rule in rules]
    files = _rule_files(config, overrides)
    _check_rules(config, files)
    target = overrides.target or config.target or options.target
    wanted = switches.read_switches(dict(config.switches) | dict(overrides.switches))
    check_switches(target, wanted)
    if overrides.unbucket and target != options.target:
        raise MigrateError(
            f"--unbucket: new ids of `{target}` cannot begin with the trained row and slots of their bucket; "
            "leave --unbucket out, or give --target runtime"
        )
    return replace(
        options,
        target=target,
        switches=wanted,
        assume=(config.assume or False) if overrides.assume is None else overrides.assume,
        selection=Selection(select, ignore).without(local),
        rule_files=files,
        unbucket=overrides.unbucket,
        overrides=None,
    )


def is_excluded(path: Path, overrides: Given | None = None) -> bool:
    """True if the command line excludes the file or, where it excludes nothing, the nearest configuration."""
    here = Path.cwd() / "command line"
    config = (
        nearest_config(path)
        if overrides is None or overrides.exclude is None
        else Config(here, exclude=overrides.exclude)
    )
    return config is not None and any(config.matches(pattern, path) for pattern in config.exclude)


def entry_points(paths: Iterable[str], overrides: Given | None = None) -> list[Pattern]:
    """Return the patterns of entry points: those of the command line, else of the configuration for these paths."""
    if overrides is not None and overrides.entry is not None:
        return [Pattern(text) for text in overrides.entry]
    configs = {nearest_config(Path(path, "any.py") if Path(path).is_dir() else Path(path)): None for path in paths}
    return [Pattern(text, str(config.path.parent)) for config in configs if config is not None for text in config.entry]


def nearest_config(path: Path) -> Config | None:
    """Return the nearest configuration above a file (for a link, above its target), or None."""
    # `resolve` raises for a link to itself before Python 3.13.
    return _config_above(Path(os.path.realpath(path)).parent if is_link(path) else path.parent, Path.cwd())


@functools.cache
def _config_above(directory: Path, here: Path) -> Config | None:
    """Return the nearest configuration for the files of a directory, which is relative to `here`."""
    return _config_of((here / directory).resolve())


@functools.cache
def _config_of(directory: Path) -> Config | None:
    if is_file(directory / "setup.cfg"):
        _refuse_cfg(directory / "setup.cfg")
    if is_file(directory / "pyproject.toml") and (config := _read_toml(directory / "pyproject.toml")) is not None:
        return config
    return _config_of(directory.parent) if directory.parent != directory else None


def _shown(path: Path) -> str:
    """Return a path as messages show it: relative to the working directory if it is below that."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _read_toml(path: Path) -> Config | None:
    data = read_regular(path)
    if b"migrate" not in data:
        return None
    # Not at the top: most runs have no such file, and a start is short.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        tools = tomllib.loads(data.decode("utf-8")).get("tool", {})
        section = tools.get("migrate")
    except (ValueError, AttributeError) as error:
        raise MigrateError(f"{_shown(path)}: is not valid TOML ({error}); correct it") from error
    if _PACKAGE in tools:
        raise MigrateError(f"{_shown(path)}: [tool.{_PACKAGE}] is not read; name the section [tool.migrate]")
    if section is None:
        return None
    if not isinstance(section, dict):
        raise MigrateError(f"{_shown(path)}: `tool.migrate` is not a table; write [tool.migrate]")
    return _config(path, section)


def _refuse_cfg(path: Path) -> None:
    """Raise MigrateError for a `setup.cfg` that means to configure this program: it would be left unread."""
    if b"[migrate]" in read_regular(path):
        raise MigrateError(f"{_shown(path)}: [migrate] is not read; write [tool.migrate] in pyproject.toml")


def _config(path: Path, section: Mapping[str, object]) -> Config:
    for key in section:
        if key not in KEYS:
            hint = nearest(key, list(KEYS)).replace("`migrate rules list` shows all", f"keys are {', '.join(KEYS)}")
            raise MigrateError(f"{_shown(path)}: unknown key `{key}`; {hint}")
    lists = {key: _checked(path, section, key, _is_list, "a list of strings") for key in LISTS}
    per_file = _checked(path, section, "per-file-ignores", _is_table, "a table of patterns and lists of rules")
    target = _checked(path, section, "target", lambda value: isinstance(value, str), "a string")
    assume = _checked(path, section, "assume", _is_wish, "true, false, or a list of tables and rules")
    wish = tuple(assume) if isinstance(assume, list) else None if assume is None else bool(assume)
    if target is not None:
        check_target(str(target), f"{_shown(path)}: key `target` = {target!r}")
    pairs = tuple((str(k), tuple(v)) for k, v in per_file.items()) if isinstance(per_file, dict) else ()
    texts = {key: tuple(value) if isinstance(value, list) else () for key, value in lists.items()}
    return Config(
        path, **texts, per_file=pairs,
        target=None if target is None else str(target), assume=wish,
        switches=_switches(path, section),
    )  # fmt: skip


def _checked(
    path: Path, section: Mapping[str, object], key: str, good: Callable[[object], bool], expected: str
) -> object | None:
    value = section.get(key)
    if value is not None and not good(value):
        raise MigrateError(f"{_shown(path)}: key `{key}` is {value!r}; write {expected}")
    return value


def _switches(path: Path, section: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """Return the switches of a section, each validated by itself, because the target may be set elsewhere."""
    settings = {key: section[key] for key in switches.KEYS if key in section}
    switches.read_switches(settings, f"{_shown(path)}: key `{{}}`")
    return tuple(settings.items())


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_wish(value: object) -> bool:
    return isinstance(value, bool) or _is_list(value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(_is_list(item) for item in value.values())


def _rule_files(config: Config, overrides: Given) -> tuple[RuleFile, ...]:
    """Return the files with custom rules: those of the command line, else those of the configuration that may run."""
    if overrides.rules is not None:
        return tuple(map(read_rule_file, overrides.rules))
    if not _may_run(config.path, _shown(config.path), config.rules, overrides.allow_rules):
        return ()
    return tuple(read_rule_file(str(config.path.parent / name)) for name in config.rules)


@functools.cache
def _check_rules(config: Config, files: tuple[RuleFile, ...]) -> None:
    """Raise MigrateError if the configuration names an unknown rule; custom rules are known.

    Where the rules that it names are left out, the ids of these are not known, and nothing is checked.
    """
    if config.rules and [file.path for file in files] != [str(config.path.parent / name) for name in config.rules]:
        return
    known = [*known_ids(), *(rule for file in files for rule in rule_ids(file))]
    check_known(config.select, known, f"{_shown(config.path)}: key `select`")
    check_known(config.ignore, known, f"{_shown(config.path)}: key `ignore`")
    for pattern, rules in config.per_file:
        check_known(rules, known, f"{_shown(config.path)}: key `per-file-ignores`, `{pattern}`")


def _may_run(config: Path, shown: str, rules: Sequence[str], allow_rules: bool | None) -> bool:
    """Return whether the rules of a configuration may run: they are Python, and lie in the tree that is looked at.

    Somebody has to say so: on the command line, or in a file of the user's own that no tree brings along.

    Args:
        config: the file that names them, `shown` in messages.
        rules: their files, as it names them.
        allow_rules: what the command line says.

    Raises:
        MigrateError: nobody has said so, or the user's own file cannot be read.
    """
    if allow_rules is not None or not rules:
        return bool(allow_rules)
    if any(config.is_relative_to(folder) for folder in _folders()):
        return True
    raise MigrateError(
        f"{shown}: names rules (`{'`, `'.join(rules)}`), which are Python that would run; give --allow-rules if you "
        "trust this project, or --no-allow-rules to go on without them"
    )


def _folders() -> list[Path]:
    """Return the folders that the user's own file names, links resolved."""
    configured = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        place = (configured if configured.is_absolute() else Path.home() / ".config") / _SETTING
        text = read_regular_text(place)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):  # RuntimeError: a user without a home
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise MigrateError(f"{place}: cannot be read ({error}); write one folder a line") from error
    named = [Path(line.strip()).expanduser() for line in text.splitlines() if line.strip()]
    return [folder.resolve() for folder in named if folder.is_absolute()]
