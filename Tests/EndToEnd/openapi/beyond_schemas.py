"""A hook of schemathesis for what a schema cannot say, so that well-formed requests can be expected to be accepted:

- no two callbacks share an Idempotency-Key, unless they are the same;
- the account's number is one that the server was configured with;
- the names of a context's fields differ, and what is called a URL is one.

What the document forbids is sent as it is.
"""
import uuid

import schemathesis

ACCOUNT_NUMBER = "+18005550199"


@schemathesis.hook
def before_call(context, case, **kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    if not isinstance(case.body, dict) or "contact_phone_number" not in case.body:
        return
    if "talkdesk_phone_number" in case.body:
        case.body["talkdesk_phone_number"] = ACCOUNT_NUMBER
    fields = (case.body.get("context") or {}).get("fields")
    if not isinstance(fields, list):
        return
    for field in fields:
        if field.get("data_type") == "url":
            field["value"] = "https://shop.example/orders/1?x=y"
    names = [field["name"] for field in fields]
    if len(set(names)) < len(names):
        for number, field in enumerate(fields):
            field["name"] = f"field-{number}"
