"""Copies of the metadata documents of well-known apps, for when the real one cannot be fetched.

Claude's stand behind a network that refuses some data centres; without these copies an owner there could not connect at
all. A copy is used only when there is neither a fetched document nor an earlier one, so it can grow old without harm.

Source: the documents as published in autumn 2026; `tests/authserver/clients/test_cimd.py` holds them against
our own rules.
"""

from typing import Any
from urllib.parse import urlsplit

from app.authserver.redirects import stays_on_this_computer

PINNED: dict[str, dict[str, Any]] = {
    "https://claude.ai/oauth/mcp-oauth-client-metadata": {
        "client_name": "Claude",
        "redirect_uris": [
            "https://claude.ai/api/mcp/auth_callback",
            "https://claude.com/api/mcp/auth_callback",  # Anthropic asks servers to allow it as well
        ],
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
        "token_endpoint_auth_method": "none",
    },
    "https://claude.ai/oauth/claude-code-client-metadata": {
        "client_name": "Claude Code",
        "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    },
    "https://chatgpt.com/oauth/client.json": {
        "client_name": "ChatGPT",
        "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
    },
    "https://vscode.dev/oauth/client-metadata.json": {
        "client_name": "Visual Studio Code",
        "redirect_uris": ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    },
}


# Hosts of well-known apps that register instead: the consent page knows them, nothing is sent there by itself.
_MORE_HOSTS = ("www.cursor.com", "insiders.vscode.dev")
KNOWN_HOSTS = frozenset(
    {
        *_MORE_HOSTS,
        *(urlsplit(address).hostname or "" for address in PINNED),
        *(
            urlsplit(uri).hostname or ""
            for document in PINNED.values()
            for uri in document["redirect_uris"]
            if not stays_on_this_computer(uri)
        ),
    }
)


def answered_at_once(redirect_uri: str) -> bool:
    """Say whether an error may take a browser to a redirect URI by itself: to this computer or a well-known app.

    Any other one could have been registered by anybody, so that a link to us would lead to a page of theirs.
    """
    return stays_on_this_computer(redirect_uri) or is_well_known(redirect_uri)


def is_well_known(redirect_uri: str) -> bool:
    """Say whether a redirect URI belongs to one of these apps, whoever registered it."""
    return any(redirect_uri in document["redirect_uris"] for document in PINNED.values())
