"""Google's protobuf reader on Holdfast's schema: the second opinion that tests compare with."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    json_format,
    message_factory,
    text_format,
)
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from holdfast.config.schema.fields import FieldSpec, Kind, field_specs
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.message import Message
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig

_TYPES = {
    Kind.BOOL: FieldDescriptorProto.TYPE_BOOL,
    Kind.INT32: FieldDescriptorProto.TYPE_INT32,
    Kind.UINT32: FieldDescriptorProto.TYPE_UINT32,
    Kind.FLOAT: FieldDescriptorProto.TYPE_FLOAT,
    Kind.STRING: FieldDescriptorProto.TYPE_STRING,
    Kind.ENUM: FieldDescriptorProto.TYPE_ENUM,
    Kind.MESSAGE: FieldDescriptorProto.TYPE_MESSAGE,
}


def oracle_json(text: str, message_type: type[Message]) -> dict[str, Any]:
    """Parse with protobuf; text_format.ParseError where it refuses."""
    message = _message_class(message_type)()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # unknown escapes are legal here
        text_format.Parse(text, message)
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def all_messages(*roots: type[Message]) -> set[type[Message]]:
    """Every message type that the roots lead to."""
    found: set[type[Message]] = set()
    waiting = list(roots)
    while waiting:
        message = waiting.pop()
        if message in found:
            continue
        found.add(message)
        for spec in field_specs(message).values():
            value = spec.entry.value if spec.entry else spec
            if value.message:
                waiting.append(value.message)
    return found


@cache
def _message_class(message_type: type[Message]) -> Any:
    pool = _pool()
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message_type.__name__))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="schema.proto", syntax="proto2")
    enums = {}
    for message in all_messages(TrainEvalPipelineConfig, StringIntLabelMap):
        _add_message(file.message_type.add(), message)
        enums |= {
            spec.enum.__name__: spec.enum for spec in field_specs(message).values() if spec.enum
        }
    for name, members in enums.items():
        # A message of its own gives each enum a scope: value names are unique per scope only.
        enum = file.message_type.add(name=f"{name}Scope").enum_type.add(name=name)
        for member in members:
            enum.value.add(name=member.name, number=member.value)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_message(descriptor: DescriptorProto, message: type[Message]) -> None:
    descriptor.name = message.__name__
    oneofs = list(message.oneofs)
    for name in oneofs:
        descriptor.oneof_decl.add(name=f"{name}_")  # a field may have the name of its oneof
    for number, spec in enumerate(field_specs(message).values(), start=1):
        field = descriptor.field.add(name=spec.name, number=number)
        field.label = (
            FieldDescriptorProto.LABEL_REPEATED
            if spec.repeated
            else FieldDescriptorProto.LABEL_OPTIONAL
        )
        if spec.oneof:
            field.oneof_index = oneofs.index(spec.oneof)
        if spec.entry is not None:
            _add_map_entry(descriptor, field, spec)
        else:
            _set_type(field, spec)


def _add_map_entry(
    descriptor: DescriptorProto, field: FieldDescriptorProto, spec: FieldSpec
) -> None:
    assert spec.entry
    name = "".join(part.capitalize() for part in spec.name.split("_")) + "Entry"
    entry = descriptor.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, part in enumerate((spec.entry.key, spec.entry.value), start=1):
        added = entry.field.add(name=part.name, number=number)
        added.label = FieldDescriptorProto.LABEL_OPTIONAL
        _set_type(added, part)
    field.type = FieldDescriptorProto.TYPE_MESSAGE
    field.type_name = f".{descriptor.name}.{name}"


def _set_type(field: FieldDescriptorProto, spec: FieldSpec) -> None:
    field.type = _TYPES[spec.kind]
    if spec.message:
        field.type_name = f".{spec.message.__name__}"
    if spec.enum:
        field.type_name = f".{spec.enum.__name__}Scope.{spec.enum.__name__}"
