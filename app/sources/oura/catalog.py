"""All of Oura's collections, with what is needed to ask for them and to read them right.

Source: Oura API v2 OpenAPI document 1.37, and measurements by users where it is wrong or silent (scopes, day rules,
window limits, order).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from app.sources.base import Collection
from app.sources.oura.catalog_days import DAYS
from app.sources.oura.catalog_events import EVENTS
from app.sources.oura.catalog_heart import HEART
from app.sources.oura.catalog_nights import NIGHTS
from app.sources.oura.catalog_profile import PROFILE

COLLECTIONS: Final[Mapping[str, Collection]] = MappingProxyType(
    {collection.name: collection for collection in (*NIGHTS, *DAYS, *HEART, *EVENTS, *PROFILE)}
)
SCOPES: Final = frozenset(
    {collection.scope for collection in COLLECTIONS.values() if collection.scope is not None} | {"email"}
)
