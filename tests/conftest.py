"""Settings of the tools that tests use."""

from hypothesis import HealthCheck, settings

# a shared machine's load says nothing about the code: nothing fails for being slow
settings.register_profile("evenbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("evenbench"), max_examples=10_000)   # --hypothesis-profile=
settings.load_profile("evenbench")
