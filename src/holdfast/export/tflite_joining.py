"""Two TFLite networks as one: what the first gives is what the second takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class NamedPlaces(NamedTuple):
    """Tensors of a network with one signature, by their names there."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


def named_places(model: Any) -> NamedPlaces:
    """List the inputs and outputs of a model."""
    (signature,) = model.signatureDefs
    return NamedPlaces(
        *(
            {each.name.decode(): int(each.tensorIndex) for each in side}
            for side in (signature.inputs, signature.outputs)
        )
    )


def joined_models(first: Any, second: Any) -> Any:
    """Append a model to the one whose outputs have the names of its inputs.

    The first is changed and given: its inputs, the outputs of the second.
    """
    (graph,), (added,) = first.subgraphs, second.subgraphs
    given, taken = named_places(first).outputs, named_places(second)
    place = {taken.inputs[name]: given[name] for name in taken.inputs}
    tensors, buffers = len(graph.tensors), len(first.buffers)
    codes = len(first.operatorCodes)
    for index, tensor in enumerate(added.tensors):
        # Buffer 0 is the empty one in every file.
        tensor.buffer = tensor.buffer and tensor.buffer + buffers
        place.setdefault(index, tensors + index)
    for operation in added.operators:
        operation.opcodeIndex += codes
        for name in ("inputs", "outputs", "intermediates"):
            numbers = getattr(operation, name)
            if numbers is not None:  # -1: an input that is left out
                setattr(operation, name, [place.get(int(each), -1) for each in numbers])
    graph.tensors += added.tensors
    graph.operators += added.operators
    first.buffers += second.buffers
    first.operatorCodes += second.operatorCodes
    graph.outputs = [place[int(each)] for each in added.outputs]
    first.signatureDefs[0].outputs = second.signatureDefs[0].outputs
    for output in first.signatureDefs[0].outputs:
        output.tensorIndex = place[int(output.tensorIndex)]
    return first
