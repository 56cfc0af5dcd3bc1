"""Settings of all tests."""

import hypothesis

# The same examples in every run, and no limit of time for one: a busy machine is not a failure.
hypothesis.settings.register_profile("steady", derandomize=True, deadline=None)
hypothesis.settings.load_profile("steady")
