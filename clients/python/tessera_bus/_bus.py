"""The bus, with the calls of the Rust trait of the same name."""

from __future__ import annotations

import datetime
import math
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from ._errors import BY_STATUS, BusError, Interrupted, Network, Refused
from ._protocol import MESSAGES, method

FOREVER = math.inf
"""A wait without end."""

_PAUSE_FIRST = 0.005
_PAUSE_MAX = 0.2
_RUN_LIFE = 1.0
_OTHER_RUN, _FORGOTTEN, _BUSY, _STOPPING = 100, 101, 102, 106
_REFUSED = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNIMPLEMENTED,
}


@dataclass(frozen=True)
class Key:
    """Name of a message and its place in queues."""

    priority: int
    deadline_us: int | None
    """Microseconds since 1970-01-01 00:00 UTC."""
    id: int


@dataclass(frozen=True)
class Sent:
    """A message that was sent."""

    id: int
    sent: datetime.datetime
    copies: int
    token: bytes | None
    """Cancels it, if it is cancellable."""


@dataclass(frozen=True)
class Delivery:
    """A message that was received."""

    key: Key
    sender: int
    sent: datetime.datetime
    message_type: int
    body: bytes = field(repr=False)
    token: bytes | None = field(repr=False)


@dataclass(frozen=True)
class ClientInfo:
    """A client and its queue."""

    client: int
    connected: datetime.datetime
    sends: tuple[int, ...]
    receives: tuple[int, ...]
    messages: int
    body_bytes: int


class Interrupt:
    """Ends receives that wait, from another thread; for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], Any]] = []
        self._triggered = False

    def trigger(self) -> None:
        """Ends the receives that wait with it, now and later."""
        with self._lock:
            self._triggered = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    @property
    def triggered(self) -> bool:
        """True once it was triggered."""
        return self._triggered

    def _attach(self, listener: Callable[[], Any]) -> None:
        with self._lock:
            if not self._triggered:
                self._listeners.append(listener)
                return
        listener()

    def _detach(self, listener: Callable[[], Any]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def _moment(micros: int) -> datetime.datetime:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return epoch + datetime.timedelta(microseconds=micros)


def _micros(moment: datetime.datetime) -> int:
    if moment.tzinfo is None:
        raise ValueError("a moment needs its time zone")
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (moment - epoch) // datetime.timedelta(microseconds=1)


def _seconds(duration: float | datetime.timedelta) -> float:
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    return float(duration)


class _Numbers:
    """Numbers of calls under way, by which the server knows repetitions."""

    def __init__(self) -> None:
        self.caller = secrets.randbits(64)
        self._lock = threading.Lock()
        self._last = 0
        self._under_way: set[int] = set()

    def begin(self) -> int:
        with self._lock:
            self._last += 1
            self._under_way.add(self._last)
            return self._last

    def end(self, number: int) -> None:
        with self._lock:
            self._under_way.discard(number)

    def answered_below(self) -> int:
        with self._lock:
            return min(self._under_way)


class _Failure(Exception):
    """No reply: is it known that nothing happened?"""

    def __init__(self, reason: str, happened: str) -> None:
        super().__init__(reason)
        self.happened = happened
        """``no``, ``unknown`` or ``interrupted``."""


class Bus:
    """A bus behind a server, for threads to share.

    Connects when it is needed, and again when the server was away: calls are repeated then, each
    done once, until ``patience`` (seconds) ends in :class:`Network`.

    ``authority`` is a PEM file with the certificate that the server's is signed by, or its own: it
    makes the connection one of TLS.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        authority: str | None = None,
        patience: float = 5.0,
        answer_limit: float = 30.0,
    ) -> None:
        options = [
            ("grpc.max_receive_message_length", -1),
            ("grpc.max_send_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 50),
            ("grpc.max_reconnect_backoff_ms", 500),
            ("grpc.keepalive_time_ms", 30_000),
        ]
        if authority is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            with open(authority, "rb") as file:
                credentials = grpc.ssl_channel_credentials(file.read())
            self._channel = grpc.secure_channel(address, credentials, options)
        self._metadata = [("authorization", f"Bearer {token}")] if token is not None else []
        self._patience, self._answer_limit = patience, answer_limit
        self._numbers = _Numbers()
        self._run: int | None = None
        self._heard = 0.0
        of = lambda name, reply=None, streams=False: method(  # noqa: E731
            self._channel, name, reply or f"{name}Reply", streams
        )
        self._describe = of("Describe")
        self._connect = of("Connect")
        self._disconnect = of("Disconnect")
        self._register_sender = of("RegisterSender", "RegisterReply")
        self._register_receiver = of("RegisterReceiver", "RegisterReply")
        self._send = of("Send")
        self._receive = of("Receive", streams=True)
        self._delete = of("Delete")
        self._cancel = of("Cancel")
        self._clients = of("Clients", streams=True)

    def close(self) -> None:
        """Closes the connection. Clients of the bus and their queues stay."""
        self._channel.close()

    def __enter__(self) -> Bus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> int:
        """Adds a client and returns its id, which is for good."""
        return self._call(self._connect, MESSAGES["ConnectRequest"](), once=True).client

    def disconnect(self, client: int) -> None:
        """Removes a client, its registrations and its queue with all messages in it."""
        request = MESSAGES["DisconnectRequest"](client=client)
        self._call(self._disconnect, request, once=True)

    def disconnect_if_empty(self, client: int) -> None:
        """Removes a client without messages; others are QueueNotEmpty."""
        request = MESSAGES["DisconnectRequest"](client=client, if_empty=True)
        self._call(self._disconnect, request, once=True)

    def register_sender(self, client: int, message_type: int) -> None:
        """Lets a client send messages of a type."""
        request = MESSAGES["RegisterRequest"](client=client, message_type=message_type)
        self._call(self._register_sender, request)

    def register_receiver(self, client: int, message_type: int) -> None:
        """Lets a client receive messages of a type."""
        request = MESSAGES["RegisterRequest"](client=client, message_type=message_type)
        self._call(self._register_receiver, request)

    def send(
        self,
        sender: int,
        message_type: int,
        body: bytes,
        *,
        receivers: Iterable[int] | None = None,
        each: bool = False,
        priority: int = 0,
        expires: float | datetime.timedelta | datetime.datetime | None = None,
        cancellable: bool = False,
    ) -> Sent:
        """Puts a message into the queue of one, or each, of ``receivers``: all who receive the type
        if it is None. ``expires`` is seconds from now, by the bus's clock, or a moment."""
        request = MESSAGES["SendRequest"](
            sender=sender,
            message_type=message_type,
            any=receivers is None,
            receivers=receivers or (),
            each=each,
            body=body,
            priority=priority,
            cancellable=cancellable,
        )
        if isinstance(expires, datetime.datetime):
            request.expires_at_us = _micros(expires)
        elif expires is not None:
            request.expires_after_us = max(0, round(_seconds(expires) * 1e6))
        reply = self._call(self._send, request, once=True)
        token = reply.token if reply.HasField("token") else None
        return Sent(reply.id, _moment(reply.sent_us), reply.copies, token)

    def receive(
        self,
        client: int,
        *,
        limit: int | None = None,
        priority_min: int | None = None,
        wait: float | datetime.timedelta = 0,
        delete: bool = False,
        interrupt: Interrupt | None = None,
    ) -> list[Delivery]:
        """The first messages of a client's queue. ``wait`` (seconds, or FOREVER) is for a first
        one; when none comes in time, that is Timeout. Messages stay until they are deleted, or go
        at once with ``delete``."""
        request = MESSAGES["ReceiveRequest"](client=client, limit=limit, priority_min=priority_min)
        request.delete = delete
        end = time.monotonic() + _seconds(wait)
        try:
            pieces = self._call(self._receive, request, once=delete, end=end, interrupt=interrupt)
        except _Failure:
            # The same call once more: if it took messages before it was interrupted, here they are.
            request.wait_us, request.wait_forever = 0, False
            pieces = self._call(self._receive, request, once=delete, number=request.retry.number)
            if not pieces:
                raise Interrupted("the wait for a message was interrupted") from None
        return [_delivery(message) for piece in pieces for message in piece.messages]

    def peek(self, client: int) -> list[Delivery]:
        """The messages of a client's queue, for others to look at."""
        return self.receive(client)

    def delete(self, client: int, messages: Sequence[Delivery | Key]) -> int:
        """Removes messages from a client's queue; returns how many were there."""
        keys = [getattr(message, "key", message) for message in messages]
        make = MESSAGES["Key"]
        keys = [make(priority=k.priority, deadline_us=k.deadline_us, id=k.id) for k in keys]
        request = MESSAGES["DeleteRequest"](client=client, messages=keys)
        return self._call(self._delete, request, once=True).count

    def cancel(self, client: int, tokens: Iterable[bytes], *, spare_caller: bool = False) -> int:
        """Removes the copies of messages from all queues; returns how many went."""
        request = MESSAGES["CancelRequest"](client=client, tokens=tokens)
        request.spare_caller = spare_caller
        return self._call(self._cancel, request, once=True).count

    def clients(self) -> list[ClientInfo]:
        """All clients, with what is known of them."""
        pieces = self._call(self._clients, MESSAGES["ClientsRequest"]())
        return [_info(info) for piece in pieces for info in piece.clients]

    def _call(
        self,
        call: Callable,
        request: Any,
        *,
        once: bool = False,
        end: float | None = None,
        interrupt: Interrupt | None = None,
        number: int = 0,
    ) -> Any:
        """Calls until there is an outcome, or patience ends. Repetitions of a call that must
        happen ``once`` have one number, which the server knows."""
        if once:
            number = number or self._numbers.begin()
        waits = end is not None and end > time.monotonic()
        failing_since, pause = None, _PAUSE_FIRST
        is_interrupted = in_doubt = False
        try:
            while True:
                begin = time.monotonic()
                try:
                    if once:
                        self._name(request, number)
                    reply = self._attempt(call, request, end if waits else None, interrupt)
                    self._heard = time.monotonic()
                    return reply
                except _Failure as failure:
                    reason = failure
                except Network:
                    self._run = None
                    raise
                if reason.happened == "interrupted":
                    is_interrupted = True
                    raise reason
                # The server may be another by now; what was sent to it goes to no other, though.
                self._run = None
                in_doubt = in_doubt or reason.happened == "unknown"
                if reason.happened == "no" and once and not in_doubt:
                    request.retry.run = 0
                if waits and time.monotonic() - begin > self._patience:
                    failing_since, pause = None, _PAUSE_FIRST
                failing_since = failing_since or begin
                if time.monotonic() + pause - failing_since > self._patience:
                    raise Network(str(reason)) from None
                time.sleep(pause)
                pause = min(2 * pause, _PAUSE_MAX)
        finally:
            if once and not is_interrupted:
                self._numbers.end(number)

    def _name(self, request: Any, number: int) -> None:
        """Names the call for the server's run, which is asked for if it was not heard of lately."""
        retry = request.retry
        if retry.run:
            return
        if self._run is None or time.monotonic() - self._heard > _RUN_LIFE:
            try:
                self._run = self._attempt(self._describe, MESSAGES["DescribeRequest"]()).run
            except _Failure as failure:
                # The call itself was not sent.
                raise _Failure(str(failure), "no") from None
        retry.caller, retry.number, retry.run = self._numbers.caller, number, self._run
        retry.answered_below = min(number, self._numbers.answered_below())

    def _attempt(
        self,
        call: Callable,
        request: Any,
        end: float | None = None,
        interrupt: Interrupt | None = None,
    ) -> Any:
        limit: float | None = self._answer_limit
        if end == math.inf:
            request.wait_forever, limit = True, None
        elif end is not None:
            # Not 0, which would be no wait: no message in time is an error then, too.
            left = max(end - time.monotonic(), 1e-6)
            request.wait_us, limit = max(1, round(left * 1e6)), self._answer_limit + left
        try:
            if not isinstance(call, grpc.UnaryStreamMultiCallable):
                return call(request, timeout=limit, metadata=self._metadata)
            pieces = call(request, timeout=limit, metadata=self._metadata)
            if interrupt is None:
                return list(pieces)
            interrupt._attach(pieces.cancel)
            try:
                return list(pieces)
            finally:
                interrupt._detach(pieces.cancel)
        except grpc.RpcError as error:
            if interrupt is not None and interrupt.triggered:
                raise _Failure("interrupted", "interrupted") from None
            raise _refusal(error) from None


def _refusal(error: Any) -> Exception:
    """The exception for what the server, or the network, answers."""
    trailers = dict(error.trailing_metadata() or ())
    message = error.details() or error.code().name
    if "bus-status" not in trailers:
        if error.code() in _REFUSED:
            return Refused(message)
        return _Failure(f"{error.code().name}: {message}", "unknown")
    status = int(trailers["bus-status"])
    if status in (_BUSY, _STOPPING):
        return _Failure(message, "no")
    if status in (_OTHER_RUN, _FORGOTTEN):
        return Network(f"{message}: whether it happened is not known")
    exception: BusError = BY_STATUS.get(status, BusError)(message)
    for name, trailer in (("client", "bus-client"), ("message_type", "bus-type")):
        if trailer in trailers:
            setattr(exception, name, int(trailers[trailer]))
    if "bus-sqlstate" in trailers:
        exception.sqlstate = trailers["bus-sqlstate"]
    return exception


def _delivery(message: Any) -> Delivery:
    key = message.key
    deadline = key.deadline_us if key.HasField("deadline_us") else None
    token = message.token if message.HasField("token") else None
    return Delivery(
        Key(key.priority, deadline, key.id),
        message.sender,
        _moment(message.sent_us),
        message.message_type,
        message.body,
        token,
    )


def _info(info: Any) -> ClientInfo:
    return ClientInfo(
        info.client,
        _moment(info.connected_us),
        tuple(info.sends),
        tuple(info.receives),
        info.messages,
        info.body_bytes,
    )
