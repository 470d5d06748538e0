"""What tests of the shell share."""

from tests.log_reader import written

__all__ = ["written"]
