"""What all tests share: with several workers, each of them uses one thread for linear algebra."""

import os

import sklearn.linear_model  # noqa: F401 - which loads the libraries whose threads are limited
from threadpoolctl import threadpool_limits


def pytest_configure():
    # Threads of two workers on two cores wait for each other; a fit of milliseconds then takes seconds.
    if "PYTEST_XDIST_WORKER" in os.environ:
        threadpool_limits(1)
