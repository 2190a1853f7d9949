#!/usr/bin/env python3
"""Writes days.txt: when each day of a year begins in a time zone, as Python's zoneinfo sees it.

A calendar of its own: it looks at the clock of every minute, and a day begins with the first minute that shows a date later than
all before. A line holds a zone, the first minute of the year's first day since 1970, and the lengths of its days in minutes, as
LENGTH or LENGTHxDAYS.
"""
import datetime
import itertools
import pathlib
import zoneinfo

YEARS = [
    ("America/New_York", 2026), ("Europe/Lisbon", 2026), ("Europe/Lisbon", 2028), ("Asia/Kathmandu", 2026),
    ("Australia/Lord_Howe", 2026), ("Africa/Casablanca", 2026),
    # The midnight is skipped, and an hour before another one is shown twice.
    ("America/Santiago", 2026), ("Africa/Cairo", 2026), ("America/Sao_Paulo", 2018), ("Asia/Kathmandu", 1986),
    # The half hour before the midnight is skipped.
    ("Asia/Pyongyang", 2018),
    # The midnight is shown twice.
    ("America/Havana", 2026), ("Atlantic/Azores", 2026),
    # The clock goes back one minute after midnight.
    ("America/St_Johns", 2010),
    # A whole date is skipped.
    ("Pacific/Apia", 2011), ("Pacific/Kwajalein", 1993),
]


def beginnings(name, year):
    """The first minutes of the year's days and of the day after them."""
    zone = zoneinfo.ZoneInfo(name)
    minute = datetime.timedelta(minutes=1)
    time = datetime.datetime(year - 1, 12, 30, tzinfo=datetime.timezone.utc)
    latest = datetime.date(year - 1, 12, 31)
    while latest.year <= year:
        date = time.astimezone(zone).date()
        if date > latest:
            latest = date
            yield int(time.timestamp()) // 60
        time += minute


def line(name, year):
    starts = list(beginnings(name, year))
    lengths = [after - before for before, after in zip(starts, starts[1:])]
    runs = ((length, len(list(days))) for length, days in itertools.groupby(lengths))
    return " ".join([name, str(starts[0]), *(f"{length}x{days}" if days > 1 else str(length) for length, days in runs)])


if __name__ == "__main__":
    target = pathlib.Path(__file__).with_name("days.txt")
    target.write_text("".join(line(*year) + "\n" for year in YEARS))
