"""Reading a fleet file: our own YAML, strictly; the JSON of other MCP clients, liberally."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError

from replay.errors import FleetError
from replay.interpreter.fleet import Defaults, Fleet, ServerSpec, WorkspaceSpec
from replay.records import JsonObject, RuleSpec
from replay.suggestions import nearest_name

_JSONC_NOISE: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_BLANKED: Final = re.compile(r"[^\n]")
_SERVER_HINTS: Final = frozenset({"command", "url", "serverUrl", "httpUrl"})
_EXPECTED: Final = 'expected "servers" (replay, VS Code, M3-Bench) or "mcpServers" (Claude Desktop)'
_TYPED_FIELDS: Final = frozenset({"version", "call_timeout", "startup_timeout", "max_restarts", "disabled"})
_NOT_IN_FILES: Final = frozenset({"inputs", "path"})

Place = tuple[str | int, ...]


def read_fleet(path: Path) -> Fleet:
    """Read a fleet file of any known shape.

    Raises:
        FleetError: the file is missing, broken, or has a mistake in it.
    """
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise FleetError(str(path), "no such file; name the fleet file with --servers FILE") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise FleetError(str(path), f"cannot be read: {problem}") from None
    if text.lstrip().startswith(("{", "/")) and path.suffix not in {".yaml", ".yml"}:
        return _validated(path, _from_json(path, text), {})
    return _from_yaml(path, text)


def _from_yaml(path: Path, text: str) -> Fleet:
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        lines = _lines_of(path, root)
        data = _built(loader, root, "")
    except yaml.YAMLError as problem:
        raise FleetError(str(path), _yaml_problem(problem), _mark_of(problem)) from None
    except RecursionError:
        raise FleetError(str(path), "is no fleet file: an anchor contains itself") from None
    if not isinstance(data, dict):
        raise FleetError(str(path), f"is no fleet file: {_EXPECTED}")
    if "servers" not in data and ("mcpServers" in data or "mcp" in data):
        return _validated(path, _foreign(path, data), lines)
    _reject_unknown_keys(path, data, lines)
    return _validated(path, {key: value for key, value in data.items() if value is not None}, lines)


def _built(loader: yaml.SafeLoader, node: yaml.Node | None, field: str) -> Any:
    """A node's value. Text stays as it is written: a server may be called `off`, and a version is no number."""
    if isinstance(node, yaml.MappingNode):
        loader.flatten_mapping(node)
        return {str(key.value): _built(loader, value, str(key.value)) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_built(loader, item, field) for item in node.value]
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
        return None
    return loader.construct_object(node) if field in _TYPED_FIELDS else node.value


def _validated(path: Path, data: JsonObject, lines: Mapping[Place, int]) -> Fleet:
    try:
        return Fleet.model_validate({**data, "path": path})
    except ValidationError as problem:
        first = problem.errors()[0]
        place = tuple(first["loc"])
        if first["type"] in {"extra_forbidden", "literal_error"} and place == ("version",):
            raise FleetError(str(path), "only version 1 is known to this replay", _shown(place, lines)) from None
        message = first["msg"].removeprefix("Value error, ")
        raise FleetError(str(path), message[0].lower() + message[1:], _shown(place, lines)) from None


def _lines_of(path: Path, root: yaml.Node | None) -> dict[Place, int]:
    """The line (from 1) of every key and list item."""
    lines: dict[Place, int] = {}

    def walk(node: yaml.Node | None, place: Place) -> None:
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


def _reject_unknown_keys(path: Path, data: JsonObject, lines: Mapping[Place, int]) -> None:
    for place, value, model in _objects(data):
        known = [name for name in model.model_fields if name not in _NOT_IN_FILES]
        for key in value:
            if key not in known:
                nearest = nearest_name(str(key), known, min_score=60)
                hint = f'; did you mean "{nearest}"?' if nearest else f"; it takes {', '.join(known)}"
                raise FleetError(str(path), f'there is no field "{key}"{hint}', _shown((*place, str(key)), lines))


def _objects(data: JsonObject) -> Iterator[tuple[Place, Mapping[Any, Any], type[BaseModel]]]:
    """Every object of our own format with the record it must fit."""
    yield (), data, Fleet
    for field, model in (("defaults", Defaults), ("workspace", WorkspaceSpec)):
        if isinstance(value := data.get(field), Mapping):
            yield (field,), value, model
    servers = data.get("servers")
    for name, spec in servers.items() if isinstance(servers, Mapping) else ():
        if isinstance(spec, Mapping):
            yield ("servers", str(name)), spec, ServerSpec
            rules = spec.get("rules")
            for index, rule in enumerate(rules if isinstance(rules, list) else ()):
                if isinstance(rule, Mapping):
                    yield ("servers", str(name), "rules", index), rule, RuleSpec


def _from_json(path: Path, text: str) -> JsonObject:
    plain = _JSONC_NOISE.sub(lambda found: found[1] or _BLANKED.sub(" ", found[0]), text)
    try:
        data = json.loads(plain)
    except json.JSONDecodeError as problem:
        raise FleetError(
            str(path), f"is no JSON: {problem.msg}", f"line {problem.lineno}, column {problem.colno}"
        ) from None
    if not isinstance(data, dict):
        raise FleetError(str(path), f"is no fleet file: {_EXPECTED}")
    return _foreign(path, data)


def _foreign(path: Path, data: JsonObject) -> JsonObject:
    """Another client's configuration in our shape; what we have no use for is passed over."""
    if isinstance(data.get("mcp"), dict) and not data.keys() & {"servers", "mcpServers"}:
        data = data["mcp"]
    found = next((data[key] for key in ("mcpServers", "servers") if key in data), None)
    servers = found if found is not None else {key: value for key, value in data.items() if _looks_like_server(value)}
    if not isinstance(servers, dict) or (found is None and not servers):
        raise FleetError(str(path), f"is no fleet file: {_EXPECTED}")
    ours = ("version", "defaults", "local_tools", "workspace") if found is not None else ()
    known: JsonObject = {key: data[key] for key in ours if key in data}
    specs = {name: _foreign_spec(spec) for name, spec in servers.items() if isinstance(spec, dict)}
    return {**known, "servers": specs, "inputs": _inputs(data.get("inputs"))}


def _foreign_spec(spec: JsonObject) -> JsonObject:
    known = {key: value for key, value in spec.items() if key in ServerSpec.model_fields and value is not None}
    url = next((spec[key] for key in ("url", "serverUrl", "httpUrl") if isinstance(spec.get(key), str)), None)
    kind = spec.get("type") or spec.get("transportType")
    if url and (kind != "stdio" or not known.get("command")):
        return {**{key: value for key, value in known.items() if key not in {"command", "args"}}, "url": url}
    return {key: value for key, value in known.items() if key != "url"}


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
    return f"is no YAML: {getattr(problem, 'problem', None) or str(problem).splitlines()[0]}"
