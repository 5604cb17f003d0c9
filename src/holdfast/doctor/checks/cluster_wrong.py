"""cluster-wrong: TF_CONFIG does not describe a cluster that this machine is part of."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

_KINDS = ("chief", "master", "worker", "ps", "evaluator")
_EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


@check("cluster-wrong", about="machine", needs=())
def cluster_wrong(case: Case) -> Iterator[Finding]:
    """TF_CONFIG cannot be read, or does not name this machine.

    Why it happens: TF_CONFIG is JSON in an environment variable, written by hand or by a script:
    single quotes, a missing port, the same index on two machines. TensorFlow then fails with a
    traceback, or waits for ever for a machine that does not come.

    How it is seen: TF_CONFIG is read; its task must be one of its cluster, and the address of that
    task must be one of this machine. What cannot be read or found is an error. An address of
    another machine is a warning: containers may be reached by addresses that they do not know.

    What helps: valid JSON, with the index of this machine. Unset it for a training on one machine.
    """
    text = os.environ.get("TF_CONFIG", "")
    if not text.strip() or (fault := cluster_fault(text)) is None:
        return
    what, is_certain = fault
    yield Finding(
        code="cluster-wrong",
        severity="error" if is_certain else "warning",
        what=what,
        why="The processes of a cluster find each other by TF_CONFIG: one that is wrong waits for "
        "ever, or fails.",
        evidence={"tf_config": text[:500], "host": socket.gethostname()},
        fix=Fix(
            text=f"Write it like {_EXAMPLE}, or unset it to train on this machine alone.",
            command="unset TF_CONFIG",
        ),
    )


def cluster_fault(text: str) -> tuple[str, bool] | None:
    """Say what is wrong, and whether it is so for sure."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"TF_CONFIG is not valid JSON: {error}.", True
    cluster = document.get("cluster") if isinstance(document, dict) else None
    if not isinstance(cluster, dict):
        return 'TF_CONFIG has no "cluster" of lists of addresses.', True
    for kind, addresses in cluster.items():
        if kind not in _KINDS:
            return f"TF_CONFIG names {kind!r}, which is not one of {', '.join(_KINDS)}.", True
        if not isinstance(addresses, list) or not all(map(_is_address, addresses)):
            return f"The addresses of {kind!r} are not a list of texts like host:port.", True
    every = [address for addresses in cluster.values() for address in addresses]
    if len(set(every)) < len(every):
        return "TF_CONFIG names an address twice.", True
    return _task_fault(document.get("task"), cluster)


def _task_fault(task: Any, cluster: dict[str, list[str]]) -> tuple[str, bool] | None:
    if not isinstance(task, dict):
        return 'TF_CONFIG has no "task" with a type and an index.', True
    kind, index = task.get("type"), task.get("index")
    addresses = cluster.get(str(kind))
    if addresses is None:
        return f"TF_CONFIG's task is a {kind!r}, which its cluster has none of.", True
    if not isinstance(index, int) or not 0 <= index < len(addresses):
        return (
            f"TF_CONFIG's task has the index {index!r}, and there are {len(addresses)} {kind}s.",
            True,
        )
    return _address_fault(addresses[index])


def _address_fault(address: str) -> tuple[str, bool] | None:
    host = address.rpartition(":")[0].strip("[]")
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return f"{host}, which TF_CONFIG calls this machine, is not known to the network.", False
    if any(map(_is_local, found)):
        return None
    return f"{address}, which TF_CONFIG calls this machine, is the address of another.", False


def _is_address(address: object) -> bool:
    host, _, port = str(address).rpartition(":") if isinstance(address, str) else ("", "", "")
    return bool(host) and port.isdigit() and 0 < int(port) < 65536


def _is_local(address: object) -> bool:
    """Tell whether this machine has an address: only such a one can be bound."""
    family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True
