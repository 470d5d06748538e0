"""What an owner, or the model that speaks to them, is told when there is no usable token."""

from app.errors import ReconnectRequired, SourceUnreachable, StoreUnavailable
from app.vault.connections import Connection
from app.vault.intents import Intent
from app.vault.outcomes import OutcomeUnknown, RefreshMisconfigured


class Words:
    """The messages of one source."""

    def __init__(self, source: str, reconnect_url: str) -> None:
        self._name = source.capitalize()
        self._sign_in = f"sign in again at {reconnect_url}"

    def absent(self) -> ReconnectRequired:
        """No sign-in, or the owner has left."""
        return ReconnectRequired(f"{self._name} is not connected. The owner must {self._sign_in}.")

    def ended(self, connection: Connection, *, first: bool) -> ReconnectRequired:
        """The connection has ended; the reason in words where it is new to the owner."""
        if connection.ended_why == "refused":
            return ReconnectRequired(
                f"{self._name} refused to renew the connection: it was withdrawn, or has lapsed. "
                f"The owner must {self._sign_in}."
            )
        if first:
            return ReconnectRequired(
                f"The renewal of the connection to {self._name} was interrupted after the old credential had been sent "
                f"and before the new one was stored, and {self._name} no longer accepts the old one. No data is lost. "
                f"The owner must {self._sign_in}."
            )
        return ReconnectRequired(f"The connection to {self._name} has ended. The owner must {self._sign_in}.")

    def unknown(self) -> OutcomeUnknown:
        """Sent, and no answer that can be read."""
        return OutcomeUnknown(
            f"{self._name} did not answer the renewal of the connection in a way that can be relied on. "
            "Ask again in a moment: then one more attempt shows whether the owner must sign in again."
        )

    def waiting(self, last: Intent, now: float) -> SourceUnreachable | RefreshMisconfigured:
        """An attempt failed a moment ago, and the next is not yet due."""
        wait = f"The next attempt is possible in {max(1, round(last.waits_s(now)))} s; nothing was sent now."
        if last.outcome == "misconfigured":
            return RefreshMisconfigured(
                f"{self._name} refuses this server's own credentials. Check the client id and secret in its settings. "
                f"The connection is kept. {wait}"
            )
        return SourceUnreachable(
            f"The connection to {self._name} could not be renewed (attempt {last.attempts}). It is kept. {wait}"
        )

    def turn_lost(self) -> StoreUnavailable:
        """This process stood still for so long that another may hold the lease."""
        return StoreUnavailable("This renewal took too long and was given up before anything was sent. Try again.")

    def stopping(self) -> SourceUnreachable:
        """No renewal is begun that the shutdown would have to wait for."""
        return SourceUnreachable("This process is shutting down, so nothing was sent. Try again in a moment.")

    def unsaved(self) -> StoreUnavailable:
        """Renewed, and the store is away."""
        return StoreUnavailable(
            f"The connection to {self._name} was renewed, but the store does not answer. It is kept in memory and "
            "stored with the next call. Keep this process running and bring the store back."
        )
