"""Messages and methods of the published protocol, made of its description."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "tessera.bus.v1"


def _messages() -> dict[str, Any]:
    """Classes of all messages, by name without the package."""
    described = resources.files(__package__).joinpath("bus.descriptor").read_bytes()
    files = descriptor_pb2.FileDescriptorSet.FromString(described)
    # A pool of its own: other packages may know other versions of the protocol.
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.AddSerializedFile(file.SerializeToString())
    names = [message.name for file in files.file for message in file.message_type]
    find = pool.FindMessageTypeByName
    return {name: message_factory.GetMessageClass(find(f"{PACKAGE}.{name}")) for name in names}


MESSAGES = _messages()


def method(channel: grpc.Channel, name: str, reply: str, streams: bool = False) -> Callable:
    """The method of the service, which takes a message and gives one, or a stream of them."""
    make = channel.unary_stream if streams else channel.unary_unary
    return make(
        f"/{PACKAGE}.Bus/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=MESSAGES[reply].FromString,
    )
