-- Every live hold is a row of `holds` again.
INSERT INTO holds SELECT * FROM following_holds;
DROP VIEW live_holds;
DROP VIEW following_holds;
DROP TABLE opened;
