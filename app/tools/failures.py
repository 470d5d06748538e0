"""What a failure says to the model: one table from exception class to text, and nowhere else.

The texts of our own errors are written for whoever asked and carry no secret and no reading (`app.errors`). Any other
exception may carry both, so it is answered with one fixed sentence and a reference under which the log names the place.
"""

import re
import secrets
from collections.abc import Callable

from app import logs
from app.errors import (
    BadRequest,
    CallerError,
    MembershipRequired,
    NotPermitted,
    ReconnectRequired,
    SealBroken,
    SourceBusy,
    SourceChanged,
    SourceError,
    SourceUnreachable,
    StoreUnavailable,
    TokenRefused,
    VitalsError,
)
from app.identity import READ_SCOPE
from app.vault.outcomes import RefreshMisconfigured

log = logs.get(__name__)

# Two waits in one answer would contradict each other.
_SAYS_WHEN = re.compile(r"\bagain (?:in|later)\b|attempt is possible in", re.IGNORECASE)

# The first entry that fits decides, so subclasses stand before their base.
_TEXTS: tuple[tuple[type[VitalsError], Callable[[VitalsError], str]], ...] = (
    (BadRequest, lambda e: f"Not answered: {e}"),
    (
        NotPermitted,
        lambda e: f"Not permitted (not_permitted): {e} This is not missing data; do not read it as none recorded.",
    ),
    (ReconnectRequired, lambda e: f"Sign-in needed: {e} No data was read, and none is kept from before."),
    (MembershipRequired, lambda e: f"Refused by the source (no_membership): {e} {_or_scope(e)}"),
    (CallerError, lambda e: f"Not answered: {e}"),
    (TokenRefused, lambda _: "The source refused the owner's sign-in even after renewing it. Try again in a minute."),
    (SourceBusy, lambda e: f"The source is busy: {e}{_wait(e)} This is not missing data."),
    (SourceUnreachable, lambda e: f"The source could not be reached: {e}{_wait(e)} No data was read."),
    (RefreshMisconfigured, lambda e: f"{e} Whoever runs this connector has to mend that; no data was read."),
    (SourceChanged, lambda e: f"The source gave an answer that could not be read: {e} No data was taken from it."),
    (SourceError, lambda e: f"The source failed: {e}{_wait(e)} No data was read."),
    (StoreUnavailable, lambda e: f"This connector could not use its own store, so nothing was read. {_public(e)}"),
    (SealBroken, lambda e: f"{_public(e)} No data was read."),
    (VitalsError, lambda e: f"Not answered: {e}"),
)


def explain(failure: Exception, *, tool: str, page: str) -> str:
    """Return the text for a failed call, and log what may be logged about it.

    Args:
        failure: What was raised.
        tool: By which tool.
        page: Where the owner signs in at the source; named where that is the way out.
    """
    if isinstance(failure, VitalsError):
        log.info("tool_refused", tool=tool, error=type(failure).__name__)
        said = next(text for kind, text in _TEXTS if isinstance(failure, kind))(failure)
        return f"{said} The owner signs in at {page}." if _needs_owner(failure) and page not in said else said
    reference = secrets.token_hex(4)
    # Its kind and place only: the text of an exception can be a reading.
    log.error("tool_failed", tool=tool, error=logs.kind(failure), where=logs.place(failure), reference=reference)
    return (
        f"This connector failed in a way it did not expect (reference {reference}); nothing was changed. "
        "Try once more. If it fails again, give the reference to the person who runs it."
    )


def _wait(failure: VitalsError) -> str:
    if _SAYS_WHEN.search(str(failure)):
        return ""
    seconds = failure.retry_after_s if isinstance(failure, SourceBusy) else None
    return f" Try again in {seconds:.0f} s." if seconds else " Try again in a minute."


def _public(failure: VitalsError) -> str:
    return failure.public if isinstance(failure, StoreUnavailable | SealBroken) else ""


def _or_scope(failure: VitalsError) -> str:
    scope = failure.scope if isinstance(failure, MembershipRequired) else None
    if scope is None:
        return "Signing in again does not change this."
    return f"If it is active, the scope `{scope}` may be missing: then the owner signs in again with it ticked."


def _needs_owner(failure: VitalsError) -> bool:
    """Say whether a sign-in at the source is the way out; a missing scope of our own is the app's to ask for."""
    if isinstance(failure, NotPermitted | MembershipRequired):
        return failure.scope not in (None, READ_SCOPE)
    return isinstance(failure, ReconnectRequired)
