"""Strangers in numbers, as a trusted proxy tells them apart: requests come from loopback, which is believed."""

import httpx2

from tests.app_under_test import Vitals

STRANGER, OWNER = "198.51.100.9", "203.0.113.7"


def coming_from(vitals: Vitals, address: str) -> httpx2.AsyncClient:
    """A client behind the proxy."""
    http = vitals.http()
    http.headers["x-forwarded-for"] = address
    return http


def address(number: int) -> str:
    """One of many public addresses."""
    return f"11.{number >> 16}.{number >> 8 & 255}.{number & 255}"


async def records(vitals: Vitals, prefix: str = "") -> dict[str, bytes]:
    return {key: value async for key, value in vitals.parts.store.scan(prefix)}
