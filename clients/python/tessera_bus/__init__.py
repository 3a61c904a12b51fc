"""Client of Tessera's message bus.

>>> import tessera_bus
>>> bus = tessera_bus.Bus("127.0.0.1:5460")
>>> shop, worker = bus.connect(), bus.connect()
>>> bus.register_sender(shop, 1)
>>> bus.register_receiver(worker, 1)
>>> sent = bus.send(shop, 1, b"picture 17")
>>> [job] = bus.receive(worker, limit=1, wait=60)
>>> bus.delete(worker, [job])
1
"""

from ._bus import FOREVER, Bus, ClientInfo, Delivery, Interrupt, Key, Sent
from ._errors import (
    BusError,
    Interrupted,
    Network,
    NoReceivers,
    NotConnected,
    QueueNotEmpty,
    ReceiverNotConnected,
    ReceiverNotRegistered,
    Refused,
    SenderNotConnected,
    SenderNotRegistered,
    Storage,
    Timeout,
    TokenOfOthers,
)

__all__ = [
    "FOREVER",
    "Bus",
    "BusError",
    "ClientInfo",
    "Delivery",
    "Interrupt",
    "Interrupted",
    "Key",
    "Network",
    "NoReceivers",
    "NotConnected",
    "QueueNotEmpty",
    "ReceiverNotConnected",
    "ReceiverNotRegistered",
    "Refused",
    "SenderNotConnected",
    "SenderNotRegistered",
    "Sent",
    "Storage",
    "Timeout",
    "TokenOfOthers",
]
