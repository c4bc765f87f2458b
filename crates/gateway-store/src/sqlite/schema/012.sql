-- Requests that belong to another one: the web searches of an answer, and the pages that they read.
CREATE TABLE sub_requests (
    id BLOB PRIMARY KEY CHECK (length(id) = 16),
    parent BLOB NOT NULL CHECK (length(parent) = 16)
) STRICT, WITHOUT ROWID;

CREATE INDEX sub_requests_by_parent ON sub_requests (parent);
