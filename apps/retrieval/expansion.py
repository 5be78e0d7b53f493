"""Whether a migration only adds: two releases run on one schema while a lane is tried. Pure.

What an older program may still use must stay as it is, and nothing may be asked of it that it
does not know. This reads statements by their words, so it errs on the side of refusing.
"""

import re

# Comments, bodies of functions and texts hold no statement of the migration's own.
_NOT_SQL = re.compile(
    r"--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1|'(?:[^']|'')*'|BEGIN\s+ATOMIC\b.*?\bEND\s*(?=;)",
    re.DOTALL | re.IGNORECASE,
)
_LOGIN = r"(?:gateway|assistant|tickets|loader)"
_CONTRACTS = (
    (r"^DROP\s+(?!INDEX\b)(\w+)", "drops a {0}"),
    (r"\bDROP\s+COLUMN\b", "drops a column"),
    (r"\bDROP\s+(?:DEFAULT|EXPRESSION|IDENTITY)\b", "takes a column's default away"),
    (r"\bRENAME\b", "renames"),
    (r"\bALTER\s+(?:COLUMN\s+)?\w+\s+(?:SET\s+DATA\s+)?TYPE\b", "changes a column's type"),
    (r"\bSET\s+NOT\s+NULL\b", "asks for a value that was optional"),
    (r"^ALTER\s+TABLE\b.*\bADD\s+(?:CONSTRAINT|CHECK|UNIQUE|EXCLUDE|FOREIGN|PRIMARY)\b",
     "adds a constraint to a table that is in use"),
    (r"\bADD\s+COLUMN\b(?![^,]*\b(?:DEFAULT|GENERATED)\b)[^,]*\bNOT\s+NULL\b",
     "adds a column that needs a value"),
    (rf"^REVOKE\b.*\bFROM\b[^;]*\b{_LOGIN}\b", "takes a right away from a login role"),
    (r"^(TRUNCATE|DELETE|UPDATE)\b", "changes rows: {0}"),
)  # fmt: skip


def contraction(sql: str) -> str:
    """ "" if the migration only adds, else the line of the first statement that does not and
    what it does: `line 12 drops a column`."""
    # Blanked, not cut out, so that the lines keep their numbers.
    bare = _NOT_SQL.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), sql)
    begin = 0
    for statement in bare.split(";"):
        words = statement.strip()
        for pattern, what in _CONTRACTS:
            found = re.search(pattern, words, re.IGNORECASE | re.DOTALL)
            if found:
                at = begin + len(statement) - len(statement.lstrip()) + found.start()
                said = what.format(*(group.lower() for group in found.groups()))
                return f"line {bare.count(chr(10), 0, at) + 1} {said}"
        begin += len(statement) + 1
    return ""
