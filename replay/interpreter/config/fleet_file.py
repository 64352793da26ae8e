"""Reading a fleet file: our own YAML, strictly; the JSON of other MCP clients, liberally."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from replay.errors import FleetError
from replay.interpreter.config.specs import AuthSpec, Defaults, ServerSpec, WorkspaceSpec
from replay.records import JsonObject, RuleSpec
from replay.safety.filesystem import read_small_file
from replay.suggestions import nearest_name

_JSONC_NOISE: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_BLANKED: Final = re.compile(r"[^\n]")
_SERVER_HINTS: Final = frozenset({"command", "url", "serverUrl", "httpUrl"})
_EXPECTED: Final = 'expected "servers" (replay, VS Code, M3-Bench) or "mcpServers" (Claude Desktop)'
_MAX_VALUES: Final = 200_000
_MAX_BYTES: Final = 8_000_000
"""Values of a YAML file, those that an alias repeats counted again."""
_TYPED_FIELDS: Final = frozenset(
    {"version", "call_timeout", "startup_timeout", "max_restarts", "disabled", "redirect_port"}
)

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FleetDocument:
    """What stands in a fleet file, in our own shape, and where."""

    path: Path
    data: JsonObject
    lines: Mapping[Place, int]
    """The line (from 1) of every key and list item; empty for JSON."""

    def mistake(self, problem: ValidationError) -> FleetError:
        """The first thing that is wrong, with the place where it stands."""
        first = problem.errors()[0]
        place = tuple(first["loc"])
        if first["type"] in {"extra_forbidden", "literal_error"} and place == ("version",):
            return FleetError(str(self.path), "only version 1 is known to this replay", _shown(place, self.lines))
        message = first["msg"].removeprefix("Value error, ")
        return FleetError(str(self.path), message[0].lower() + message[1:], _shown(place, self.lines))


def read_fleet_file(path: Path, fields: Sequence[str]) -> FleetDocument:
    """Read a fleet file of any known shape.

    Args:
        path: the file.
        fields: what may stand at the top of our own format.

    Raises:
        FleetError: the file is missing or broken, or has a field that does not exist.
    """
    try:
        text = read_small_file(path, _MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise FleetError(str(path), "no such file; name the fleet file with --servers FILE") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise FleetError(str(path), f"cannot be read: {problem}") from None
    if text.lstrip().startswith(("{", "/")) and path.suffix not in {".yaml", ".yml"}:
        return FleetDocument(path, _from_json(path, text), {})
    return _from_yaml(path, text, fields)


def _from_yaml(path: Path, text: str, fields: Sequence[str]) -> FleetDocument:
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        lines = _lines_of(path, root)
        data = _built(loader, root, "")
    except yaml.YAMLError as problem:
        raise FleetError(str(path), _yaml_problem(problem), _mark_of(problem)) from None
    except RecursionError:
        why = "an anchor contains itself, or values are nested too deeply"
        raise FleetError(str(path), f"is not a fleet file: {why}") from None
    except ValueError as problem:
        raise FleetError(str(path), f"holds a value that cannot be read: {problem}") from None
    if not isinstance(data, dict):
        raise FleetError(str(path), f"is not a fleet file: {_EXPECTED}")
    if "servers" not in data and ("mcpServers" in data or "mcp" in data):
        return FleetDocument(path, _foreign(path, data), lines)
    _reject_unknown_keys(path, data, fields, lines)
    return FleetDocument(path, {key: value for key, value in data.items() if value is not None}, lines)


def _built(loader: yaml.SafeLoader, node: yaml.Node | None, field: str) -> Any:
    """A node's value. Text stays as it is written: a server may be called `off`, and a version is not a number."""
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)
        return {str(key.value): _built(loader, value, str(key.value)) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_built(loader, item, field) for item in node.value]
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
        return None
    return loader.construct_object(node) if field in _TYPED_FIELDS else node.value


def _lines_of(path: Path, root: yaml.Node | None) -> dict[Place, int]:
    """The line (from 1) of every key and list item."""
    lines: dict[Place, int] = {}
    seen = 0

    def walk(node: yaml.Node | None, place: Place) -> None:
        nonlocal seen
        seen += 1
        if seen > _MAX_VALUES:
            raise FleetError(str(path), f"its anchors expand to more than {_MAX_VALUES} values")
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = (*place, str(key.value))
                line = key.start_mark.line + 1
                if inner in lines and key.value != "<<":
                    raise FleetError(
                        str(path), f"stands twice (first in line {lines[inner]})", f"line {line}: {_dotted(inner)}"
                    )
                lines[inner] = line
                walk(value, inner)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                lines[*place, index] = value.start_mark.line + 1
                walk(value, (*place, index))

    walk(root, ())
    return lines


def _reject_unknown_keys(path: Path, data: JsonObject, fields: Sequence[str], lines: Mapping[Place, int]) -> None:
    for place, value, known in _objects(data, fields):
        for key in value:
            if key not in known:
                nearest = nearest_name(str(key), known, min_score=60)
                hint = f'; did you mean "{nearest}"?' if nearest else f"; it takes {', '.join(known)}"
                if not place and isinstance(value[key], Mapping) and {"command", "url"} & value[key].keys():
                    hint = ': servers stand below "servers:", indented'
                raise FleetError(str(path), f'there is no field "{key}"{hint}', _shown((*place, str(key)), lines))


def _objects(data: JsonObject, fields: Sequence[str]) -> Iterator[tuple[Place, Mapping[Any, Any], Sequence[str]]]:
    """Every object of our own format with the fields that it may have."""
    yield (), data, fields
    for field, model in (("defaults", Defaults), ("workspace", WorkspaceSpec)):
        if isinstance(value := data.get(field), Mapping):
            yield (field,), value, tuple(model.model_fields)
    servers = data.get("servers")
    for name, spec in servers.items() if isinstance(servers, Mapping) else ():
        if isinstance(spec, Mapping):
            yield ("servers", str(name)), spec, tuple(ServerSpec.model_fields)
            if isinstance(auth := spec.get("auth"), Mapping):
                yield ("servers", str(name), "auth"), auth, tuple(AuthSpec.model_fields)
            rules = spec.get("rules")
            for index, rule in enumerate(rules if isinstance(rules, list) else ()):
                if isinstance(rule, Mapping):
                    yield ("servers", str(name), "rules", index), rule, tuple(RuleSpec.model_fields)


def _from_json(path: Path, text: str) -> JsonObject:
    plain = _JSONC_NOISE.sub(lambda found: found[1] or _BLANKED.sub(" ", found[0]), text)
    try:
        data = json.loads(plain)
    except json.JSONDecodeError as problem:
        raise FleetError(
            str(path), f"is not JSON: {problem.msg}", f"line {problem.lineno}, column {problem.colno}"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise FleetError(str(path), f"holds a value that cannot be read: {problem}") from None
    if not isinstance(data, dict):
        raise FleetError(str(path), f"is not a fleet file: {_EXPECTED}")
    return _foreign(path, data)


def _foreign(path: Path, data: JsonObject) -> JsonObject:
    """Another client's configuration in our shape; what we have no use for is passed over."""
    if isinstance(data.get("mcp"), dict) and not data.keys() & {"servers", "mcpServers"}:
        data = data["mcp"]
    found = next((data[key] for key in ("mcpServers", "servers") if key in data), None)
    servers = found if found is not None else {key: value for key, value in data.items() if _looks_like_server(value)}
    if not isinstance(servers, dict) or (found is None and not servers):
        raise FleetError(str(path), f"is not a fleet file: {_EXPECTED}")
    ours = ("version", "defaults", "local_tools", "dispatchers", "workspace") if found is not None else ()
    known: JsonObject = {key: data[key] for key in ours if key in data}
    specs = {name: _foreign_spec(spec) for name, spec in servers.items() if isinstance(spec, dict)}
    return {**known, "servers": specs, "inputs": _inputs(data.get("inputs"))}


def _foreign_spec(spec: JsonObject) -> JsonObject:
    known = {key: value for key, value in spec.items() if key in ServerSpec.model_fields and value is not None}
    url = next((spec[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(spec.get(key), str)), None)
    kind = spec.get("type") or spec.get("transportType")
    auth = known.pop("auth", None)
    if isinstance(auth, dict) and auth.get("type") == "oauth":
        known["auth"] = {key: value for key, value in auth.items() if key in AuthSpec.model_fields}
    known.pop("type", None)
    if url and (kind != "stdio" or not known.get("command")):
        remote = {key: value for key, value in known.items() if key not in {"command", "args"}}
        return {**remote, "url": url, "type": "sse" if kind == "sse" else None}
    return {key: value for key, value in known.items() if key not in {"url", "auth"}}


def _looks_like_server(value: Any) -> bool:
    return isinstance(value, dict) and bool(_SERVER_HINTS & value.keys())


def _inputs(value: Any) -> dict[str, str | None]:
    entries = value if isinstance(value, list) else []
    return {
        str(entry["id"]): entry["default"] if isinstance(entry.get("default"), str) else None
        for entry in entries
        if isinstance(entry, dict) and "id" in entry
    }


def _shown(place: Place, lines: Mapping[Place, int]) -> str:
    """`line 7: servers.excel.comand`; the nearest enclosing line where the place itself is absent."""
    known = next((place[:end] for end in range(len(place), 0, -1) if place[:end] in lines), None)
    prefix = f"line {lines[known]}: " if known else ""
    return prefix + _dotted(place)


def _dotted(place: Place) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def _mark_of(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _yaml_problem(problem: yaml.YAMLError) -> str:
    return f"is not YAML: {getattr(problem, 'problem', None) or str(problem).splitlines()[0]}"
