"""Reads every setting out of the environment, or refuses the start in one line that says what to set."""

from collections.abc import Mapping

from pydantic import ValidationError

from app.errors import SettingsError
from app.settings.environment import gather
from app.settings.model import Missing, Settings

# Shown back when malformed: what a person mistypes. Never one that may hold a secret or an address.
_ECHOED = frozenset(
    {"port", "timezone", "answer_max_chars", "log_level", "log_format", "oura_sandbox", "chatgpt_tools"}
)
_DESCRIBED = frozenset({"oura_client_id", "oura_client_secret", "secret_key"})  # their example is a description
# pydantic's own errors that a setting can meet; anything else "is malformed".
_IN_WORDS = {
    "int_parsing": "is not a whole number",
    "bool_parsing": "is neither 1 nor 0",
    "too_short": "is empty",
    "greater_than_equal": "is too small",
    "less_than_equal": "is too large",
}
NAMES = tuple(name.upper() for name in Settings.model_fields)
# What other projects call Oura's personal access tokens, which Oura has ended.
_PERSONAL_TOKENS = (
    "OURA_PERSONAL_ACCESS_TOKEN", "OURA_ACCESS_TOKEN", "OURA_API_TOKEN", "OURA_API_KEY", "OURA_TOKEN", "OURA_PAT",
)  # fmt: skip


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read every setting out of `environ`.

    Raises:
        SettingsError: One line that says what to set, with an example; never a secret.
    """
    for name in (f"{name}{end}" for name in _PERSONAL_TOKENS for end in ("", "_FILE")):
        if environ.get(name, "").strip():
            raise SettingsError(
                f"{name} is set, but Oura has ended personal access tokens. Unset it, and register an application: "
                "OURA_CLIENT_ID and OURA_CLIENT_SECRET, from developer.ouraring.com/applications."
            )
    values = gather(environ, NAMES)
    for name in ("LOG_LEVEL", "LOG_FORMAT"):
        if name in values:
            values[name] = values[name].lower()
    try:
        return Settings.model_validate({name.lower(): value for name, value in values.items()})
    except ValidationError as exc:
        line = _one_line(exc, environ)
    raise SettingsError(line)  # outside the handler: the traceback of the other one must not travel along


def _one_line(exc: ValidationError, environ: Mapping[str, str]) -> str:
    errors = exc.errors(include_url=False, include_input=False)
    first, more = errors[0], len(errors) - 1
    cause = first.get("ctx", {}).get("error")
    field, why = (cause.field, cause.why) if isinstance(cause, Missing) else (str(first["loc"][0]), "")
    if not why:
        why = str(cause) if isinstance(cause, ValueError) else _IN_WORDS.get(first["type"], "is malformed")
        if first["type"] == "literal_error":
            why = f"is not one of {first['ctx']['expected']}"
    name = field.upper()
    shown = f" ({environ[name][:40]!r})" if field in _ECHOED and environ.get(name) else ""
    example = (Settings.model_fields[field].examples or [""])[0]
    value = f"set it to {example}" if field in _DESCRIBED else f"for example {name}={example}"
    also = f" ({more} more to mend after this one.)" if more else ""
    return f"{name}{shown} {why}; {value}.{also}"
