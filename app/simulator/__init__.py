"""A stand-in for Oura with its measured behaviours, for the demo and the tests. Imports nothing else of app."""

from app.simulator.faults import ConnectionCut, Faults
from app.simulator.filters import Rules
from app.simulator.grants import SCOPES
from app.simulator.oauth import App
from app.simulator.person import STRANGER, Person
from app.simulator.simulator import Simulator
from app.simulator.world import COLLECTIONS, Canary

__all__ = [
    "COLLECTIONS",
    "SCOPES",
    "STRANGER",
    "App",
    "Canary",
    "ConnectionCut",
    "Faults",
    "Person",
    "Rules",
    "Simulator",
]
