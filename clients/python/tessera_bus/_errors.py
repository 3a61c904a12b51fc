"""Exceptions: one for each status code of the bus."""

from __future__ import annotations


class BusError(Exception):
    """A call did nothing; but for Storage and Network, where that is not known."""

    client: int | None = None
    """The client that it is about, where there is one."""
    message_type: int | None = None
    """The message type that it is about, where there is one."""


class NotConnected(BusError):
    """The client that calls is not connected, or left."""


class SenderNotConnected(BusError):
    """The sender is not connected, or left."""


class SenderNotRegistered(BusError):
    """The sender is not registered as one for the type."""


class ReceiverNotConnected(BusError):
    """A receiver that was named is not connected, or left."""


class ReceiverNotRegistered(BusError):
    """A receiver that was named is not registered as one for the type."""


class NoReceivers(BusError):
    """Nobody is addressed."""


class QueueNotEmpty(BusError):
    """The client has messages left."""


class TokenOfOthers(BusError):
    """The client neither sent the message of a token nor got a copy."""


class Timeout(BusError, TimeoutError):
    """No message came in time."""


class Interrupted(BusError):
    """The interrupt of the call was triggered."""


class Network(BusError, ConnectionError):
    """The server was not reached or did not answer: whether the call happened is not known."""


class Storage(BusError):
    """The server's storage failed: whether the call happened is not known."""

    sqlstate: str | None = None


class Refused(BusError):
    """The server does not take the call: above a limit, malformed, or without the token."""


BY_STATUS = {
    1: NotConnected,
    2: SenderNotConnected,
    3: SenderNotRegistered,
    4: ReceiverNotConnected,
    5: ReceiverNotRegistered,
    6: NoReceivers,
    7: QueueNotEmpty,
    8: TokenOfOthers,
    9: Timeout,
    10: Interrupted,
    11: Network,
    12: Storage,
    103: Refused,
    104: Refused,
    105: Refused,
}
"""Exceptions by the trailer bus-status."""
