"""A hook of schemathesis for what a schema cannot say, so that well-formed requests can be expected to be accepted:

- no two callbacks share an Idempotency-Key, unless they are the same;
- the account's number is one that the server was configured with;
- the names of a context's fields differ, and what is called a URL is one;
- names have at most 64 characters and values 255, where no `context_schema` allows more;
- a time for a call is one that can be booked, and slots are asked for with both ends of a day to come;
- a consent names a text that the server was configured with;
- a block ends later, and a page of blocked numbers begins where the one before says.

What the document forbids is sent as it is.
"""
import datetime
import itertools
import uuid

import schemathesis

ACCOUNT_NUMBER = "+18005550199"
_minutes = itertools.count(24 * 60)


def later(minutes):
    """A time so many minutes from now."""
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


@schemathesis.hook
def before_call(context, case, **kwargs):
    # Nothing changes these records: a wait would take its whole time.
    if case.query and str(case.query.get("wait", "")).isdigit():
        case.query["wait"] = 1
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if case.query and {"from", "to"} & set(case.query):
        case.query.update({"from": later(24 * 60), "to": later(48 * 60)})
    if isinstance(case.body, dict) and isinstance(case.body.get("at"), str):
        case.body["at"] = later(next(_minutes) % (20 * 24 * 60) + 60)
    if case.query and case.operation.path == "/admin/numbers":
        case.query.pop("after", None)
    if isinstance(case.body, dict) and "phone" in case.body and isinstance(case.body.get("until"), str):
        case.body["until"] = later(24 * 60)
    if not isinstance(case.body, dict) or "contact_phone_number" not in case.body:
        return
    if "talkdesk_phone_number" in case.body:
        case.body["talkdesk_phone_number"] = ACCOUNT_NUMBER
    if isinstance(case.body.get("consent"), dict):
        case.body["consent"]["text"] = "v1"
    context = case.body.get("context") or {}
    fields = context.get("fields")
    if not isinstance(fields, list):
        if context:
            case.body["context"] = {name[:64]: value[:255] for name, value in context.items()}
        return
    for field in fields:
        field.update(name=field["name"][:64], value=field["value"][:255])
        if field.get("data_type") == "url":
            field["value"] = "https://shop.example/orders/1?x=y"
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        for number, field in enumerate(fields):
            field["name"] = f"field-{number}"
