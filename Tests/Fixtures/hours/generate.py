#!/usr/bin/env python3
"""Writes 2026.txt: when a schedule is open, minute by minute through 2026, as Python's zoneinfo sees it.

An implementation of opening hours of its own: every minute of the year is converted to local time and looked up.
A line holds a zone, whether it is open at 2026-01-01T00:00Z, and the minutes between one change and the next.
The schedule is the one in ScheduleTests.swift.
"""
import datetime
import pathlib
import zoneinfo

ZONES = ["America/New_York", "Europe/Lisbon", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
WEEKLY = {0: ["09:00-18:00"], 1: ["09:00-12:30", "13:15-18:00"], 2: ["00:00-24:00"], 3: ["08:00-09:00", "22:00-02:00"],
          4: ["10:00-14:00", "23:30-00:30"], 5: ["22:00-02:30"], 6: ["02:40-02:50", "03:00-04:00", "12:00-13:00"]}
CLOSED = ["2026-02-15", "2026-03-08", "2026-04-10", "2026-12-25", "2026-07-16"]
OPEN = {"2026-12-24": ["09:00-12:00"], "2026-03-29": ["00:30-01:30", "02:15-02:45"], "2026-11-01": ["01:15-01:45"],
        "2026-10-25": ["01:20-01:40", "23:00-01:00"], "2026-04-05": ["01:30-02:30"], "2026-10-04": ["01:50-02:10"],
        "2026-03-22": ["02:30-03:10"], "2026-02-16": []}


def minutes(text):
    hours, minute = text.split(":")
    return int(hours) * 60 + int(minute)


def windows(date):
    if date.isoformat() in CLOSED:
        return []
    for text in OPEN.get(date.isoformat(), WEEKLY[date.weekday()]):
        start, end = map(minutes, text.split("-"))
        yield start, end if end > start else end + 1440


def is_open(local):
    minute = local.hour * 60 + local.minute
    yesterday = local.date() - datetime.timedelta(days=1)
    return any(start <= minute < end for start, end in windows(local.date())) or any(
        minute + 1440 < end for start, end in windows(yesterday))


def line(name):
    zone = zoneinfo.ZoneInfo(name)
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    states = [is_open((start + datetime.timedelta(minutes=m)).astimezone(zone)) for m in range(365 * 1440)]
    changes = [m for m in range(1, len(states)) if states[m] != states[m - 1]]
    gaps = [b - a for a, b in zip([0] + changes, changes)]
    return " ".join([name, "open" if states[0] else "closed", *map(str, gaps)])


if __name__ == "__main__":
    target = pathlib.Path(__file__).with_name("2026.txt")
    target.write_text("\n".join(map(line, ZONES)) + "\n")
