"""Every way a sign-in at the source can end without a connection: a page for the person, an error for the app.

One table, so that each has its own words and none says more than it should. Source of the error codes: RFC 6749
section 4.1.2.1.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from app.errors import CallerError

QUOTE_MAX_CHARS = 400


@dataclass(frozen=True, slots=True)
class Ending:
    """How one sign-in ended."""

    status: int
    title: str
    text: str
    todo: str
    error: Literal["access_denied", "server_error", "temporarily_unavailable"] = "access_denied"
    quote: str | None = None  # what the source said, cut to length; shown as text, never as markup
    facts: dict[str, str] = field(default_factory=dict)  # exact strings to compare, by name


class SignInRefused(CallerError):
    """The sign-in did not lead to a connection; nothing was stored."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending
        super().__init__(ending.title)


def quoted(*parts: str | None) -> str | None:
    """Cut what another server said to one bounded line."""
    line = " ".join(" ".join(part.split()) for part in parts if part)
    shown = "".join(char for char in line if char.isprintable())
    return (shown if len(shown) <= QUOTE_MAX_CHARS else shown[: QUOTE_MAX_CHARS - 1] + "…") or None


def cancelled() -> Ending:
    """The person pressed "no" at Oura."""
    return Ending(
        403,
        "You did not allow it at Oura",
        "Oura reports that access was not allowed, so nothing was connected and nothing was stored.",
        "If that was not what you meant, start again from your app.",
    )


def source_error(error: str, description: str | None) -> Ending:
    """Oura sent the browser back with an error of its own."""
    return Ending(
        502,
        "Oura reported an error",
        "Oura ended the sign-in with an error. Nothing was connected and nothing was stored.",
        "Start again from your app. If it stays: check OURA_CLIENT_ID and OURA_SCOPES, and that the Oura application "
        "is enabled.",
        "server_error",
        quoted(error, description),
    )


def no_code() -> Ending:
    """Oura sent neither a code nor an error."""
    return Ending(
        400,
        "Oura sent no code",
        "The address Oura sent you back to carries neither a code nor an error, so there is nothing to finish.",
        "Start again from your app.",
        "server_error",
    )


def code_over() -> Ending:
    """The code was good once, or is too old."""
    return Ending(
        400,
        "Oura's answer had expired, or was used before",
        "It is good once and for a short time, so nothing was connected and nothing was stored.",
        "Start again from your app.",
        "server_error",
    )


def exchange_failed(reason: str | None, redirect_uri: str) -> Ending:
    """No token endpoint took the code."""
    return Ending(
        502,
        "Oura did not accept this connector",
        "You signed in, but Oura refused to hand the connection over to this server. Nothing was stored.",
        "Whoever runs this connector: compare OURA_CLIENT_ID and OURA_CLIENT_SECRET with the Oura application, and see "
        "that the redirect URI below is registered there, character by character, with the slash at its end.",
        "server_error",
        quoted(reason),
        {"Redirect URI": redirect_uri},
    )


def unreachable(reason: str | None) -> Ending:
    """Oura could not be asked, or did not answer in a way we know."""
    return Ending(
        502,
        "Oura did not answer",
        "You signed in, but Oura could not be reached to finish it, so nothing was connected and nothing was stored.",
        "Wait a minute and start again from your app.",
        "temporarily_unavailable",
        quoted(reason),
    )


def not_stored(reason: str, *, passes: bool) -> Ending:
    """Our own store failed at the last step; `passes` if that can end by itself."""
    return Ending(
        503,
        "The connection could not be kept",
        "You signed in, but this server could not write the connection down.",
        "Start again from your app in a minute."
        if passes
        else "Whoever runs this connector mends that first. Then start again from your app.",
        "temporarily_unavailable",
        quoted(reason),
    )


def sealed(reason: str) -> Ending:
    """The sign-in from before is there and no key of ours opens it: it must not be written over unseen."""
    return Ending(
        503,
        "A sign-in from before is in the way",
        "You signed in, but this server holds an earlier sign-in of yours that it cannot open. It is left as it is, "
        "and the new one was not kept.",
        reason,
        "server_error",
    )


def no_refresh_token() -> Ending:
    """T8: a connection that would die with its first access token is none."""
    return Ending(
        502,
        "Oura gave no lasting connection",
        "Oura gave an access token but no refresh token, so the connection would end by itself within days. "
        "Nothing was stored.",
        "Whoever runs this connector: the Oura application must use the server-side (authorization code) flow. Then "
        "start again from your app.",
        "server_error",
    )


def no_email() -> Ending:
    """Without the address nobody can tell whether this is the owner."""
    return Ending(
        403,
        "Your email address is needed",
        "This connector opens for its owner alone, and knows the owner by the email address of the Oura account. Oura "
        "did not tell it, so nothing was stored.",
        "Start again from your app, and leave “email” ticked on Oura's page. Whoever runs this connector: “email” "
        "must also be ticked in the Oura application.",
    )


def stranger() -> Ending:
    """Somebody else's account."""
    return Ending(
        403,
        "This connector belongs to someone else",
        "The Oura account you signed in with is not the one this connector serves. Nothing about it was stored.",
        "If you have more than one Oura account, sign out at Oura first and start again. To ask about your own ring, "
        "run a connector of your own.",
    )


def other_account() -> Ending:
    """The right address, but not the Oura account it was first connected with."""
    return Ending(
        403,
        "Not the Oura account from before",
        "The email address is the right one, but it now belongs to another Oura account than the one this connector "
        "was first connected with. Nothing was stored, and the connection from before is unchanged.",
        "If you did get a new Oura account, disconnect the old one first: run `vitals disconnect`, then start again.",
    )


def given_back(ending: Ending, *, confirmed: bool) -> Ending:
    """Add what became of the access that Oura had given; if it may still stand, the person can end it themselves."""
    if confirmed:
        return replace(ending, text=f"{ending.text} Access was given back at Oura.")
    todo = (
        f"{ending.todo} One thing more: Oura did not confirm that access was given back. In the Oura app, under the "
        "connected applications, you can remove it yourself."
    )
    return replace(ending, todo=todo)
