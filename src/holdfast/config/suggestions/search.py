"""What is wrong with a config's paths, and what lies nearby."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from holdfast.config.nearby import Nearby, find_nearby
from holdfast.config.paths import is_remote
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import inputs_of, is_of, namesakes, readers_of
from holdfast.errors import Problem


class Search:
    """The wrong fields of a config; the files around are looked for once, and only if needed."""

    def __init__(
        self, config: TrainEvalPipelineConfig, folder: Path, errors: Sequence[Problem]
    ) -> None:
        self.config = config
        self.folder = folder  # the config's
        self.wrong = frozenset(error.path for error in errors)
        self.notes: list[str] = []  # what a user should know of what was not found

    @cached_property
    def nearby(self) -> Nearby:
        """The files around."""
        return find_nearby(self.folder, list(self._written()))

    def is_wrong(self, path: str) -> bool:
        """Tell whether a field, or a part of it, has an error."""
        return any(is_of(each, (path,)) for each in self.wrong)

    def has_namesakes(self, texts: Sequence[str]) -> bool:
        """Tell whether remote files, which nobody looked up, have namesakes nearby.

        Only in a config that has errors besides: one that is ready means what it says.
        """
        remote = [text for text in texts if is_remote(text)]
        if not remote or not self.wrong:
            return False
        found = (*self.nearby.records, *self.nearby.label_maps)
        return all(namesakes(text, found) for text in remote)

    def _written(self) -> Iterator[str]:
        for _, reader in readers_of(self.config):
            yield reader.label_map_path
            yield from inputs_of(reader)
        if self.config.train_config is not None:
            yield self.config.train_config.fine_tune_checkpoint
