"""How likely a sentence without any error flag reports a failure, and whose: a small linear model beside the words.

The model is a multinomial logistic regression on hashed words, pairs of words and parts of words, and on a few facts
about the call. `benchmarks/train_error_model.py` trains it; its weights are `error_model.npz` in this package, read
when they are first needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from replay.outcomes.tool_traits import (
    answers_in_prose,
    changes_something,
    queries_a_database,
    returns_content,
    runs_commands,
    searches,
)

if TYPE_CHECKING:
    import numpy as np

    from replay.dag.value_matching import ArgumentIndex

BUCKETS = 1 << 14
CLASSES = ("success", "invalid_arguments", "not_found", "inconclusive")
"""What the model tells apart: all went well, or whose the failure is."""

MAX_BEGINNING, MAX_END = 320, 100
_MAX_REASONS = 4
_IN_USE: list[ErrorModel] = []
_NAMED = re.compile(
    r"https?://\S+|['\"`“”‘’«»「」『』《》][^'\"`“”‘’«»「」『』《》\n]{1,80}['\"`“”‘’«»「」『』《》]|(?:[A-Za-z]:)?[\w.-]*[/\\][\w./\\-]+"
)
_TOKEN = re.compile(
    r"(?P<wide>[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)|(?P<code>(?<!\d)[45]\d\d(?!\d))|(?P<number>\d+)|(?P<word>[^\W\d_]+)"
    r"|(?P<mark>[?!:{}\[\]<>|=✅❌✗⚠])"
)


class ModelVerdict(NamedTuple):
    """What the model makes of a text."""

    outcome: str
    """The most likely of the three kinds of failure."""
    failure: float
    """How likely it is that the text reports a failure at all."""
    share: float
    """How much of that likelihood falls to `outcome`."""
    words: tuple[str, ...]
    """The words that weighed most towards a failure."""

    def describe(self) -> str:
        """How likely a failure is, how likely of this kind, and why, in words."""
        why = f"; weighed most: {', '.join(self.words)}" if self.words else ""
        return f"a failure: {self.failure:.0%}, of this kind: {self.share:.0%}{why}"


class ErrorModel:
    """Weights and what they say of a text.

    Args:
        weights: one row a class of `CLASSES`, one column a bucket.
        bias: one a class.
    """

    def __init__(self, weights: np.ndarray[Any, Any], bias: np.ndarray[Any, Any]) -> None:
        self.weights, self.bias = weights, bias

    def judge(self, text: str, arguments: ArgumentIndex) -> ModelVerdict:
        """How likely a text is a failure, and why.

        Args:
            text: the opened answer.
            arguments: of the call that it answers.
        """
        import numpy as np

        tokens = tokens_of(text, arguments)
        groups = [(token, _buckets(token)) for token in tokens]
        pairs = [_bucket(f"{one} {two}") for one, two in pairwise(tokens)]
        facts = [_bucket(fact) for fact in facts_of(text, tokens, arguments)]
        columns = [*(column for _, group in groups for column in group), *pairs, *facts]
        distinct = np.unique(np.asarray(columns, dtype=np.int64))
        scores = self.weights[:, distinct].sum(axis=1, dtype=np.float64) / norm(len(distinct)) + self.bias
        likelihood = np.exp(scores - scores.max())
        likelihood /= likelihood.sum()
        best = 1 + int(likelihood[1:].argmax())
        failure = float(1 - likelihood[0])
        return ModelVerdict(
            CLASSES[best], failure, float(likelihood[best]) / max(failure, 1e-9), self._heaviest(groups, best)
        )

    def _heaviest(self, groups: Sequence[tuple[str, tuple[int, ...]]], best: int) -> tuple[str, ...]:
        weighed = {
            token: float((self.weights[best, list(group)] - self.weights[0, list(group)]).sum())
            for token, group in groups
            if token[0].isalpha() and group
        }
        ranked = sorted(weighed, key=lambda token: -weighed[token])
        return tuple(token for token in ranked[:_MAX_REASONS] if weighed[token] > 0)


def model_in_use() -> ErrorModel:
    """The model that judges: the one in the package, but within `using`."""
    return _IN_USE[-1] if _IN_USE else _shipped_model()


@contextmanager
def using(model: ErrorModel) -> Iterator[None]:
    """Judge by another model, to train and to measure."""
    _IN_USE.append(model)
    try:
        yield
    finally:
        _IN_USE.pop()


def blank_model() -> ErrorModel:
    """A model that takes nothing for a failure."""
    import numpy as np

    return ErrorModel(np.zeros((len(CLASSES), BUCKETS), np.float32), np.asarray([9.0, 0.0, 0.0, 0.0]))


@lru_cache(maxsize=1)
def _shipped_model() -> ErrorModel:
    import numpy as np

    with files("replay.outcomes.words").joinpath("error_model.npz").open("rb") as stream, np.load(stream) as stored:
        return ErrorModel(stored["weights"].astype(np.float32), stored["bias"].astype(np.float64))


def norm(count: int) -> float:
    """What the sum over a text's buckets is divided by: a long text weighs little more than a short one."""
    return math.sqrt(max(count, 1))


def tokens_of(text: str, arguments: ArgumentIndex) -> list[str]:
    """The words of a text's beginning and end; what the call itself brought, and names in quotes, are one word each."""
    stripped = text.strip()
    cut = (
        stripped if len(stripped) <= MAX_BEGINNING + MAX_END else f"{stripped[:MAX_BEGINNING]} … {stripped[-MAX_END:]}"
    )
    for value in arguments.texts:
        if len(value) > 3:
            cut = cut.replace(value, " QARG ")
    folded = _NAMED.sub(" QNAME ", cut)
    return [_word_of(found) for found in _TOKEN.finditer(folded)][:120]


def without_names(text: str) -> str:
    """A text without addresses, paths and names in quotes."""
    return _NAMED.sub(" ", text)


def facts_of(text: str, tokens: Sequence[str], arguments: ArgumentIndex) -> Iterator[str]:
    """Facts about the answer and its call that are no words."""
    yield f"#length {len(text.strip()).bit_length()}"
    yield f"#lines {min(text.strip().count(chr(10)), 8)}"
    for place, token in enumerate(tokens[:3]):
        yield f"#{place} {token}"
    traits = {
        "prose": answers_in_prose(arguments),
        "changes": changes_something(arguments),
        "query": queries_a_database(arguments),
        "content": returns_content(arguments, None),
        "runs": runs_commands(arguments),
        "searches": searches(arguments),
    }
    yield from (f"#{name}" for name, holds in traits.items() if holds)
    if arguments.value_named_in(text[:MAX_BEGINNING]):
        yield "#names a value"


def columns_of(text: str, arguments: ArgumentIndex) -> list[int]:
    """The distinct buckets of a text, for training."""
    tokens = tokens_of(text, arguments)
    columns = {column for token in tokens for column in _buckets(token)}
    columns.update(_bucket(f"{one} {two}") for one, two in pairwise(tokens))
    columns.update(map(_bucket, facts_of(text, tokens, arguments)))
    return sorted(columns)


def _word_of(found: re.Match[str]) -> str:
    return "0" if found.lastgroup == "number" else found[0] if found[0] in ("QARG", "QNAME") else found[0].casefold()


def _bucket(feature: str) -> int:
    return crc32(feature.encode()) % BUCKETS


@lru_cache(maxsize=50_000)
def _buckets(token: str) -> tuple[int, ...]:
    """Of a word: itself and its parts; of writing without spaces: every one to three characters."""
    if token[0] >= "\u3040" and token[0] <= "\ufaff":
        sizes: tuple[int, ...] = (1, 2, 3)
        padded = token
    else:
        sizes, padded = (4, 5), f"^{token[:24]}$"
    parts = {padded[at : at + size] for size in sizes for at in range(len(padded) - size + 1)}
    return tuple(sorted({_bucket(part) for part in (token, *parts)}))
