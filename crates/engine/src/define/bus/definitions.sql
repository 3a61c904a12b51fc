CREATE SCHEMA bus;
CREATE SEQUENCE bus.client_ids;
CREATE SEQUENCE bus.message_ids;
CREATE TABLE bus.client (
    id BIGINT PRIMARY KEY,
    name TEXT UNIQUE,
    owner TEXT NOT NULL,
    connected TIMESTAMPTZ NOT NULL
);
CREATE TABLE bus.sender (client BIGINT, type INTEGER, PRIMARY KEY (client, type));
CREATE TABLE bus.receiver (
    client BIGINT,
    type INTEGER,
    max_receipts INTEGER,
    dead_letter INTEGER,
    PRIMARY KEY (client, type),
    UNIQUE (type, client)
);
CREATE TABLE bus.message (
    receiver BIGINT,
    rank INTEGER,
    deadline TIMESTAMPTZ,
    id BIGINT,
    type INTEGER NOT NULL,
    sender BIGINT NOT NULL,
    sent TIMESTAMPTZ NOT NULL,
    visible TIMESTAMPTZ NOT NULL,
    receipts INTEGER NOT NULL,
    cancellable BOOLEAN NOT NULL,
    is_text BOOLEAN NOT NULL,
    body BYTEA NOT NULL,
    PRIMARY KEY (receiver, rank, deadline, id),
    UNIQUE (id, receiver)
);
CREATE TABLE bus.archive (
    archived TIMESTAMPTZ NOT NULL,
    reason TEXT NOT NULL,
    receiver BIGINT NOT NULL,
    rank INTEGER NOT NULL,
    deadline TIMESTAMPTZ NOT NULL,
    id BIGINT NOT NULL,
    type INTEGER NOT NULL,
    sender BIGINT NOT NULL,
    sent TIMESTAMPTZ NOT NULL,
    visible TIMESTAMPTZ NOT NULL,
    receipts INTEGER NOT NULL,
    cancellable BOOLEAN NOT NULL,
    is_text BOOLEAN NOT NULL,
    body BYTEA NOT NULL
);
CREATE VIEW bus.clients AS
SELECT c.id AS client, c.name, c.owner, c.connected,
       ARRAY(SELECT s.type FROM bus.sender s WHERE s.client = c.id ORDER BY s.type) AS sends,
       ARRAY(SELECT r.type FROM bus.receiver r WHERE r.client = c.id ORDER BY r.type) AS receives
FROM bus.client c;
CREATE VIEW bus.messages AS
SELECT m.receiver, m.id AS message, m.type, m.sender, m.sent, -1 - m.rank AS priority,
       NULLIF(m.deadline, 'infinity') AS expires, m.visible, m.receipts, m.cancellable,
       m.body, CASE WHEN m.is_text THEN convert_from(m.body, 'UTF8') END AS text
FROM bus.message m
WHERE m.deadline > now();
CREATE VIEW bus.queues AS
SELECT c.id AS client, c.name, count(m.id) AS messages,
       count(m.id) FILTER (WHERE m.visible <= now()) AS ready,
       count(m.id) FILTER (WHERE m.visible > now() AND m.receipts > 0) AS leased,
       count(m.id) FILTER (WHERE m.visible > now() AND m.receipts = 0) AS delayed,
       -1 - min(m.rank) AS highest_priority, min(m.sent) AS oldest
FROM bus.client c LEFT JOIN bus.message m ON m.receiver = c.id AND m.deadline > now()
GROUP BY c.id, c.name;
CREATE VIEW bus.archived AS
SELECT a.archived, a.reason, a.receiver, a.id AS message, a.type, a.sender, a.sent,
       -1 - a.rank AS priority, a.receipts, a.body,
       CASE WHEN a.is_text THEN convert_from(a.body, 'UTF8') END AS text
FROM bus.archive a;
