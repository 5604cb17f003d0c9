"""Parse a JSON file of a data set, with or without a byte order mark."""

from __future__ import annotations

import json
from typing import Any

from holdfast.errors import HoldfastError


def parse_json(content: bytes, path: str) -> Any:
    """Give what a file holds; HoldfastError names the file and the place that is wrong."""
    try:
        return json.loads(content)
    except UnicodeDecodeError as error:
        raise HoldfastError(f"{path} is not text: {error.reason} at byte {error.start}.") from None
    except json.JSONDecodeError as error:
        raise HoldfastError(f"{path} is not valid JSON: {error}.") from None
    except RecursionError:
        raise HoldfastError(
            f"{path} is not valid JSON: its brackets are nested too deeply."
        ) from None
