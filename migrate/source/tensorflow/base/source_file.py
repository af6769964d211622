"""Builds the `File` that rules receive from a parsed file."""

from __future__ import annotations

from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import read_comments
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.initializers import Initializers
from migrate.source.tensorflow.base.rule_kinds import File, foreign_symbols
from migrate.source.tensorflow.base.symbols import TfNames
from migrate.targets import target_of


def read_file(tree: Tree, options: Options) -> File:
    """Return the file with its names resolved and the user's options applied."""
    foreign = foreign_symbols()
    if ("names", foreign) not in tree.answers:
        tree.answers["names", foreign] = TfNames(tree, foreign)
    names = tree.answers["names", foreign]
    comments, target = read_comments(tree.text), target_of(options.target)
    settings = (options.switches, options.evidence, options.unbucket)
    return File(tree, names, Initializers(names), options.selection, comments, target, *settings)
