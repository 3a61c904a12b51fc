"""The calls, what they refuse, and what comes back."""

import datetime
import threading

import pytest

import tessera_bus

TYPE, OTHER = 7, 8


@pytest.fixture
def pair(bus):
    """A client that sends and one that receives."""
    sender, receiver = bus.connect(), bus.connect()
    bus.register_sender(sender, TYPE)
    bus.register_receiver(receiver, TYPE)
    return sender, receiver


def bodies(messages):
    return [message.body for message in messages]


def test_messages_come_with_all_that_is_known(bus, pair):
    sender, receiver = pair
    before = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=5)
    plain = bus.send(sender, TYPE, b"\0plain\xff")
    rich = bus.send(
        sender, TYPE, b"", receivers=[receiver], each=True, priority=-5, expires=60, cancellable=True
    )
    assert (plain.copies, plain.token, plain.id < rich.id) == (1, None, True)
    first, second = bus.receive(receiver)
    assert (first.body, first.sender, first.message_type) == (b"\0plain\xff", sender, TYPE)
    assert first.sent == plain.sent > before
    assert (first.key.priority, first.key.deadline_us, first.token) == (0, None, None)
    assert (second.key.priority, second.key.id, second.token) == (-5, rich.id, rich.token)
    lives = second.key.deadline_us / 1e6 - second.sent.timestamp()
    assert lives == pytest.approx(60, abs=0.001)


def test_order_limit_and_priority(bus, pair):
    sender, receiver = pair
    for priority in (0, 5, 4, 9):
        bus.send(sender, TYPE, str(priority).encode(), priority=priority)
    assert bodies(bus.receive(receiver)) == [b"9", b"5", b"4", b"0"]
    assert bodies(bus.receive(receiver, limit=2)) == [b"9", b"5"]
    assert bodies(bus.receive(receiver, priority_min=5)) == [b"9", b"5"]
    assert bodies(bus.receive(receiver, limit=1, delete=True)) == [b"9"]
    assert bodies(bus.peek(receiver)) == [b"5", b"4", b"0"]


def test_expired_messages_do_not_come(bus, pair):
    sender, receiver = pair
    long_ago = datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)
    bus.send(sender, TYPE, b"late", expires=long_ago)
    bus.send(sender, TYPE, b"at once", expires=0)
    bus.send(sender, TYPE, b"tomorrow", expires=datetime.timedelta(days=1))
    assert bodies(bus.receive(receiver)) == [b"tomorrow"]
    with pytest.raises(ValueError, match="time zone"):
        bus.send(sender, TYPE, b"", expires=datetime.datetime(2000, 1, 1))


def test_delete_and_cancel(bus, pair):
    sender, receiver = pair
    peer = bus.connect()
    bus.register_receiver(peer, TYPE)
    tied = [bus.send(sender, TYPE, b"tied", each=True, cancellable=True) for _ in range(2)]
    bus.send(sender, TYPE, b"stays", each=True)
    found = bus.receive(receiver)
    assert bus.cancel(receiver, [found[0].token], spare_caller=True) == 1
    assert bus.cancel(sender, [tied[1].token]) == 2
    assert bus.cancel(sender, [tied[1].token]) == 0
    assert bodies(bus.receive(peer)) == [b"stays"]
    assert bus.delete(receiver, found[:1]) == 1
    assert bus.delete(receiver, [found[0].key]) == 0
    assert bodies(bus.receive(receiver)) == [b"stays"]
    stranger = bus.connect()
    with pytest.raises(tessera_bus.TokenOfOthers) as refused:
        bus.cancel(stranger, [found[0].token])
    assert refused.value.client == stranger
    with pytest.raises(tessera_bus.Refused):
        bus.cancel(sender, [b"no token"])


def test_refusals(bus, pair):
    sender, receiver = pair
    with pytest.raises(tessera_bus.SenderNotRegistered) as refused:
        bus.send(sender, OTHER, b"")
    assert (refused.value.client, refused.value.message_type) == (sender, OTHER)
    with pytest.raises(tessera_bus.SenderNotConnected, match="client 99 is not connected"):
        bus.send(99, TYPE, b"")
    with pytest.raises(tessera_bus.ReceiverNotConnected):
        bus.send(sender, TYPE, b"", receivers=[receiver, 99])
    with pytest.raises(tessera_bus.ReceiverNotRegistered):
        bus.send(sender, TYPE, b"", receivers=[sender])
    with pytest.raises(tessera_bus.NoReceivers):
        bus.send(sender, TYPE, b"", receivers=[])
    with pytest.raises(tessera_bus.NotConnected):
        bus.receive(99)
    bus.send(sender, TYPE, b"x")
    with pytest.raises(tessera_bus.QueueNotEmpty):
        bus.disconnect_if_empty(receiver)
    bus.disconnect(receiver)
    bus.disconnect_if_empty(sender)
    assert bus.clients() == []


def test_clients_are_listed(bus, pair):
    sender, receiver = pair
    bus.send(sender, TYPE, b"1234")
    first, second = bus.clients()
    assert (first.client, first.sends, first.receives, first.messages) == (sender, (TYPE,), (), 0)
    assert (second.receives, second.messages, second.body_bytes) == ((TYPE,), 1, 4)


def test_large_messages_come_in_pieces(start):
    server = start("--max-message", "64MiB")
    with tessera_bus.Bus(server.address) as bus:
        client = bus.connect()
        bus.register_sender(client, TYPE)
        bus.register_receiver(client, TYPE)
        large = bytes(range(256)) * 100_000
        sent = [large, b"", large[:1_000_000], b"end"]
        for body in sent:
            bus.send(client, TYPE, body)
        assert bodies(bus.receive(client)) == sent
        with pytest.raises(tessera_bus.Refused):
            bus.send(client, TYPE, bytes(65 << 20))


def test_receives_wait(bus, pair):
    sender, receiver = pair
    with pytest.raises(tessera_bus.Timeout):
        bus.receive(receiver, wait=0.02)
    found = []
    waiting = threading.Thread(
        target=lambda: found.extend(bus.receive(receiver, wait=tessera_bus.FOREVER))
    )
    waiting.start()
    bus.send(sender, TYPE, b"wake")
    waiting.join(60)
    assert bodies(found) == [b"wake"]


@pytest.mark.parametrize("delete", [False, True])
def test_a_wait_is_interrupted(bus, pair, delete):
    sender, receiver = pair
    interrupt, outcomes = tessera_bus.Interrupt(), []

    def wait():
        try:
            outcomes.append(bus.receive(receiver, wait=60, delete=delete, interrupt=interrupt))
        except tessera_bus.Interrupted:
            outcomes.append("interrupted")

    waiting = threading.Thread(target=wait)
    waiting.start()
    interrupt.trigger()
    waiting.join(60)
    wait()
    assert outcomes == ["interrupted", "interrupted"]
    # What is there is not lost by an interrupt.
    bus.send(sender, TYPE, b"x")
    wait()
    assert bodies(outcomes[-1]) == [b"x"]


def test_a_client_outlives_a_killed_server(server, bus, pair):
    sender, receiver = pair
    bus.send(sender, TYPE, b"before")
    server.kill()
    outcomes = []

    def send():
        try:
            outcomes.append(bus.send(sender, TYPE, b"meanwhile"))
        except tessera_bus.Network as error:
            outcomes.append(error)

    sending = threading.Thread(target=send)
    sending.start()
    server.start()
    sending.join(60)
    assert len(outcomes) == 1
    found = bodies(bus.receive(receiver))
    # Of a call that may have happened it is said so; done twice it is never.
    assert found in ([b"before"], [b"before", b"meanwhile"])
    if not isinstance(outcomes[0], Exception):
        assert found[1:] == [b"meanwhile"]
    bus.send(sender, TYPE, b"after")
    assert bodies(bus.receive(receiver))[-1] == b"after"


def test_nobody_is_there():
    with tessera_bus.Bus("127.0.0.1:1", patience=0.1) as bus, pytest.raises(tessera_bus.Network):
        bus.connect()


def test_a_token_is_sent(start, tmp_path):
    (tmp_path / "token").write_text("an-open-secret-of-tests\n")
    server = start("--token-file", str(tmp_path / "token"))
    with tessera_bus.Bus(server.address, token="an-open-secret-of-tests") as bus:
        assert bus.connect() == 1
    for token in (None, "another"):
        with tessera_bus.Bus(server.address, token=token) as bus:
            with pytest.raises(tessera_bus.Refused, match="token"):
                bus.connect()
