"""What tests of the shell share."""

from tests.app_under_test import vitals
from tests.log_reader import written

__all__ = ["vitals", "written"]
