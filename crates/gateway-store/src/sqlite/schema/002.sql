-- Transfers that can be asked for again: a reference is used once for each member.

ALTER TABLE postings ADD COLUMN reference TEXT;

CREATE UNIQUE INDEX postings_by_reference ON postings (member, reference)
    WHERE reference IS NOT NULL;
