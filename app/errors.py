"""Every error this project raises on purpose, in one tree.

VitalsError
├── SettingsError            the start is refused; one line says what to set
├── StoreUnavailable         the store did not answer: fail closed
├── SealBroken               a sealed record does not open under any key we hold
├── CallerError              whoever asked can do something about it; the text says what
│   ├── BadRequest           a malformed argument (date, field, collection, range)
│   ├── TooManyRequests      a stranger asked too often; says when to come back
│   ├── NotPermitted         the grant or Oura's scopes do not cover this; names the scope
│   ├── ReconnectRequired    the owner must sign in at the source again
│   └── MembershipRequired   the source says 403: no active membership
└── SourceError              the source failed; nothing the caller did
    ├── SourceBusy           429 or 5xx after bounded retries
    ├── SourceUnreachable    no usable connection, or it was cut
    ├── SourceChanged        an answer of an unknown shape
    └── TokenRefused         401 without a scope in the text (internal: leads to one refresh)

A module may refine one of these for its own callers (`vault.outcomes`, `sources.oura.oauth.ExchangeFailed`); whoever
catches by the names above misses nothing.

Messages say what happened, the value that matters, and what to do next. They never carry a token, a code, a secret, an
address with a query string, or a health reading.
"""

from typing import Literal

Outage = Literal["unreachable", "read_only", "full", "unusable"]
_OUTAGES: dict[Outage, str] = {
    "unreachable": "The store does not answer. Try again shortly.",
    "read_only": "The store takes no changes at this moment. Try again shortly.",
    "full": "The store is full, so nothing can be written down. Whoever runs this server has to make room.",
    "unusable": "The store cannot be used as it is. Whoever runs this server finds the reason in its log.",
}


class VitalsError(Exception):
    """Base of all errors raised here."""


class SettingsError(VitalsError):
    """A setting is missing or malformed; the start is refused."""


class StoreUnavailable(VitalsError):
    """The store could not be reached or does not take this, or a lease was not free in time.

    The text is for whoever runs this server: log, doctor, command line. Apps and pages get `public`.

    Args:
        message: What happened, and what to do.
        outage: `unreachable` and `read_only` pass by themselves; `full` and `unusable` wait for a person.
    """

    def __init__(self, message: str, *, outage: Outage = "unreachable") -> None:
        self.outage: Outage = outage
        super().__init__(message)

    @property
    def public(self) -> str:
        """What anybody may read: whether to try again, or whom to ask; nothing about what the store is or holds."""
        return _OUTAGES[self.outage]


class SealBroken(VitalsError):
    """A sealed record opens under none of the keys in `SECRET_KEY`. It is never written over and never erased for that.

    Args:
        message: What happened, and what to do; for the log, the doctor and the page of a sign-in.
        missing: Id of the key it was sealed under, where that key is not among ours; None: damaged, or not known.
    """

    def __init__(self, message: str, *, missing: str | None = None) -> None:
        self.missing = missing
        super().__init__(message)

    @property
    def public(self) -> str:
        """What anybody may read. The id tells nothing of the key."""
        why = (
            f"its key ({self.missing}) is not among the keys that this server has" if self.missing else "it is damaged"
        )
        return (
            f"The owner's sign-in is still stored, but cannot be opened: {why}. Nothing was erased. Whoever runs this "
            "server puts the former key back into SECRET_KEY; or ends it with the command vitals disconnect, and the "
            "owner signs in again."
        )


class CallerError(VitalsError):
    """The caller can act on this; the text says how."""


class BadRequest(CallerError):
    """An argument is malformed or contradicts another."""


class TooManyRequests(CallerError):
    """An address, or all together, asked too often for what costs something. Connected apps never meet it."""

    def __init__(self, why: str | None = None, *, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        self.wait = _in_words(retry_after_s)
        why = why or "Too many requests of this kind came from your network, or from everybody together."
        super().__init__(f"{why} Nothing was changed. Try again in {self.wait}.")


def _in_words(seconds: int) -> str:
    if seconds < 60:
        return "a second" if seconds == 1 else f"{seconds} seconds"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return "a minute" if minutes == 1 else f"{minutes} minutes"
    return f"{-(-minutes // 60)} hours"


class NotPermitted(CallerError):
    """A scope is missing. Not an expired token: signing in again without that scope changes nothing."""

    def __init__(self, message: str, *, scope: str | None = None) -> None:
        self.scope = scope
        super().__init__(message)


class ReconnectRequired(CallerError):
    """The owner must sign in at the source again."""


class MembershipRequired(CallerError):
    """The source refused with 403: usually an ended membership.

    `scope` is what may be missing instead, where the source never said which scopes it granted.
    """

    def __init__(self, message: str, *, scope: str | None = None) -> None:
        self.scope = scope
        super().__init__(message)


class SourceError(VitalsError):
    """The source failed in a way the caller did not cause."""


class SourceBusy(SourceError):
    """429 or 5xx, after what retries the rules allow."""

    def __init__(self, message: str, *, status: int, retry_after_s: float | None = None) -> None:
        self.status = status
        self.retry_after_s = retry_after_s
        super().__init__(message)


class SourceUnreachable(SourceError):
    """No connection, a deadline passed, or the answer was cut off."""


class SourceChanged(SourceError):
    """An answer that is not the documented one (HTML, another shape, an undocumented status)."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        super().__init__(message)


class TokenRefused(SourceError):
    """The source answered 401 and named no scope: the access token is no longer good."""
