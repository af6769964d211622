"""Rules about whole files and about ignore comments."""

from __future__ import annotations

from migrate.source.rules import Refusal, Rule, register


@register
class SourceFile(Rule):
    """A file that cannot be read, decoded or parsed, or on which the converter failed, is left unchanged and reported.

    Such a finding is reported regardless of the selected rules.
    """

    id = "source-file"
    title = "A file that cannot be read or converted is left unchanged and reported"
    applicability = None


@register
class IgnoreComment(Rule):
    """`# migrate: ignore[RULE, ...] reason` excludes the code on its line from the conversion.

    On a line that creates a table or looks up rows, the whole table is left unchanged, with all of its lookups; on any
    other line, findings become notes. Without rules, the comment applies to all rules; on a line of its own, it applies
    to the next line of code. `# migrate: ignore-file reason`, on a line of its own, excludes the whole file. A comment
    without effect is reported.
    """

    id = "ignore-comment"
    title = "Ignore comments exclude tables and findings; a comment without effect is reported"
    applicability = None
    refusals = (
        Refusal(
            "kept-by-comment", "`{label}` and its lookups are left unchanged because of an ignore comment", "{why}"
        ),
    )


@register
class GeneratedFile(Rule):
    """A file whose name or first lines say that a program writes it is left unchanged.

    Its generator would overwrite the result. `--include-generated` converts such files as well. The same holds for a
    file that `migrate convert -o` wrote to a directory below the given one, as long as nobody changes it.
    """

    id = "generated-file"
    title = "Generated files are left unchanged"
    applicability = None


@register
class OutsideLink(Rule):
    """A link that leads out of the given directory is not followed: nothing is read or written there.

    Give the path that it leads to beside the directory, if it is to be converted.
    """

    id = "outside-link"
    title = "Links that lead out of the given directory are not followed"
    applicability = None


@register
class EntryPoint(Rule):
    """With `--entry`, only the named programs and the files that they import are judged; others are left unchanged.

    A file outside that imports a converted one is named: it may fail with the converted file.
    """

    id = "entry-point"
    title = "Files that no entry point reaches are left unchanged; those that use converted files are named"
    applicability = None
