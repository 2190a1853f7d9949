"""What stays the same from run to run: placeholders for the rest, and how two versions of it differ."""
import difflib
import json
import re

SAME, LONGER, CHANGED = "equal", "only longer", "changed"

# Members whose values differ from run to run, whatever they look like. Values that a pattern below finds need no entry.
VOLATILE = {
    "access_token", "auth_token", "chain", "challenge", "channel_url", "claim", "client_secret", "duration_ms", "expires_in", "files", "free",
    "latency", "seq", "user_code", "version", "verification_code",
}
PUBLIC = [
    (r"eyJ[\w-]+\.[\w-]+\.[\w-]*", "<token>"),
    (r"(?:\+|%2B)\d{8,15}\b", "<phone>"),
]
PATTERNS = [
    *PUBLIC,
    (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<uuid>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b\d{4}-\d\d-\d\d\b", "<date>"),
    (r"\b(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", "<day>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} [\d:]{8} GMT", "<time>"),
    (r"\b[0-9a-f]{64}\b", "<sha256>"),
    (r"\b[0-9a-f]{32}\b", "<id>"),
    (r"\b[0-9a-f]{16}\b", "<digest>"),
    (r"(?<![\w-])[A-Za-z0-9_-]{43}(?![\w-])", "<id>"),
    (r"(?<![\w-])(?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{32}(?![\w-])", "<id>"),
    (r"\b[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}\b", "<code>"),
    (r"(?:/[\w.-]+)*/callgate-test-\w+", "<scratch>"),
    (r"\bconfig-\d+\.yaml:\d+:\d+", "config.yaml:<place>"),
    (r"(127\.0\.0\.1|localhost):\d+", r"\1:<port>"),
    (r"\bat \d\d:\d\d:\d\d\b", "at <time>"),
    # A safety limit refills with time.
    (r'("brake-\w+\\?":)\d+', r"\1<number>"),
    (r"(?<=cannot be reached: ).*?\(curl \d+\)", "<reason>"),
    (r"'sha256-[\w+/]{43}='", "'sha256-<digest>'"),
    # A wait of one or two seconds is a constant. A longer one counts down.
    (r"\b(?:(?:[3-9]|\d{2,}) seconds?|\d+ (?:minutes?|hours?|days?))\b", "<duration>"),
]
COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in PATTERNS]


def text(value, patterns=COMPILED):
    """A text with placeholders."""
    for pattern, replacement in patterns:
        value = pattern.sub(replacement, value)
    return value


def public(value):
    """A JSON value without the tokens and numbers of its examples."""
    if isinstance(value, dict):
        return {key: public(one) for key, one in value.items()}
    if isinstance(value, list):
        return [public(one) for one in value]
    return text(value, COMPILED[:len(PUBLIC)]) if isinstance(value, str) else value


def masked(value, name=""):
    """A JSON value with placeholders. Numbers of members that count or measure become `<number>`."""
    if isinstance(value, dict):
        return {key: masked(one, key) for key, one in value.items()}
    if name in VOLATILE and value is not None and not isinstance(value, bool):
        return f"<{name}>"
    if isinstance(value, list):
        shown = [masked(one, name) for one in value]
        # Those of one second are in the order of their ids.
        return sorted(shown, key=json.dumps) if name == "installations" else shown
    if isinstance(value, str):
        if name == "code" and re.fullmatch(r"\d{6,8}", value):
            return "<code>"
        return "<id>" if name.endswith("id") and re.fullmatch(r"[\w-]{32}", value) else text(value)
    is_measured = isinstance(value, float) or isinstance(value, int) and not isinstance(value, bool) and value > 2
    return "<number>" if is_measured and name not in ("status", "upstream_status", "code") else value


def typed(value, name=""):
    """A JSON value whose numbers became `<number>`, and whose lists of equal forms have one element."""
    if isinstance(value, dict):
        return {key: typed(one, key) for key, one in value.items()}
    if isinstance(value, list):
        found = []
        for one in value:
            if (shown := typed(one, name)) not in found:
                found.append(shown)
        return found
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "<number>"
    return masked(value, name)


def metrics(*pages):
    """The names of the metrics of some pages with their labels, types and help, sorted. The buckets of a histogram are one line."""
    lines = set()
    for page in pages:
        buckets = {}
        for line in page.splitlines():
            sample = line if line.startswith("#") else line.rpartition(" ")[0]
            sample = re.sub(r'\b(version|key_id)="[^"]*"', r'\1="<\1>"', sample)
            found = re.fullmatch(r'(\w+_bucket\{.*?),?\ble="([^"]*)"\}', sample)
            if found:
                buckets.setdefault(found[1] + "}", []).append(found[2])
            elif sample:
                lines.add(sample)
        lines |= {f"{name} le {' '.join(bounds)}" for name, bounds in buckets.items()}
    return "".join(line + "\n" for line in sorted(lines))


def pretty(value):
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def entries(found):
    """A JSON object whose members have a line for each member of theirs."""
    shown = []
    for name, members in found.items():
        lines = []
        for key, value in members.items():
            if isinstance(value, list) and value:
                lines.append(f"  {json.dumps(key)}: [\n" + ",\n".join(f"   {json.dumps(one, ensure_ascii=False)}" for one in value) + "\n  ]")
            else:
                lines.append(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
        shown.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(shown) + "\n}\n"


# Differences: each with an old file, a new one, and the verdict.
EXAMPLES = [
    ("a\nb\n", "a\nb\n", SAME), ("a\nb\n", "a\nx\nb\n", LONGER), ("a\nb\n", "a\n", CHANGED), ("a\nb\n", "a\nc\n", CHANGED),
    ("a\nb\n", "b\na\n", CHANGED), ('{"a": 1}', '{"a": 1, "b": 2}', LONGER), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', CHANGED),
    ('{"a": 1}', '{"b": 1}', CHANGED), ('{"a": {"b": [1, 2]}}', '{"a": {"b": [0, 1, 3, 2]}}', LONGER), ('{"a": [1, 2]}', '{"a": [2, 1]}', CHANGED),
    ('{"a": [1, 2]}', '{"a": [1]}', CHANGED), ('{"a": [{"b": 1}]}', '{"a": [{"b": 1, "c": 2}]}', LONGER), ('{"a": 1}', '{"a": true}', CHANGED),
    ('{"a": "x"}', '{"a": "xy"}', CHANGED),
]


def misjudged():
    """The examples whose verdict is wrong."""
    return [example for example in EXAMPLES if compared(*example[:2])[0] != example[2]]


def compared(old, new):
    """How a new file differs from an old one: a verdict, and lines that show the differences."""
    if old == new:
        return SAME, []
    try:
        documents = json.loads(old), json.loads(new)
    except ValueError:
        shown = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
        return (CHANGED if any(line.startswith("-") for line in shown) else LONGER), shown
    lost, added = [], []
    _values(*documents, "", lost, added)
    return (CHANGED if lost or not added else LONGER), lost + added


def _shown(value):
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 200 else shown[:200] + "…"


def _values(old, new, path, lost, added):
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            if name in new:
                _values(value, new[name], f"{path}.{name}", lost, added)
            else:
                lost.append(f"- {path}.{name}: {_shown(value)}")
        added += [f"+ {path}.{name}: {_shown(value)}" for name, value in new.items() if name not in old]
        if not lost and not added and list(old) != list(new):
            lost.append(f"  {path}: its members are in another order")
    elif isinstance(old, list) and isinstance(new, list):
        _lists(old, new, path, lost, added)
    elif old != new or type(old) is not type(new):
        lost += [f"- {path}: {_shown(old)}", f"+ {path}: {_shown(new)}"]


def _lists(old, new, path, lost, added):
    """Elements that were in the old list must follow in the new one, in order. Others are additions."""
    at = 0
    for index, value in enumerate(new):
        if at < len(old):
            less, more = [], []
            _values(old[at], value, f"{path}[{at}]", less, more)
            if not less:
                added += more
                at += 1
                continue
            if len(old) == len(new):
                lost += less
                added += more
                at += 1
                continue
        added.append(f"+ {path}[{index}]: {_shown(value)}")
    for index in range(at, len(old)):
        lost.append(f"- {path}[{index}]: {_shown(old[index])}")
