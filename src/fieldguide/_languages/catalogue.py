"""Catalogues of sentences: files of gettext's form ``.po``, read as they stand in the source.

The standard library reads only the compiled form, ``.mo``, which is made here in memory.
"""

import ast
import io
import re
import struct
from gettext import GNUTranslations

_LINE = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr|msgstr\[(\d)\]) (".*")')
_MAGIC = 0x950412DE
_CONTEXT_END, _PLURAL_END = "\x04", "\0"

# What is said: the context, the sentence, that for many -> the sentences that are said instead.
Entries = dict[tuple[str, str, str], list[str]]


def read_catalogue(text: str) -> GNUTranslations:
    """Return the catalogue that a ``.po`` file writes."""
    return GNUTranslations(io.BytesIO(_compile(read_entries(text))))


def read_entries(text: str) -> Entries:
    """Return the entries of a ``.po`` file; ValueError says which line is not of its form."""
    entries: Entries = {}
    fields: dict[str, str] = {}
    name = ""
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        found = _LINE.fullmatch(line)
        if found is not None and found[1] not in fields:
            name = found[1]
            fields[name] = _unquote(found[3], number)
        elif line.startswith('"') and name:
            fields[name] += _unquote(line, number)
        elif not line:
            if fields:
                _add(entries, fields, number)
            fields, name = {}, ""
        elif not line.startswith("#") or fields:
            raise ValueError(f"Line {number} of a catalogue cannot be read: {line[:60]!r}.")
    return entries


def write_entries(entries: Entries) -> str:
    """Return the ``.po`` file of some entries."""
    return "\n".join(_write(*key, said) for key, said in entries.items())


def _write(context: str, one: str, many: str, said: list[str]) -> str:
    lines = [f"msgctxt {_quote(context)}"] if context else []
    lines.append(f"msgid {_quote(one)}")
    if many:
        lines.append(f"msgid_plural {_quote(many)}")
        lines += [f"msgstr[{k}] {_quote(text)}" for k, text in enumerate(said)]
    else:
        lines.append(f"msgstr {_quote(said[0])}")
    return "\n".join([*lines, ""])


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def _unquote(quoted: str, number: int) -> str:
    try:
        return str(ast.literal_eval(quoted))
    except (SyntaxError, ValueError):
        raise ValueError(f"Line {number} of a catalogue is not quoted: {quoted[:60]!r}.") from None


def _add(entries: Entries, fields: dict[str, str], number: int) -> None:
    many = fields.get("msgid_plural", "")
    key = fields.get("msgctxt", ""), fields.get("msgid", ""), many
    names = [name for name in sorted(fields) if name.startswith("msgstr")]
    expected = [f"msgstr[{k}]" for k in range(len(names))] if many else ["msgstr"]
    if "msgid" not in fields or not names or names != expected or key in entries:
        raise ValueError(f"The entry of a catalogue before line {number} is not whole, or twice.")
    entries[key] = [fields[name] for name in names]


def _compile(entries: Entries) -> bytes:
    """Return the ``.mo`` file of the entries that say something."""
    pairs = {}
    for (context, one, many), said in entries.items():
        if all(said):
            name = (context + _CONTEXT_END if context else "") + one
            name += _PLURAL_END + many if many else ""
            pairs[name.encode()] = _PLURAL_END.join(said).encode()
    names = sorted(pairs)
    table, data = [], b""
    start = 7 * 4 + 16 * len(names)
    for text in [*names, *(pairs[name] for name in names)]:
        table += [len(text), start + len(data)]
        data += text + b"\0"
    head = (_MAGIC, 0, len(names), 28, 28 + 8 * len(names), 0, 0)
    return struct.pack(f"<{7 + len(table)}I", *head, *table) + data
