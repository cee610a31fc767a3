"""Scripts that print figures. Run one as `python -m benchmarks.<name>`; none is part of the test run."""
