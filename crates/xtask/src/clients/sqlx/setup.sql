-- What the queries of main.rs are checked against.
DROP TABLE IF EXISTS sqlx_item;
CREATE TABLE sqlx_item (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    price numeric(8, 2),
    made timestamptz NOT NULL DEFAULT now(),
    tags text[]
);
INSERT INTO sqlx_item (name, price, tags) VALUES ('apple', 2.5, '{x}'), ('pear', NULL, NULL);
