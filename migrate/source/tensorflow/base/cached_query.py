"""Queries about a file that are answered once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec, TypeVar

from migrate.source.tensorflow.base.rule_kinds import File

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Query = Callable[Concatenate[File, Arguments], Answer]


def cached_query(query: Query[Arguments, Answer]) -> Query[Arguments, Answer]:
    """Let a query about a file, with further arguments that are hashable, be computed on the first call only."""

    def cached(file: File, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        answers = file.tree.answers  # in the tree, so that answers that refer to the tree are freed with it
        question = (query, args, *kwargs.items())
        if question not in answers:
            answers[question] = query(file, *args, **kwargs)
        answer: Answer = answers[question]
        return answer

    return cached


def cached_list(query: Query[Arguments, Iterable[Answer]]) -> Query[Arguments, list[Answer]]:
    """Let a query that yields its answers return a list of them, and be computed once."""
    return cached_query(lambda file, *args, **kwargs: list(query(file, *args, **kwargs)))
