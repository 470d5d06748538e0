"""How an answer becomes text: compact JSON, the same object that goes out as structured content."""

import json

import orjson

Answer = dict[str, object]


def written(answer: Answer) -> str:
    """Return the answer as compact JSON."""
    try:
        return orjson.dumps(answer).decode()
    except TypeError:
        # orjson refuses whole numbers over 64 bits and lone surrogates; json writes both so that they parse back equal.
        return json.dumps(answer, separators=(",", ":"), allow_nan=False)
