#!/usr/bin/env python3
"""Checks an OpenAPI document against itself and against the server it describes, beyond what schemathesis does.

    check.py examples FILE        every example fits its schema
    check.py closed FILE          prints the document with what it leaves open for later closed: no member, value or code but
                                  those it names, so that a test sees what is not described
    check.py methods FILE URL     every path answers each method as its document says; operators' paths with $OPERATORS_TOKEN

Prints what is wrong, one line each, and then how much was checked.
"""
import http.client
import json
import os
import sys
import urllib.parse

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"]


def examples(document):
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    resource = Resource(contents=document, specification=DRAFT202012)
    registry = Registry().with_resource("urn:document", resource)
    count = 0

    def resolved(value):
        while isinstance(value, dict) and "$ref" in value:
            target = document
            for name in value["$ref"][2:].split("/"):
                target = target[name]
            value = target
        return value

    def check(place, schema, value):
        nonlocal count
        count += 1
        schema = json.loads(json.dumps(schema).replace('"#/', '"urn:document#/'))
        validator = Draft202012Validator(schema, registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER)
        for error in validator.iter_errors(value):
            print(f"{place}: {error.message}")

    def contents(place, content):
        for kind, form in content.items():
            for name, example in form.get("examples", {}).items():
                check(f"{place} {kind} {name}", form["schema"], resolved(example)["value"])

    for path, item in document["paths"].items():
        for method, operation in item.items():
            if not isinstance(operation, dict):
                continue
            place = f"{method} {path}"
            for parameter in operation.get("parameters", []):
                if "example" in parameter:
                    check(f"{place} {parameter['name']}", parameter["schema"], parameter["example"])
            contents(place, operation.get("requestBody", {}).get("content", {}))
            for status, response in operation["responses"].items():
                contents(f"{place} {status}", resolved(response).get("content", {}))
    return count


def closed(document):
    """Requests are strict as published. Of all else the members, the values and each status' codes are those that are named."""
    schemas = document["components"]["schemas"]

    def references(value):
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from references(part)
        if isinstance(value, dict) and isinstance(value.get("$ref"), str):
            name = value["$ref"].rsplit("/", 1)[1]
            yield name
            yield from references(schemas.get(name, {}))

    bodies = [o.get("requestBody", {}) for i in document["paths"].values() for o in i.values() if isinstance(o, dict)]
    of_requests = set(references(bodies))

    def close(value):
        if isinstance(value, list):
            return [close(part) for part in value]
        if not isinstance(value, dict):
            return value
        value = {name: close(part) for name, part in value.items()}
        if "x-extensible-enum" in value:
            value["enum"] = value.pop("x-extensible-enum")
        if value.get("type") == "object" and "properties" in value:
            value.setdefault("additionalProperties", False)
        return value

    for name in schemas.keys() - of_requests:
        schemas[name] = close(schemas[name])
    responses = list(document["components"]["responses"].values())
    for item in document["paths"].values():
        for operation in item.values():
            responses += operation["responses"].values() if isinstance(operation, dict) else []
    for response in responses:
        form = response.get("content", {}).get("application/problem+json")
        if form:
            codes = {"properties": {"code": {"enum": list(form["examples"])}}}
            form["schema"] = {"allOf": [form["schema"], codes]}
    return document


def methods(document, url):
    address = urllib.parse.urlsplit(url)
    token = os.environ["OPERATORS_TOKEN"]
    count = 0
    for path, item in document["paths"].items():
        concrete = path.replace("{app}", "example-app-ios").replace("{id}", "0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87").replace("{action}", "connect").replace("{name}", "support").replace("{tag}", "callbacks").replace("{secret}", "s" * 43)
        allowed = item["description"].removeprefix("Allow: ").split(", ")
        for method in METHODS:
            count += 1
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
            fields = {"Authorization": f"Bearer {token}"} if path.startswith(("/admin/", "/metrics")) else {}
            connection.request(method, concrete, headers=fields)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            place = f"{method} {concrete}: {answer.status}"
            if not answer.getheader("X-Request-Id"):
                print(f"{place} without X-Request-Id")
            if method == "OPTIONS" and method in allowed and (answer.status != 204 or answer.getheader("Allow") != ", ".join(allowed)):
                print(f"{place}, Allow: {answer.getheader('Allow')}")
            elif method not in allowed:
                if answer.status != 405 or answer.getheader("Allow") != ", ".join(allowed):
                    print(f"{place}, Allow: {answer.getheader('Allow')}")
                elif method != "HEAD" and json.loads(content)["code"] != "method_not_allowed":
                    print(f"{place}: {content!r}")
                elif method == "HEAD" and content:
                    print(f"{place} has content")
            elif answer.status in (405, 501):
                print(f"{place}, although {method} is allowed")
            elif method == "HEAD" and content:
                print(f"{place} has content")
    return count


with open(sys.argv[2], encoding="utf-8") as file:
    the_document = json.load(file)
if sys.argv[1] == "examples":
    print(examples(closed(the_document)))
elif sys.argv[1] == "closed":
    json.dump(closed(the_document), sys.stdout)
else:
    print(methods(the_document, sys.argv[3]))
