"""From plain data to a frozen noun: pydantic's checks, and its first complaint as one line.

Owns the wording of a refusal; does not know which nouns there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from harness.faults import UsageError
from harness.spec.nearest import nearest, shown

BIGGEST_INT = 2**53  # canonical JSON refuses integers from here, so no digest could hold one

# pydantic's words where they are no English for someone who wrote a YAML file
_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_too_short": "text that is not empty",
    "too_short": "a list that is not empty",
    "missing": "this key",
}
_LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}

Model = TypeVar("Model", bound=BaseModel)
Scalar = int | float | bool | str


class StrictModel(BaseModel):
    """What every noun read from a file shares: frozen, strict types, no unknown key."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", validate_by_name=True, validate_by_alias=True
    )


def wanted(text: str, remedy: str | None = None) -> PydanticCustomError:
    """Return the error that a validator of ours raises; `text` says what would be right."""
    return PydanticCustomError("wanted", "{text}", {"text": text, "remedy": remedy})


def _from_list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _number_as_name(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else value


FromList = BeforeValidator(_from_list)  # YAML has lists, frozen nouns hold tuples
FromNumber = BeforeValidator(_number_as_name)  # `87` names a problem as "87" does


def _setting(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(_scalar(item) for item in value)
    return _scalar(value)


def _scalar(value: object) -> Scalar:
    if isinstance(value, float) and not math.isfinite(value):
        raise wanted("a finite number")
    if isinstance(value, int) and abs(value) >= BIGGEST_INT:
        raise wanted("a whole number below 2^53")
    if isinstance(value, bool | int | float | str):
        return value
    raise wanted("a number, text, true or false, or a list of those")


Setting = Annotated[Scalar | tuple[Scalar, ...], BeforeValidator(_setting)]


def read(model: type[Model], found: object, where: str) -> Model:
    """Return `found` as `model`, or raise a UsageError for its first fault, naming `where`."""
    try:
        return model.model_validate(found, by_alias=True, by_name=False)
    except ValidationError as error:
        raise _refusal(model, error.errors(include_url=False)[0], where) from None


def _refusal(model: type[BaseModel], fault: ErrorDetails, where: str) -> UsageError:
    path = fault["loc"]
    key = ".".join(str(part) for part in path) or None
    if fault["type"] == "extra_forbidden":
        remedy = nearest(str(path[-1]), keys_at(model, path[:-1]))
        return UsageError(where, key=key, found="an unknown key", remedy=remedy)
    found = "nothing" if fault["type"] == "missing" else shown(fault["input"])
    context = fault.get("ctx", {})
    if fault["type"] == "literal_error":
        valid = [text.strip("'") for text in context["expected"].replace(" or ", ", ").split(", ")]
        remedy = nearest(str(fault["input"]), valid)
        return UsageError(where, key=key, found=found, wanted=context["expected"], remedy=remedy)
    hint: str | None = context.get("remedy")
    return UsageError(where, key=key, found=found, wanted=_wanted(fault, context), remedy=hint)


def _wanted(fault: ErrorDetails, context: dict[str, Any]) -> str:
    for limit, words in _LIMITS.items():
        if limit in context:
            return f"{words} {context[limit]}"
    if fault["type"] in _WANTED:
        return _WANTED[fault["type"]]
    message = fault["msg"].removeprefix("Value error, ")
    return message.removeprefix("Input should be ")


def keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """Return the keys that a mapping at `path` below `model` may have, none if it is no noun."""
    at: type[BaseModel] | None = model
    for part in path:
        if at is None:
            return []
        field = next((found for key, found in _fields(at) if key == part), None)
        if field is not None:
            at = _nested(field.annotation)
    return [key for key, _ in _fields(at)] if at is not None else []


def _fields(model: type[BaseModel]) -> list[tuple[str, Any]]:
    pairs = model.model_fields.items()
    return [(str(field.validation_alias or name), field) for name, field in pairs]


def _nested(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_nested(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)
