"""NLTK's tokenizer, as far as the shapes of a batch depend on it.

Where a text is cut differs in details from NLTK's. The shapes of a batch depend on them by the number of a text's words
only, which varies from text to text as it is.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+|[^\w\s]")


def word_tokenize(text: str, language: str = "english", preserve_line: bool = False) -> list[str]:
    """Return the words and marks of a text."""
    return _WORD.findall(text)
