"""Whether a migration only adds: two releases run on one schema while a lane is tried. Pure.

What an older program may still use must stay as it is, and nothing may be asked of it that it
does not know. This reads statements by their words, so it errs on the side of refusing.
"""

import re

_COMMENT = r"--[^\n]*|/\*.*?\*/"
# What a DO block says is done at once, also what it puts together and EXECUTEs.
_DO = re.compile(r"\bDO\s+(\$\w*\$)(.*?)\1", re.DOTALL | re.IGNORECASE)
# Comments, bodies of functions and texts hold no statement of the migration's own.
_NOT_SQL = re.compile(
    _COMMENT + r"|(\$\w*\$).*?\1|'(?:[^']|'')*'|BEGIN\s+ATOMIC\b.*?\bEND\s*(?=;)",
    re.DOTALL | re.IGNORECASE,
)
_DIGITS = re.compile(r"\(\s*\d+\s*(?:,\s*\d+\s*)?\)")
_LOGIN = r"(?:gateway|assistant|tickets|loader)"
_KEYS = r"(?:CONSTRAINT|CHECK|UNIQUE|EXCLUDE|FOREIGN|PRIMARY)\b"
_CONTRACTS = (
    (r"^DROP\s+(?!INDEX\b)(\w+)", "drops a {0}"),
    (r"\bDROP\s+(?:DEFAULT|EXPRESSION|IDENTITY)\b", "takes a column's default away"),
    (r"^ALTER\s+(?:TABLE|TYPE)\b.*?\bDROP\s+(?!CONSTRAINT\b|NOT\s+NULL\b)\w", "drops a column"),
    (r"\bRENAME\b|\bSET\s+SCHEMA\b", "renames"),
    (r"\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b", "changes a column's type"),
    (r"\bSET\s+NOT\s+NULL\b", "asks for a value that was optional"),
    (rf"^ALTER\s+(?:TABLE|DOMAIN)\b.*\bADD\s+{_KEYS}|^CREATE\s+UNIQUE\b",
     "adds a constraint to a table that is in use"),
    (rf"\bADD\s+(?:COLUMN\s+)?(?!{_KEYS})(?![^,]*\b(?:DEFAULT|GENERATED)\b)[^,]*\bNOT\s+NULL\b",
     "adds a column that needs a value"),
    (r"^CREATE\s+POLICY\b.*\bRESTRICTIVE\b|^ALTER\s+POLICY\b", "changes what a role may see"),
    (rf"^REVOKE\b.*\bFROM\b[^;]*\b{_LOGIN}\b|^ALTER\s+(?:ROLE|USER)\s+{_LOGIN}\b",
     "takes a right away from a login role"),
    (r"^(TRUNCATE|DELETE|UPDATE|MERGE)\b|^WITH\b.*\b(DELETE|UPDATE|MERGE)\b", "changes rows"),
)  # fmt: skip


def contraction(sql: str) -> str:
    """ "" if the migration only adds, else the line of the first statement that does not and
    what it does: `line 12 drops a column`."""
    # Blanked, not cut out, so that the lines keep their numbers. A quoted name is a name.
    bare = _NOT_SQL.sub(_blank, _DO.sub(_statements, sql)).replace('"', " ")
    bare = _DIGITS.sub(_blank, bare)  # a comma of numeric(12, 2) ends no column
    begin = 0
    for statement in bare.split(";"):
        words = statement.strip()
        for pattern, what in _CONTRACTS:
            found = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
            if found:
                at = begin + len(statement) - len(statement.lstrip()) + found.end()
                said = what.format(*(str(group).lower() for group in found.groups()))
                return f"line {bare.count(chr(10), 0, at) + 1} {said}"
        begin += len(statement) + 1
    return ""


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _statements(block: re.Match[str]) -> str:
    """A DO block as what it does: its texts and what follows a word of control are statements."""
    body = re.sub(_COMMENT, _blank, block[2], flags=re.DOTALL)
    body = re.sub(r"\b(?:BEGIN|THEN|ELSE|LOOP)\b|'", lambda word: ";" * len(word[0]), body)
    return ";" * 3 + " " * len(block[1]) + body + " " * len(block[1])
