CREATE TABLE pg_toast.pg_largeobject_metadata (
    oid oid CONSTRAINT pg_largeobject_metadata_oid_index PRIMARY KEY,
    owner text NOT NULL
);
CREATE TABLE pg_toast.pg_largeobject (
    loid oid NOT NULL,
    pageno integer NOT NULL,
    data bytea NOT NULL,
    CONSTRAINT pg_largeobject_loid_pn_index PRIMARY KEY (loid, pageno)
);
