"""Damage drawn at random: of bytes, and of JSON, value by value. One seed, one damage."""

import json
import struct

DEEP = 100_000

RAW = (
    "[" * DEEP,
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "[" * 400 + "]" * 400,
    "1" * 5000,
    "9" * 400,
    "-1",
    "0",
    "1",
    "2",
    "3.5",
    "1e999",
    "-1e999",
    "1e308",
    "NaN",
    "-Infinity",
    "1000000000000",
    "18446744073709551616",
    "999999999",
    "true",
    "null",
    "{}",
    "[]",
    "[[]]",
    '{"nodes": []}',
    '""',
    '"' + "x" * 300_000 + '"',
    '"\\ud800"',
    '"\\u0000"',
    '"a\\nb\\u001b[2J\\rc"',
    '"../../../../etc/passwd"',
    '"/dev/zero"',
    '"|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"',
    "[" + "0," * 50_000 + "0]",
    "[" + '["skip_connect", 0],' * 20_000 + '["skip_connect", 0]]',
    "[" + '[["skip_connect", 0], ["skip_connect", 1]],' * 5_000 + "[]]",
    '["cpu", 1, {"a": null}]',
)
"""Values that a reader may not expect, as they stand in a file."""

NUMBERS = [
    struct.pack(order + "I", n) for order in "<>" for n in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x10000)
]
NUMBERS += [struct.pack("<Q", 2**63 - 1), struct.pack("<Q", 2**40)]


def damaged(content, draw):
    """Bytes after one to three kinds of damage."""
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        content = draw.choice(DAMAGES)(content, draw)
    return bytes(content)


def _place(content, draw):
    """An index; headers are hit more often than their share."""
    end = len(content)
    return draw.randrange(min(end, 64) if draw.random() < 0.3 else end) if end else 0


def _flip(content, draw):
    for _ in range(draw.choice((1, 1, 2, 8, 64))):
        if content:
            content[_place(content, draw)] ^= 1 << draw.randrange(8)
    return content


def _truncate(content, draw):
    return content[: draw.randrange(len(content) + 1)]


def _behead(content, draw):
    return content[_place(content, draw) :]


def _repeat(content, draw):
    start = _place(content, draw)
    return (
        content[:start]
        + content[start : start + draw.randrange(1, 200)] * draw.choice((2, 3, 50))
        + content[start:]
    )


def _splice(content, draw):
    start = _place(content, draw)
    noise = bytes(draw.randrange(256) for _ in range(draw.choice((1, 4, 32))))
    return content[:start] + noise + content[start + draw.choice((0, len(noise))) :]


def _number(content, draw):
    start, number = _place(content, draw), draw.choice(NUMBERS)
    return content[:start] + number + content[start + len(number) :]


def _swap(content, draw):
    one, other = sorted((_place(content, draw), _place(content, draw)))
    length = draw.randrange(1, 64)
    return (
        content[:one]
        + content[other : other + length]
        + content[one + length : other]
        + content[one : one + length]
        + content[other + length :]
    )


def _blank(content, draw):
    start, length = _place(content, draw), draw.choice((1, 16, 512))
    return content[:start] + bytes([draw.choice((0, 32, 255))]) * length + content[start + length :]


DAMAGES = (_flip, _flip, _truncate, _behead, _repeat, _splice, _number, _swap, _blank)


def damaged_json(text, draw, most=2):
    """JSON with values swapped, removed, doubled or renamed; some of it is no JSON any more."""
    value = json.loads(text)
    raws = []
    for _ in range(draw.randrange(1, most + 1)):
        value = _changed(value, draw, raws)
    written = json.dumps(value, ensure_ascii=draw.random() < 0.5)
    for number, raw in enumerate(raws):
        written = written.replace(f'"@raw{number}@"', raw, 2)  # a list may hold it thousands of times
    content = written.encode("utf8", "surrogatepass")
    return damaged(content, draw) if draw.random() < 0.1 else content


def _changed(value, draw, raws):
    places = list(_places(value))
    if not places:
        return value
    holder, key = draw.choice(places)
    what = draw.random()
    if what < 0.65:
        raws.append(draw.choice(RAW))
        holder[key] = f"@raw{len(raws) - 1}@"
    elif what < 0.75:
        del holder[key]
    elif what < 0.85:
        other, at = draw.choice(places)
        holder[key] = json.loads(json.dumps(other[at]))
    elif isinstance(holder, dict) and what < 0.93:
        raws.append(f"{json.dumps(holder[key])}, {json.dumps(key)}: {draw.choice(RAW)}")  # the key twice
        holder[key] = f"@raw{len(raws) - 1}@"
    elif isinstance(holder, dict):
        holder[draw.choice(("", "__class__", "x" * 1000, "\x1b]0;", key.upper()))] = holder.pop(key)
    else:
        holder += [holder[key]] * draw.choice((1, 10, 5000))
    return value


def _places(value):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
