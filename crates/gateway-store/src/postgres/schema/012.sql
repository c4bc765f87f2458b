-- The upstreams that were asked, with the outcome and time of each: a JSON array.
ALTER TABLE receipts ADD COLUMN attempts text;
