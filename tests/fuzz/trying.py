"""How often each claim is tried: a fixed number of examples, always the same ones, more of them on demand."""

import os

from hypothesis import HealthCheck, Phase, settings

TIMES = int(os.environ.get("VITALS_FUZZ_TIMES", "1"))


def examples(count: int, *, steps: int = 50) -> settings:
    """Settings for `count` examples; `steps` is for state machines."""
    return settings(
        max_examples=count * TIMES,
        derandomize=True,  # CI tries the same every time; a new finding is a change of ours
        database=None,
        deadline=None,  # `asking.DEADLINE_S` bounds each request
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        # One connector serves all examples of a test: that it goes on answering is part of the claim.
        suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large),
        stateful_step_count=steps,
    )
