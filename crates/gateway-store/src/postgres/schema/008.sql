-- Requests that belong to another one: the web searches of an answer, and the pages that they read.
CREATE TABLE sub_requests (
    id uuid PRIMARY KEY,
    parent uuid NOT NULL
);
CREATE INDEX sub_requests_parent ON sub_requests (parent);
