"""Settings of the tools that tests use."""

from hypothesis import HealthCheck, settings

# a shared machine's load says nothing about the code: nothing fails for being slow. The same examples each time, so
# that a change is judged by itself; the thorough profile (--hypothesis-profile=thorough) draws others each time
settings.register_profile("evenbench", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("thorough", settings.get_profile("evenbench"), max_examples=10_000, derandomize=False)
settings.load_profile("evenbench")
