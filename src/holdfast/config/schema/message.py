"""What every message of the schema is: a frozen dataclass that knows which fields were set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

OneOfs = Mapping[str, tuple[str, ...]]
Deprecated = Mapping[str, str]
UInt32 = Annotated[int, "uint32"]  # a plain int is an int32


class Message:
    """Base of all config messages.

    An unset scalar reads as its default, an unset message as None, an unset list as (). Whether a
    field was set at all is kept beside the values (as protobuf does), because the OD API often
    treats "set to the default" and "not set" differently, and because only set fields are written.

    >>> from holdfast.config.schema.image_resizer import FixedShapeResizer
    >>> resizer = FixedShapeResizer(height=300)
    >>> resizer.width, resizer.has("height"), resizer.has("width")
    (300, True, False)
    """

    oneofs: ClassVar[OneOfs] = {}
    deprecated: ClassVar[Deprecated] = {}
    fields_set: frozenset[str]

    def __new__(cls, **values: Any) -> Self:
        """Remember which fields were given, before the dataclass fills in the defaults."""
        message = super().__new__(cls)
        object.__setattr__(message, "fields_set", frozenset(values))
        return message

    def __repr__(self) -> str:
        given = (f"{name}={getattr(self, name)!r}" for name in sorted(self.fields_set))
        return f"{type(self).__name__}({', '.join(given)})"

    def has(self, name: str) -> bool:
        """Tell whether the field was set, to whatever value; a list is set when not empty."""
        return name in self.fields_set and getattr(self, name) not in (None, (), {})

    def which(self, oneof: str) -> str | None:
        """Name the member of the oneof that is set, or None."""
        return next((name for name in self.oneofs[oneof] if self.has(name)), None)

    def chosen(self, oneof: str) -> Any:
        """Give the member of the oneof that is set, or None."""
        name = self.which(oneof)
        return None if name is None else getattr(self, name)

    def replace(self, **changes: Any) -> Self:
        """Copy with other values; unlike dataclasses.replace, unset fields stay unset."""
        kept = {name: getattr(self, name) for name in self.fields_set}
        return type(self)(**(kept | changes))

    def without(self, *names: str) -> Self:
        """Copy with these fields unset."""
        kept = {name: getattr(self, name) for name in self.fields_set if name not in names}
        return type(self)(**kept)
