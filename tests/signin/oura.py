"""A stand-in for Oura's sign-in that behaves: codes are single-use, tokens belong to an account, revoking is seen."""

from dataclasses import dataclass, field
from urllib.parse import parse_qs

import httpx2

AUTHORIZE = "https://oura.test/oauth/authorize"
TOKEN_URLS = ("https://oura.test/oauth/token", "https://new.oura.test/oauth-token")
REVOKE_URLS = ("https://oura.test/oauth/revoke", "https://new.oura.test/oauth-revoke")
API = "https://oura.test"
OWNER = {"id": "oura-owner", "email": "Owner@Example.com "}
STRANGER = {"id": "oura-stranger", "email": "stranger@example.com"}
SECRET_MARKS = ("access-", "refresh-")  # every token this Oura gives starts with one of them


@dataclass
class Oura:
    """Oura, as far as a sign-in meets it."""

    refuses_exchange: tuple[int, dict[str, str]] | None = None
    gives_refresh_token: bool = True
    token_scope: str | None = "extapi:personal extapi:email extapi:daily extapi:heartrate"
    account_status: int = 200
    revokes: bool = True
    accounts: dict[str, dict[str, str]] = field(default_factory=dict)  # code → account, until it is spent
    tokens: dict[str, dict[str, str]] = field(default_factory=dict)  # access token → account
    exchanges: list[str] = field(default_factory=list)  # codes seen at a token endpoint
    revoked: list[str] = field(default_factory=list)
    legacy_refuses: bool = False  # the older token endpoint does not know the application
    asked_at: list[str] = field(default_factory=list)  # token endpoints, in order

    def code_for(self, account: dict[str, str]) -> str:
        """Sign somebody in: the code the browser will carry back."""
        code = f"code-{len(self.exchanges)}-{len(self.accounts)}"
        self.accounts[code] = account
        return code

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url.copy_with(query=None))
        if url in TOKEN_URLS:
            self.asked_at.append(url)
            if self.legacy_refuses and url == TOKEN_URLS[0]:
                return httpx2.Response(401, json={"error": "invalid_client"})
            return self._token(parse_qs(request.content.decode()))
        if url in REVOKE_URLS:
            return self._revoke(request)
        if request.url.path == "/v2/usercollection/personal_info":
            return self._personal(request.headers["authorization"].removeprefix("Bearer "))
        return httpx2.Response(404)

    def _token(self, form: dict[str, list[str]]) -> httpx2.Response:
        code = form["code"][0]
        self.exchanges.append(code)
        if self.refuses_exchange is not None:
            status, body = self.refuses_exchange
            return httpx2.Response(status, json=body)
        account = self.accounts.pop(code, None)
        if account is None:
            return httpx2.Response(400, json={"error": "invalid_grant"})
        number = len(self.tokens)
        self.tokens[f"access-{number}"] = account
        answer = {"token_type": "bearer", "access_token": f"access-{number}", "expires_in": 86400}
        if self.gives_refresh_token:
            answer["refresh_token"] = f"refresh-{number}"
        if self.token_scope is not None:
            answer["scope"] = self.token_scope
        return httpx2.Response(200, json=answer)

    def _revoke(self, request: httpx2.Request) -> httpx2.Response:
        if not self.revokes:
            return httpx2.Response(503)
        named = {**dict(request.url.params), **{k: v[0] for k, v in parse_qs(request.content.decode()).items()}}
        self.revoked += [value for key, value in named.items() if key in {"access_token", "token"}]
        return httpx2.Response(200)

    def _personal(self, token: str) -> httpx2.Response:
        if self.account_status != 200:
            return httpx2.Response(self.account_status, json={"detail": "no"})
        return httpx2.Response(200, json=self.tokens[token])
