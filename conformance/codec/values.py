"""Bytes as a codec file writes them: hex, or short for long runs, so that a limit fits on a line."""

from __future__ import annotations

from conformance.strict_yaml import Value


def expanded(value: Value) -> Value:
    """The value with every `{repeat, times}` and `{join}` in it, at any depth, written out as the hex it stands for."""
    if isinstance(value, list):
        return [expanded(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"repeat", "times"}:
        return str(value["repeat"]) * int(str(value["times"]))
    if value.keys() == {"join"} and isinstance(value["join"], list):
        return "".join(str(expanded(each)) for each in value["join"])
    return {name: expanded(each) for name, each in value.items()}


def each_prefix(params: Value, path: str) -> list[tuple[Value, int]]:
    """The params with the bytes at that path, such as `messages.1.read`, cut at each length, and that length."""
    name, _, rest = path.partition(".")
    if isinstance(params, dict):
        found = _cut(params[name], rest)
        return [({**params, name: inner}, size) for inner, size in found]
    if isinstance(params, list):
        place = int(name)
        found = _cut(params[place], rest)
        return [([*params[:place], inner, *params[place + 1 :]], size) for inner, size in found]
    raise ValueError(f"there are no bytes at {path}")


def _cut(value: Value, rest: str) -> list[tuple[Value, int]]:
    if rest:
        return each_prefix(value, rest)
    return [(prefix, len(prefix) // 2) for prefix in prefixes(str(value))]


def prefixes(text: str) -> list[str]:
    """The hex text cut after 0 bytes, after 1, and so on up to one byte less than the whole."""
    return [text[:end] for end in range(0, len(text), 2)]
