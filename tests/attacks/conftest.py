"""What attacks are tried on."""

from tests.app_under_test import vitals

__all__ = ["vitals"]
