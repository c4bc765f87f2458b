-- Every posting names the one before it of the same member, and the member the last one. An index by
-- member would have each charge write a page of its own, wherever its member stands in it.

ALTER TABLE postings ADD COLUMN previous INTEGER;
ALTER TABLE members ADD COLUMN last_posting INTEGER;

UPDATE postings SET previous = (
    SELECT max(earlier.id) FROM postings AS earlier
    WHERE earlier.member = postings.member AND earlier.id < postings.id);
UPDATE members SET last_posting = (
    SELECT max(id) FROM postings WHERE postings.member = members.id);

DROP INDEX postings_by_member;
