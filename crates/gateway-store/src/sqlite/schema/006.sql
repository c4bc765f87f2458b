-- The kinds of postings as alternatives: of a list, SQLite makes a table anew for every posting that it
-- checks. What is stored stays as it is.

PRAGMA writable_schema = ON;

UPDATE sqlite_schema SET sql = replace(sql,
        'kind IN (''charge'', ''top_up'', ''adjustment'')',
        'kind = ''charge'' OR kind = ''top_up'' OR kind = ''adjustment''')
    WHERE type = 'table' AND name = 'postings';

PRAGMA writable_schema = RESET;
