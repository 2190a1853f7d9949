"""Judges YAML 1.2 documents by a JSON Schema. Runs with the tools of script/tools.txt.

Standard input is JSON: the schema, and the documents' texts. Standard output is a list with one item for each document: null if it
fits, what is wrong with it otherwise."""
import json
import sys

from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

given = json.load(sys.stdin)
Draft202012Validator.check_schema(given["schema"])
validator = Draft202012Validator(given["schema"])


yaml = YAML(typ="safe", pure=True)  # version 1.2
# The core schema of version 1.2 has no dates.
yaml.Constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: node.value)


def wrong(text):
    try:
        document = yaml.load(text)
    except YAMLError as error:
        return f"no YAML: {type(error).__name__}"
    error = next(iter(validator.iter_errors(json.loads(json.dumps(document)))), None)
    return error and f"{error.json_path}: {error.message[:120]}"


json.dump([wrong(text) for text in given["documents"]], sys.stdout)
