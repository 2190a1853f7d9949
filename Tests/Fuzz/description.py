"""What /openapi.json says: operations, random values that fit their schemas, and whether a response is one that it describes."""
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import urllib.parse
import uuid

from harness import *

# The validator comes with schemathesis (script/tools.txt).
sys.path += glob.glob(os.path.join(ROOT, ".build/tools/lib/python3*/site-packages"))
import jsonschema_rs  # noqa: E402

# Texts to choose from: the first that a schema's pattern and lengths allow, in random order.
TEXTS = [
    "a", "Ann", "0", "2.3.0", "My reservation", "Müller & Söhne", "日本語", "👩‍👩‍👧", "x" * 64, "y" * 255, "name_1", "https://shop.example/orders/1?x=y",
    "+14155550123", "+351210000000", "123456", "30s", "10m", "false", "active:", "A" * 43, "{}", "<b>bold</b>", "a=b&c=d", "ﬀ"]
FORMATS = {
    "date-time": lambda rng: later(rng.randrange(60, 30 * 86400)),
    "uuid": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "ipv4": lambda rng: f"198.51.100.{rng.randrange(256)}",
    "ipv6": lambda rng: f"2001:db8::{rng.randrange(65536):x}",
    "uri": lambda rng: "https://shop.example/orders/1",
}


def later(seconds):
    """A time some seconds from now, as RFC 3339."""
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class Operation:
    """One operation of the document: its `id`, `method`, `path`, `parameters`, `bodies` (schemas by media type), `responses`, and the methods
    that its path does not know."""

    def __init__(self, path, method, item):
        described = item[method]
        self.path, self.method, self.id = path, method.upper(), described["operationId"]
        self.name = f"{self.method} {path}"
        self.parameters = described.get("parameters", [])
        self.bodies = {kind: form["schema"] for kind, form in described.get("requestBody", {}).get("content", {}).items()}
        self.responses = described["responses"]
        self.foreign = [name for name in ("GET", "POST", "PUT", "DELETE", "PATCH", "BREW") if name.lower() not in item]


class Description:
    """The document of a server. `known` has functions of a random generator by the names of members whose values no schema tells."""

    def __init__(self, server, known):
        path = scratch("openapi.json", server.get("/openapi.json").content)
        check = os.path.join(ROOT, "Tests/EndToEnd/openapi/check.py")
        # No member, value or code but those that it names.
        closed = subprocess.run([sys.executable, check, "closed", path], capture_output=True, text=True, check=True)
        self.document, self.known, self.validators = json.loads(closed.stdout), known, {}
        self.operations = [
            Operation(path, method, item) for path, item in self.document["paths"].items()
            for method, described in item.items() if isinstance(described, dict)]
        self.tags = [urllib.parse.quote(tag["name"].lower()) for tag in self.document["tags"]]

    def resolved(self, value):
        """A schema, response or example in place of its reference."""
        while "$ref" in value:
            target = self.document
            for name in value["$ref"][2:].split("/"):
                target = target[name]
            value = {**target, **{name: one for name, one in value.items() if name != "$ref"}}
        return value

    def mistake(self, schema, value):
        """Why a value does not fit a schema; None where it does."""
        key = id(schema)
        if key not in self.validators:
            whole = {**schema, "components": self.document["components"]}
            self.validators[key] = jsonschema_rs.validator_for(whole, validate_formats=True)
        found = next(iter(self.validators[key].iter_errors(value)), None)
        return found and f"{'/'.join(map(str, found.instance_path))}: {found.message}"

    # Requests

    def fitting(self, schema, rng):
        """A random value that a schema allows."""
        for _ in range(50):
            value = self.instance(schema, rng)
            if not self.mistake(schema, value):
                return value
        raise AssertionError(f"no value found for {json.dumps(schema)[:300]}")

    def instance(self, schema, rng, name=""):
        """A random value by the words of a schema that are easy to follow."""
        if name in self.known and rng.random() < 0.95:
            return self.known[name](rng)
        schema = self.resolved(schema)
        for word in "oneOf", "anyOf":
            if word in schema:
                chosen = self.resolved(rng.choice(schema[word]))
                schema = {**{key: one for key, one in schema.items() if key != word}, **chosen}
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        kinds = schema.get("type", "object")
        kind = rng.choice(kinds) if isinstance(kinds, list) else kinds
        return getattr(self, f"_{kind}")(schema, rng)

    def _null(self, schema, rng):
        return None

    def _boolean(self, schema, rng):
        return rng.random() < 0.5

    def _integer(self, schema, rng):
        least = schema.get("minimum", 0)
        return rng.randint(least, min(schema.get("maximum", least + 1000), least + 1000))

    _number = _integer

    def _string(self, schema, rng):
        if schema.get("format") in FORMATS:
            return FORMATS[schema["format"]](rng)
        fits = re.compile(schema.get("pattern", ""))
        texts = [text for text in TEXTS if fits.search(text) and schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 999)]
        return rng.choice(texts or ["x"])

    def _array(self, schema, rng):
        count = rng.randint(schema.get("minItems", 0), min(schema.get("maxItems", 3), 3))
        return [self.instance(schema.get("items", {"type": "string"}), rng) for _ in range(count)]

    def _object(self, schema, rng):
        made = {}
        for name, form in schema.get("properties", {}).items():
            if name in schema.get("required", []) or rng.random() < 0.4:
                made[name] = self.instance(form, rng, name)
        others = schema.get("additionalProperties", False)
        if isinstance(others, dict) or others is True:
            for _ in range(rng.randint(0, 3)):
                name = self.instance(schema.get("propertyNames", {"type": "string", "maxLength": 64}), rng)
                made.setdefault(name, self.instance(others if isinstance(others, dict) else {"type": "string"}, rng))
        return made

    # Responses

    def complaints(self, operation, answer):
        """What the document does not say of a response to an operation, as texts."""
        if str(answer.status) not in operation.responses:
            return [f"{answer.status} {answer.code or ''} is not declared"]
        response = self.resolved(operation.responses[str(answer.status)])
        found = [f"{answer.status} lacks {name}" for name, header in response.get("headers", {}).items()
                 if header.get("required") and name.lower() not in answer.fields]
        kind = answer.fields.get("content-type", "").partition(";")[0]
        content = response.get("content", {})
        if not content:
            return found + ([f"{answer.status} has content"] if answer.content else [])
        if kind not in content:
            return found + [f"{answer.status} has the undeclared type {kind!r}"]
        if kind.endswith("json"):
            mistake = self.mistake(content[kind]["schema"], answer.json)
            found += [f"{answer.status} {answer.code or ''} does not fit its schema: {mistake}"] if mistake else []
        return found
