"""Changes of a good request that a client might make by mistake or with intent. Each takes a request and a random generator, and
returns False where it changes nothing."""
import base64
import copy
import json

VALUES = [
    None, True, False, 0, -1, 0.5, 1e300, 2**63, 10**40, "", " ", "a", "null", "\0", "é", "\u202e", "\ud800", "\U0001d54f" * 70, "z" * 300, "q" * 6000,
    "+", "+1", "0" * 15, "+12025550131", "+12025550163", "+12025550171", "+12025550182", "+12025550192", "+14155550123 ", "+8816000000", "../..", "%00",
    "'; --", "2026-13-45T00:00:00Z", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "1e400", [], {}, [[]], ["a"] * 200, {"a": {"b": [1]}}, "javascript:alert(1)"]
SEGMENTS = ["", "%00", "%2F", "%2e%2e", "..", "%ff", "%E2%80%AE", "x" * 300, "a" * 32, "A" * 32, "00000000-0000-0000-0000-000000000000", "*", "self", "a;b", "-1"]
QUERIES = [
    "x=1", "app=nowhere", "app=", "app=shop&app=shop", "probe", "probe=1", "validate", "validate=false", "&&", "=", "a=%00", "wait=-1", "wait=x", "wait=0&wait=0",
    "status=scheduled", "status=x", "limit=0", "limit=99999", "limit=x", "after=x", "from=x", "from=2026-11-23T00:00:00Z", "to=9999-12-31T23:59:59Z", "operand=XOR",
    "_id=x", "_callback_state=!", "number-of-days=99", "timezone=Mars/Olympus", "%C3%A9=%C3%A9", "%FF=%FF", "q=" + "y" * 3000, "&".join(f"n{i}=1" for i in range(200))]
KINDS = [
    None, "text/plain", "application/json; charset=utf-16", "application/JSON;charset=UTF-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "application/octet-stream", "application/merge-patch+json", "*/*", "/", ""]
FIELDS = [
    ("Accept", "text/html"), ("Accept", "application/json"), ("Accept", "*/*;q=0"), ("Accept", ",;=" * 50), ("Accept-Encoding", "gzip, br"), ("Accept-Language", "tlh"),
    ("X-Request-Id", "mine"), ("X-Request-Id", "not one !"), ("X-Request-Id", "r" * 2000), ("Origin", "https://shop.example"), ("Origin", "https://evil.example"),
    ("Origin", "null"), ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("traceparent", "x"), ("Idempotency-Key", ""), ("Idempotency-Key", "a b"),
    ("Idempotency-Key", '"quoted"'), ("Idempotency-Key", "k" * 256), ("Idempotency-Key", "the-same"), ("Content-Encoding", "gzip"), ("Content-Encoding", "identity"),
    ("Range", "bytes=0-1"), ("If-None-Match", "*"), ("If-Match", '"x"'), ("Upgrade", "h2c"), ("Expect", "100-continue"), ("Expect", "magic"), ("Cookie", "a=b"),
    ("X-Forwarded-For", "unknown"), ("X-Forwarded-For", "198.51.100.1, 203.0.113.5"), ("X-Forwarded-Proto", "gopher"), ("X-HTTP-Method-Override", "DELETE"),
    ("X-App-Version", "0.1"), ("X-App-Version", "Ünicode"), ("X-Long", "l" * 20000), ("Connection", "close"), ("Bad Name", "x"), ("X-Control", "a\x01b"), ("Host", "evil.example")]
CREDENTIALS = [
    ("Authorization", "Basic !!!"), ("Authorization", "Basic " + base64.b64encode(b"nocolon").decode()), ("Authorization", "Basic"), ("Authorization", "Bearer "),
    ("Authorization", "Basic " + base64.b64encode(b"office:wrong").decode()), ("Authorization", "Basic " + base64.b64encode(b"\xff:\xff").decode()),
    ("Authorization", "Bearer x.y.z"), ("Authorization", "Bearer " + "t" * 9000), ("Authorization", "Digest a=b"), ("Authorization", "DPoP x"), ("X-API-Key", "wrong"),
    ("X-API-Key", ""), ("apikey", "wrong"), ("Authorization", "Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUiLCJzdWIiOiJhIn0."),
    ("DPoP", "x"), ("DPoP", "e30.e30.e30"), ("X-Firebase-AppCheck", "x.y.z")]
BYTES = [b"", b"\xff\xfe{\0}\0", b"\xef\xbb\xbf{}", b"nonsense", b"[" * 500, b'{"a":' * 40 + b"1" + b"}" * 40, b"{'a':1}", b'{"a":NaN}', b'{"a":1}{"a":1}', b"null", b'"text"', b"[]",
         b'{"a":1,"a":2}', b'{"\\ud800":1}', b"{" + b" " * 70000 + b"}", b"a=%zz", b"a=1&a=2", b"\0" * 100, b'{"contact_phone_number":"+14155550123"', b"{}"]


def _places(value, path=()):
    """The paths of all members and items in a value."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _places(part, (*path, key))


def _parent(ask, path):
    parent = ask.content = copy.deepcopy(ask.content)
    for key in path[:-1]:
        parent = parent[key]
    return parent


def odd_value(ask, rng):
    places = list(_places(ask.content))
    if not places:
        return False
    path = rng.choice(places)
    _parent(ask, path)[path[-1]] = rng.choice(VALUES)


def missing_member(ask, rng):
    places = list(_places(ask.content))
    if not places:
        return False
    path = rng.choice(places)
    del _parent(ask, path)[path[-1]]


def extra_member(ask, rng):
    if not isinstance(ask.content, dict):
        return False
    ask.content = {**ask.content, rng.choice(["x", "", "at", "fields", "__proto__", "client_id", "e" * 300]): rng.choice(VALUES)}


def other_type(ask, rng):
    if ask.content is None:
        return False
    ask.content = rng.choice([value for value in VALUES if not isinstance(value, dict)])


def other_octets(ask, rng):
    if ask.content is None and rng.random() < 0.8:
        return False
    ask.octets = rng.choice(BYTES)


def cut_octets(ask, rng):
    octets = ask.body()
    if not octets:
        return False
    ask.octets = octets[:rng.randrange(len(octets))]


def flipped_octet(ask, rng):
    octets = bytearray(ask.body() or b"")
    if not octets:
        return False
    octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
    ask.octets = bytes(octets)


def repeated_member(ask, rng):
    if not isinstance(ask.content, dict) or not ask.content:
        return False
    name = rng.choice(list(ask.content))
    ask.octets = (json.dumps(ask.content)[:-1] + f", {json.dumps(name)}: {json.dumps(rng.choice(VALUES))}}}").encode()


def other_kind(ask, rng):
    if ask.content is None:
        return False
    ask.kind = rng.choice(KINDS)


def in_chunks(ask, rng):
    ask.chunks = [rng.randint(1, 200), rng.choice([b"", b";a=b", b"; c"])]
    ask.fields = [*ask.fields, ("Transfer-Encoding", rng.choice(["chunked", "chunked", "Chunked", "gzip, chunked"]))]


def other_query(ask, rng):
    ask.more = rng.choice(QUERIES)


def without_query(ask, rng):
    if not ask.query:
        return False
    ask.query = {name: value for name, value in ask.query.items() if rng.random() < 0.5}


def odd_query_value(ask, rng):
    if not ask.query:
        return False
    ask.query = {**ask.query, rng.choice(list(ask.query)): str(rng.choice(VALUES)).encode("utf-8", "replace").decode()}


def other_segment(ask, rng):
    if not ask.values:
        return False
    ask.values = {**ask.values, rng.choice(list(ask.values)): None}
    ask.segment = rng.choice(SEGMENTS)


def other_field(ask, rng):
    ask.fields = [*ask.fields, rng.choice(FIELDS)]


def many_fields(ask, rng):
    ask.fields = [*ask.fields, *((f"X-{number}", "v") for number in range(rng.choice([50, 101, 200])))]


def repeated_field(ask, rng):
    if not ask.fields:
        return False
    ask.fields = [*ask.fields, rng.choice(ask.fields)]


def without_field(ask, rng):
    if not ask.fields:
        return False
    ask.fields = list(ask.fields)
    ask.fields.remove(rng.choice(ask.fields))


def without_credential(ask, rng):
    if not ask.credential:
        return False
    ask.credential = []


def wrong_credential(ask, rng):
    wrong = rng.choice(CREDENTIALS)
    ask.credential = [field for field in ask.credential if field[0] != wrong[0] or rng.random() < 0.05] + [wrong]


def broken_credential(ask, rng):
    if not ask.credential:
        return False
    name, value = rng.choice(ask.credential)
    cut = rng.randrange(len(value) + 1)
    ask.credential = [field for field in ask.credential if field[0] != name] + [(name, value[:cut] + rng.choice("aA0=.") + value[cut + 1:])]


def other_credential(ask, rng):
    ask.credential = ask.world.somebody(rng).credential(ask)


def old_credential(ask, rng):
    """The last credential of the thread, whose proof has been used."""
    ask.credential = ask.world.last_credential


def other_method(ask, rng):
    ask.method = rng.choice(ask.operation.foreign)


ALL = [
    odd_value, odd_value, odd_value, missing_member, missing_member, extra_member, extra_member, other_type, other_octets, cut_octets, flipped_octet, repeated_member,
    other_kind, in_chunks, other_query, other_query, without_query, odd_query_value, other_segment, other_segment, other_field, other_field, other_field, many_fields,
    repeated_field, without_field, without_credential, wrong_credential, wrong_credential, broken_credential, other_credential, old_credential, other_method]


def mutate(ask, rng):
    """Changes a request in one way or two. Returns the names of the changes."""
    names, wanted = [], rng.choice([1, 1, 2])
    while len(names) < wanted:
        change = rng.choice(ALL)
        if change(ask, rng) is not False:
            names.append(change.__name__)
    return names
