"""`health_check`: whether the owner's sign-in works and what it covers. Facts about tokens, never a token."""

from collections.abc import Mapping

from app.sources.base import Source
from app.tools.arguments import Given
from app.tools.calling import Call, Definition
from app.tools.dates.zones import at, kept
from app.tools.rendering import Answer

# Named one by one: what a source adds later does not go out before someone looked at it.
_FACTS = (
    "credential",
    "state",
    "ended_why",
    "scopes_granted",
    "scopes_missing",
    "scopes_not_for_this_app",
    "access_token_age_s",
    "access_token_expires_in_s",
    "access_token_length",
    "last_renewed",
    "renewal_failed",
    "renewal_failed_at",
    "token_refused",
    "refused_403",
    "refused_403_at",
    "source_down",
)
_OF_A_LIVE_ONE = ("access_token_age_s", "access_token_expires_in_s", "access_token_length")

# What is stored, not what the source would say now: nothing is asked of it here.
_NOTHING = (
    "Nothing: the sign-in stands and covers everything. If a question is refused all the same, its text says why."
)
_BY_ZONE = "today is by {}: on a journey it may be another day where the owner is. health_today tells it."
_RENEWALS = {
    "misconfigured": "{name} refuses this server's own client id or secret: whoever runs it has to mend OURA_CLIENT_ID "
    "and OURA_CLIENT_SECRET. The sign-in is kept.",
    "not_sent": "{name} could not be reached to renew the sign-in, which is kept: ask again in a minute.",
}
_UNSURE = (
    "The last renewal of the sign-in at {name} came to no clear end; the next question makes one more attempt. If that "
    "is refused too, its text says so, and the owner signs in again at {page}."
)


async def run(call: Call, given: Given) -> Answer:  # noqa: ARG001  # takes no arguments
    """Answer one question."""
    sources: list[Answer] = []
    to_do: list[str] = []
    zone = call.service.timezone
    for source in call.service.sources:
        facts = await source.health(call.caller)
        zone = zone or kept(facts.get("timezone"))
        said: Answer = {"source": source.name}
        over = facts.get("state") == "ended"  # what it could still be used for would mislead
        told = [name for name in _FACTS if not (over and name in _OF_A_LIVE_ONE)]
        said |= {name: _plain(facts[name]) for name in told if facts.get(name) is not None}
        if locked := _locked(source, facts):
            said["scopes_missing_unlock"] = locked
        sources.append(said)
        to_do += _advice(source, facts, locked, call.service.public_url)
    place = at(call, zone)
    answer: Answer = {"server": f"vitals {call.service.version}", "timezone": place.zone.key}
    answer |= {"today": place.today.isoformat(), "sources": sources}
    if any(source.synthetic for source in call.service.sources):
        answer["synthetic"] = True
    answer["what_to_do"] = to_do or [_NOTHING]
    answer["notes"] = [*place.notes, _BY_ZONE.format(place.zone.key)]
    return answer


def _locked(source: Source, facts: Mapping[str, object]) -> dict[str, list[str]]:
    """Return, for each scope the owner did not give, the collections it would unlock."""
    missing = facts.get("scopes_missing")
    if not isinstance(missing, list | tuple | set | frozenset):
        return {}
    granted = facts.get("scopes_granted")
    held = frozenset(granted) if isinstance(granted, list | tuple | set | frozenset) else frozenset()
    return {
        str(scope): [
            collection.qualified
            for collection in source.collections.values()
            if scope in {collection.scope, *collection.also_scopes} and not collection.granted_by(held)
        ]
        for scope in sorted(missing, key=str)
    }


def _advice(source: Source, facts: Mapping[str, object], locked: Mapping[str, list[str]], public_url: str) -> list[str]:
    page = f"{public_url}/connections"
    if source.synthetic:
        return ["Everything here is sample data, not the owner's. Unset OURA_SANDBOX on the server to use real data."]
    if facts.get("state") != "live":
        return [f"No working sign-in at {source.name}: the owner opens {page} and signs in again."]
    to_do = _troubles(source, facts, page)
    if locked:
        to_do.append(
            f"Not granted at {source.name}: {', '.join(locked)}. To allow them the owner signs in again at {page} with "
            "these ticked. Asking again without that changes nothing."
        )
    if kept_back := facts.get("scopes_not_for_this_app"):
        to_do.append(
            f"The owner did not tick {_listed(kept_back)} at {source.name} when approving this app. To change that "
            "they connect this app again with these ticked."
        )
    if facts.get("scopes_granted") is None:
        to_do.append(f"{source.name} did not say which scopes it granted; a question that lacks one will name it.")
    return to_do


def _troubles(source: Source, facts: Mapping[str, object], page: str) -> list[str]:
    """Say what is wrong although the sign-in stands."""
    name, found = source.name.capitalize(), []
    if failed := facts.get("renewal_failed"):
        found.append(_RENEWALS.get(str(failed), _UNSURE).format(name=name, page=page))
    if facts.get("token_refused"):
        found.append(f"{name} refuses even a token it has just renewed: the owner signs in again at {page}.")
    if refused := facts.get("refused_403"):
        found.append(
            f"{name} last refused {_listed(refused)} with 403, as it does when the owner's membership has ended: let "
            "them check it in the source's app. Signing in again does not change this."
        )
    if down := facts.get("source_down"):
        found.append(f"{down}: nothing is wrong with the sign-in. Ask again in a minute.")
    return found


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list | tuple) else str(names)


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset | tuple | list):
        return sorted(str(item) for item in value)
    return round(value) if isinstance(value, float) else value


CHECK = Definition(
    name="health_check",
    title="Is the connection all right?",
    description=(
        "Say whether the owner's sign-in at the source works: kind, scopes granted and missing with what each would "
        "unlock, age and length of the token (never the token), and what to do. Use when an answer was refused."
    ),
    arguments=(),
    run=run,
)
