#!/usr/bin/env python3
"""Prints the offsets of all time zones in a folder from 1970 to 2099, as Python's zoneinfo reads them.

    Tests/Fixtures/hours/offsets.py FOLDER [DISTANCE]

A line for each zone: its name, and for each span of one offset `START:OFFSET` in seconds. A zone whose file is the same as an
earlier one has `=NAME` instead. With a DISTANCE of 8, every eighth zone has a line.
"""

import datetime
import pathlib
import sys
import zoneinfo

DAY = 86_400
# Until 2038 the files list the changes, some of them a few weeks apart. After that there are two in a year.
SAMPLES = [*range(0, 2_145_916_800, DAY), *range(2_145_916_800, 4_102_444_800, 7 * DAY), 4_102_444_799]

folder = pathlib.Path(sys.argv[1])
distance = int(sys.argv[2]) if len(sys.argv) > 2 else 1
names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
names = [name for name in names if "/" in name and not name.startswith(("posix/", "right/"))]
seen = {}
for name in names[::distance]:
    path = folder / name
    content = path.read_bytes()
    if content in seen:
        print(f"{name} ={seen[content]}")
        continue
    seen[content] = name
    with path.open("rb") as file:
        zone = zoneinfo.ZoneInfo.from_file(file)

    def offset(instant):
        return int(datetime.datetime.fromtimestamp(instant, zone).utcoffset().total_seconds())

    known = offset(0)
    spans = [(0, known)]
    before = 0
    for after in SAMPLES:
        reached = offset(after)
        if reached != known:
            low, high = before, after
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == known else (low, middle)
            spans.append((high, reached))
            known = reached
        before = after
    print(name, *(f"{start}:{seconds}" for start, seconds in spans))
