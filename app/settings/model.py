"""Every setting of the contract: its name, its default, its rule. How it is read, and refused, is in `reading`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.identity import SANDBOX_OWNER, normalise_email, owner_key
from app.settings import addresses
from app.settings.secret_key import weakness
from app.zones import find_zone


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _words(value: object) -> object:
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def _emails(values: tuple[str, ...]) -> tuple[str, ...]:
    for address in values:
        local, _, domain = address.partition("@")
        if not local or "." not in domain.strip(".") or "@" in domain or any(c.isspace() for c in address):
            raise ValueError("is not an address, or not addresses separated by commas")
    return tuple(normalise_email(address) for address in values)


def _secrets(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    for value in values:
        if why := weakness(value.get_secret_value()):
            raise ValueError(why if len(values) == 1 else f"holds a value that {why}")
    return values


def _zone(value: object) -> object:
    if not isinstance(value, str):
        return value
    name = find_zone(value)
    if name is None:
        raise ValueError("is not a zone this machine knows")
    return ZoneInfo(name)


def _own_origin(value: str) -> str:
    return addresses.public_origin(value) if value else ""  # filled in from the port when all is read


def _each_upstream(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(addresses.upstream(value) for value in values)


def _given(value: object) -> bool:
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


_OF_AN_OWNER = ("oura_owner_email", "oura_client_id", "oura_client_secret")  # the sample data has no owner
_ALL_SCOPES = "personal email daily heartrate workout session tag spo2 stress heart_health ring_configuration"
Listed = BeforeValidator(_listed)
Upstream = Annotated[str, AfterValidator(addresses.upstream)]
Upstreams = Annotated[tuple[str, ...], Listed, AfterValidator(_each_upstream), Field(min_length=1)]


class Settings(BaseSettings):
    """One attribute per setting, in lower case. The first example of each is shown when it is missing or malformed."""

    model_config = SettingsConfigDict(
        frozen=True,
        hide_input_in_errors=True,  # a bad secret is never echoed
        extra="forbid",
        arbitrary_types_allowed=True,
    )

    host: str = Field("127.0.0.1", examples=["127.0.0.1"])
    port: int = Field(8000, ge=1, le=65535, examples=["8000"])
    public_url: Annotated[str, AfterValidator(_own_origin)] = Field("", examples=["https://vitals.example.com"])

    oura_client_id: str = Field(
        "", examples=["the client id of your application at developer.ouraring.com/applications"]
    )
    oura_client_secret: SecretStr = Field(SecretStr(""), examples=["the client secret shown beside the client id"])
    oura_owner_email: Annotated[tuple[str, ...], Listed, AfterValidator(_emails)] = Field(
        (), examples=["you@example.com"]
    )
    oura_sandbox: bool = Field(default=False, examples=["1"])
    oura_api_url: Upstream = Field("https://api.ouraring.com", examples=["https://api.ouraring.com"])
    oura_authorize_url: Upstream = Field(
        "https://cloud.ouraring.com/oauth/authorize", examples=["https://cloud.ouraring.com/oauth/authorize"]
    )
    oura_token_urls: Upstreams = Field(
        ("https://api.ouraring.com/oauth/token", "https://moi.ouraring.com/oauth/v2/ext/oauth-token"),
        examples=["https://api.ouraring.com/oauth/token,https://moi.ouraring.com/oauth/v2/ext/oauth-token"],
    )
    oura_revoke_urls: Upstreams = Field(
        ("https://api.ouraring.com/oauth/revoke", "https://moi.ouraring.com/oauth/v2/ext/oauth-revoke"),
        examples=["https://api.ouraring.com/oauth/revoke,https://moi.ouraring.com/oauth/v2/ext/oauth-revoke"],
    )
    oura_scopes: Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)] = Field(
        tuple(_ALL_SCOPES.split()), examples=[_ALL_SCOPES]
    )

    secret_key: Annotated[tuple[SecretStr, ...], Listed, AfterValidator(_secrets)] = Field(
        (), examples=["what the command `vitals secret` prints"]
    )
    data_dir: Path = Field(Path("data"), examples=["./data"])
    redis_url: Annotated[SecretStr, AfterValidator(addresses.redis)] = Field(
        SecretStr(""), examples=["rediss://user:password@redis.example.com:6379/0"]
    )

    timezone: Annotated[ZoneInfo | None, BeforeValidator(_zone)] = Field(None, examples=["Europe/Berlin"])
    answer_max_chars: int = Field(100_000, ge=2_000, le=1_000_000, examples=["100000"])
    forwarded_allow_ips: Annotated[tuple[str, ...], Listed, AfterValidator(addresses.proxies)] = Field(
        ("127.0.0.1", "::1"), examples=["172.16.0.0/12"]
    )
    chatgpt_tools: bool = Field(default=False, examples=["1"])
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", examples=["info"])
    log_format: Literal["json", "text"] | None = Field(None, examples=["json"])

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 -- the signature is pydantic-settings'
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- likewise
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- likewise
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what `load_settings` gathered and nothing else: it is what knows `NAME_FILE`."""
        return (init_settings,)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if not self.public_url:
            object.__setattr__(self, "public_url", f"http://127.0.0.1:{self.port}")
        if not self.oura_sandbox:
            absent = [name for name in _OF_AN_OWNER if not _given(getattr(self, name))]
            if absent:
                others = ", ".join(name.upper() for name in absent[1:])
                raise Missing(absent[0], f"is not set, nor: {others}" if others else "is not set")
            if "email" not in {scope.removeprefix("extapi:") for scope in self.oura_scopes}:
                raise Missing("oura_scopes", "lacks `email`, without which nobody can prove to be the owner")
        if self.redis_url.get_secret_value() and not self.secret_key:
            raise Missing("secret_key", "is not set, and with REDIS_URL every machine must be given the same one")
        return self

    @property
    def owners(self) -> Mapping[str, str]:
        """Owner key → normalised address of everyone who may sign in; in sandbox mode the one sample owner."""
        if self.oura_sandbox:
            return {SANDBOX_OWNER: SANDBOX_OWNER}
        return {owner_key(address): address for address in self.oura_owner_email}

    @property
    def redirect_uri(self) -> str:
        """What must be registered at Oura, character by character."""
        return f"{self.public_url}/callback/oura/"

    @property
    def resource(self) -> str:
        """The MCP address as apps type it, and the audience of every token."""
        return f"{self.public_url}/mcp"


class Missing(ValueError):
    """A setting that is absent or wrong in the light of the others."""

    def __init__(self, field: str, why: str = "is not set") -> None:
        self.field = field
        self.why = why
        super().__init__(why)
