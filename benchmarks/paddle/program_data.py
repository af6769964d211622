"""Data in the formats that public programs read, drawn from fixed seeds: small, and without a download."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

_GENRES = ("Action", "Comedy", "Drama", "Horror", "Romance", "Sci-Fi")
_AGES = (1, 18, 25, 35, 45, 50, 56)


def movielens(path: Path, users: int = 60, movies: int = 80, ratings: int = 4000) -> None:
    """Write a folder in the format of MovieLens 1M: `users.dat`, `movies.dat`, `ratings.dat`."""
    drawn = np.random.RandomState(1)
    path.mkdir(parents=True, exist_ok=True)
    rows = [f"{user}::{'MF'[user % 2]}::{_AGES[user % 7]}::{user % 21}::{10000 + user}" for user in range(1, users + 1)]
    (path / "users.dat").write_text("\n".join(rows) + "\n", encoding="utf-8")
    rows = []
    for movie in range(1, movies + 1):
        genres = "|".join(_GENRES[movie % 3 : movie % 3 + 1 + movie % 4])
        rows.append(f"{movie}::Film {_word(movie)} ({1950 + movie % 50})::{genres}")
    (path / "movies.dat").write_text("\n".join(rows) + "\n", encoding="ISO-8859-1")
    pairs = zip(drawn.randint(1, users + 1, ratings), drawn.randint(1, movies + 1, ratings), strict=True)
    rows = [f"{user}::{movie}::{1 + (user * movie) % 5}::{978300000 + n}" for n, (user, movie) in enumerate(pairs)]
    (path / "ratings.dat").write_text("\n".join(rows) + "\n", encoding="utf-8")


def ratings_csv(path: Path) -> None:
    """Write ratings as MovieLens' small data set has them: `userId,movieId,rating,timestamp`."""
    drawn = np.random.RandomState(1)
    rows = [
        f"{drawn.randint(1, 80)},{drawn.randint(1, 200)},{drawn.randint(1, 11) / 2},{964982000 + n}"
        for n in range(4000)
    ]
    path.write_text("userId,movieId,rating,timestamp\n" + "\n".join(rows) + "\n", encoding="utf-8")


def interactions(path: Path) -> None:
    """Write lines of a user and an item, in the order of time."""
    drawn = np.random.RandomState(1)
    rows = [f"{user} {item}" for user in range(1, 301) for item in drawn.randint(1, 120, 12)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def timed_interactions(path: Path) -> None:
    """Write lines of a user, an item, a rating and a time, with tabs between."""
    drawn = np.random.RandomState(1)
    rows = [
        f"{user}\t{item}\t{drawn.randint(1, 6)}\t{978300000 + 3600 * n + int(drawn.randint(3600))}"
        for user in range(1, 301)
        for n, item in enumerate(drawn.randint(1, 120, 12))
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def contexts(path: Path) -> None:
    """Write lines of a user's three features and an item's two, joined by dashes, with a comma between."""
    drawn = np.random.RandomState(1)
    rows = []
    for user in range(800):
        item = int(drawn.randint(60))
        rows.append(f"{user % 200}-{200 + user % 7}-{207 + user % 3},{item}-{60 + item % 5}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def behaviours(path: Path) -> None:
    """Write lines of items, their categories, an item, its category and a label, with semicolons between."""
    drawn = np.random.RandomState(1)
    rows = []
    for size in drawn.randint(3, 9, 1280):
        items, kinds = drawn.randint(1, 300, size + 1), drawn.randint(1, 18, size + 1)
        parts = [" ".join(map(str, values)) for values in (items[:size], kinds[:size], items[size:], kinds[size:])]
        rows.append(";".join([*parts, str(drawn.randint(2))]))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def words(path: Path, count: int = 30000) -> None:
    """Write a text of words, a few of which are frequent."""
    path.write_text(" ".join(_text(np.random.RandomState(1), count)), encoding="utf-8")


def lines(path: Path) -> None:
    """Write lines of a label from 0 to 1 and a text, with a tab between."""
    drawn = np.random.RandomState(1)
    rows = [f"{n % 2}\t{' '.join(_text(drawn, 12))}" for n in range(800)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def labelled_csv(path: Path) -> None:
    """Write rows of a class from 1 to 4, a title and a text, each in quotes."""
    drawn = np.random.RandomState(1)
    rows = [f'"{1 + n % 4}","{" ".join(_text(drawn, 4))}","{" ".join(_text(drawn, 20))}"' for n in range(400)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def imdb(path: Path) -> None:
    """Write an archive of reviews: `aclImdb/train/pos/0_9.txt` and its like."""
    drawn = np.random.RandomState(1)
    with tarfile.open(path, "w:gz") as archive:
        for number in range(400):
            data = " ".join(_text(drawn, 30)).encode()
            part = tarfile.TarInfo(
                f"aclImdb/{('train', 'test')[number // 2 % 2]}/{('pos', 'neg')[number % 2]}/{number}_9.txt"
            )
            part.size = len(data)
            archive.addfile(part, io.BytesIO(data))


def sentence_pairs(path: Path) -> None:
    """Write lines of an English sentence, one of single characters, and a source, with tabs between."""
    drawn = np.random.RandomState(1)
    subjects = ("i", "you", "he", "she", "we", "they")
    rows = []
    for number in range(800):
        other = "".join(chr(0x4E00 + int(letter)) for letter in drawn.randint(0, 80, 6))
        rows.append(f"{subjects[number % 6]} {' '.join(_text(drawn, 4))}\t{other}\tx")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def housing(path: Path) -> None:
    """Write rows of 14 numbers, the last of which is a price."""
    drawn = np.random.RandomState(1)
    features = drawn.rand(506, 13) * 10
    rows = np.concatenate([features, features @ drawn.rand(13, 1)], 1)
    path.write_text("\n".join(" ".join(f"{value:.4f}" for value in row) for row in rows) + "\n", encoding="utf-8")


def _word(number: int) -> str:
    letters = "aeiou"
    return "".join(f"{'bdfgklmnprst'[number // 5**place % 12]}{letters[number // 3**place % 5]}" for place in range(3))


def _text(drawn: np.random.RandomState, count: int) -> list[str]:
    return [_word(int(number)) for number in np.minimum(drawn.geometric(0.02, count), 400)]


#: The names by which a list of programs calls these.
MAKERS: dict[str, Callable[[Path], None]] = {
    maker.__name__: maker
    for maker in (
        *(movielens, ratings_csv, interactions, timed_interactions, contexts, words, lines, labelled_csv),
        *(imdb, sentence_pairs, housing, behaviours),
    )
}
