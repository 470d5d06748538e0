"""PKCE as it is served here: S256 and nothing else, required of every app.

Source: RFC 7636; OAuth 2.1 section 4.1.1; RFC 9700 section 2.1.1.
"""

import re
from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError
from authlib.oauth2.rfc7636 import CodeChallenge

_CHALLENGE = re.compile(r"[A-Za-z0-9\-_]{43}")  # BASE64URL(SHA-256) is 43 characters, no more and no fewer
_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


class Pkce(CodeChallenge):  # type: ignore[misc]  # Authlib ships no types
    """PKCE, without what Authlib lets pass: no challenge at all, and `plain`, also by leaving the method out."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)
    CODE_CHALLENGE_METHODS = {"S256": CodeChallenge.CODE_CHALLENGE_METHODS["S256"]}  # noqa: RUF012 - Authlib's own shape

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        """Require a challenge made with S256."""
        asked = grant.request.payload.data
        if asked.get("code_challenge_method") != "S256":
            raise InvalidRequestError("PKCE is required: send code_challenge_method=S256.")
        if not _CHALLENGE.fullmatch(asked.get("code_challenge", "")):
            raise InvalidRequestError("PKCE is required: send a code_challenge of 43 base64url characters.")
        super().validate_code_challenge(grant, redirect_uri)

    def validate_code_verifier(self, grant: Any, result: Any) -> None:
        """Require the verifier; Authlib compares, and its own texts do not say what to send."""
        verifier = grant.request.form.get("code_verifier")
        if not verifier:
            raise InvalidRequestError(
                "The parameter code_verifier is missing. Send the verifier that the code_challenge of the "
                "authorization request was made from."
            )
        if not _VERIFIER.fullmatch(verifier):
            raise InvalidRequestError(
                "The code_verifier must be 43 to 128 characters, each a letter, a digit or one of - . _ ~ (RFC 7636)."
            )
        try:
            super().validate_code_verifier(grant, result)
        except InvalidGrantError:
            raise InvalidGrantError(
                "The code_verifier is not the one that the code_challenge was made from. Send the verifier of this "
                "very authorization request, or start a new one."
            ) from None
