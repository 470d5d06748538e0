"""What a Redis does with records when it is restarted, and when its memory runs short: from its own words to findings.

Pure. Managed Redis often forbids CONFIG, so each answer may be missing; then INFO says part of it.

Source: redis.io, "Redis persistence" and "Key eviction"; INFO sections `persistence`, `memory`, `replication`.
"""

from collections.abc import Mapping

from app.store.findings import Finding

LOST = "every sign-in and every app's access"
ADVICE = "Set appendonly yes and appendfsync always."


def findings(config: Mapping[str, str] | None, info: Mapping[str, object] | None) -> list[Finding]:
    """Say what is good and what is not.

    Args:
        config: `save`, `appendonly`, `appendfsync`, `maxmemory-policy` as CONFIG GET gives them; None: not allowed.
        info: The sections named above; None: not allowed.
    """
    return [_persistence(config, info), _eviction(config, info), *_role(info)]


def _persistence(config: Mapping[str, str] | None, info: Mapping[str, object] | None) -> Finding:
    log = _log_is_on(config, info)
    if log:
        often = (config or {}).get("appendfsync", "")
        if often in {"", "always"}:
            return Finding("good", "Redis writes its log to the disk (appendonly).")
        return Finding(
            "unknown",
            f"Redis writes its log to the disk, but not at once (appendfsync {often}): a power cut can cost the newest "
            "credential, and then the owner signs in again. appendfsync always is safer.",
        )
    if log is None or config is None:
        return Finding(
            "unknown",
            f"Redis does not say whether it keeps what it holds over a restart. If it does not, that costs {LOST}. "
            "Ask whoever runs it.",
        )
    if not config.get("save", "").strip():
        return Finding(
            "warning",
            f"Redis keeps nothing over a restart (neither appendonly nor save): a restart costs {LOST}. {ADVICE}",
        )
    return Finding(
        "warning",
        f"Redis only writes snapshots (save, without appendonly): a crash costs what came after the last one, which "
        f"can be the owner's sign-in. {ADVICE}",
    )


def _log_is_on(config: Mapping[str, str] | None, info: Mapping[str, object] | None) -> bool | None:
    if config is not None and "appendonly" in config:
        return config["appendonly"] == "yes"
    if info is not None and "aof_enabled" in info:
        return str(info["aof_enabled"]) == "1"
    return None


def _eviction(config: Mapping[str, str] | None, info: Mapping[str, object] | None) -> Finding:
    policy = str((config or {}).get("maxmemory-policy") or (info or {}).get("maxmemory_policy") or "")
    if policy.startswith("allkeys"):
        return Finding(
            "warning",
            f"Redis throws out any record when its memory runs short (maxmemory-policy {policy}), the owner's sign-in "
            "too. Set maxmemory-policy noeviction.",
        )
    if policy.startswith("volatile"):
        return Finding(
            "warning",
            f"Redis throws out records when its memory runs short (maxmemory-policy {policy}): apps then lose their "
            "access before its time. Set maxmemory-policy noeviction.",
        )
    if policy:
        return Finding("good", f"Redis throws nothing out when its memory runs short ({policy}).")
    return Finding("unknown", "Redis does not say what it throws out when its memory runs short (maxmemory-policy).")


def _role(info: Mapping[str, object] | None) -> list[Finding]:
    if info is not None and info.get("role") == "slave":
        return [Finding("bad", "REDIS_URL leads to a replica, which takes no writes. Name the primary.")]
    return []
