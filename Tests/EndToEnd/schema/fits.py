"""Judges YAML 1.2 documents by a JSON Schema. Runs with the tools of script/tools.txt.

Each line of standard input is JSON: the schema, and the documents' texts. A line of standard output is the list for it with one item
for each document: null if it fits, what is wrong with it otherwise. One process judges all, since its libraries take seconds to load."""
import json
import sys

from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

yaml = YAML(typ="safe", pure=True)  # version 1.2
# The core schema of version 1.2 has no dates.
yaml.Constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def wrong(validator, text):
    try:
        document = yaml.load(text)
    except YAMLError as error:
        return f"no YAML: {type(error).__name__}"
    error = next(iter(validator.iter_errors(json.loads(json.dumps(document)))), None)
    return error and f"{error.json_path}: {error.message[:120]}"


for line in sys.stdin:
    given = json.loads(line)
    Draft202012Validator.check_schema(given["schema"])
    validator = Draft202012Validator(given["schema"])
    print(json.dumps([wrong(validator, text) for text in given["documents"]]), flush=True)
