"""`vitals demo`: the real connector beside a simulated Oura on loopback, and an app that signs in and asks."""

from app.demo.running import run_demo

__all__ = ["run_demo"]
