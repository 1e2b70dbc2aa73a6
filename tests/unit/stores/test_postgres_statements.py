"""The same statements for SQLite and PostgreSQL: only the marks for values and the order of texts differ."""

import re

import pytest

from passdown.engines.coordination import rows
from passdown.engines.postgres.statements import (
    mark_values,
    read_script,
    read_statements,
    sort_by_bytes,
    split_script,
)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a = ? AND b = ?", "a = %s AND b = %s"),
        ("a = '?' AND b = ?", "a = '?' AND b = %s"),
        ("a = 'it''s ?' AND b = ?", "a = 'it''s ?' AND b = %s"),
        ('"a?" = ?', '"a?" = %s'),
        ("a LIKE '%?' AND b % 2 = ?", "a LIKE '%%?' AND b %% 2 = %s"),
        ("a = ? -- is it? 100 %\nAND b = ?", "a = %s \nAND b = %s"),
    ],
)
def test_marks_for_values_are_those_of_the_driver(text: str, marked: str) -> None:
    assert mark_values(text) == marked


def test_every_statement_has_as_many_values_as_for_sqlite() -> None:
    script = read_script(rows.QUERIES)
    counts = {
        name: text.count("?")
        for name, text in re.findall(r"-- name: (\w+)\n(.*?)(?=\n-- name|\Z)", script, re.DOTALL)
    }

    assert {name: text.count(b"%s") for name, text in read_statements(rows.QUERIES).items()} == counts


def test_texts_are_compared_by_their_bytes() -> None:
    script = (
        "CREATE TABLE t (a TEXT NOT NULL, b BIGINT, text_of TEXT); -- TEXT\nINSERT INTO t VALUES ('TEXT')"
    )

    assert sort_by_bytes(script) == (
        'CREATE TABLE t (a TEXT COLLATE "C" NOT NULL, b BIGINT, text_of TEXT COLLATE "C"); -- TEXT\n'
        "INSERT INTO t VALUES ('TEXT')"
    )


def test_a_script_is_split_at_the_semicolons_that_end_a_statement() -> None:
    script = """-- All; of it.
SELECT ';' AS "a;b"; SELECT 2
;

SELECT 3 -- the last; one
"""

    assert [*split_script(script)] == [
        b"""-- All; of it.\nSELECT ';' AS "a;b\"""",
        b"SELECT 2",
        b"SELECT 3 -- the last; one",
    ]
