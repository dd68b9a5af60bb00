"""Progress reports of a fit to scikit-learn's callbacks, without the data.

In scikit-learn 1.9 a fit can pass its callbacks the data, the labels and the partially fitted estimator, so
that a monitor can compute scores. Private estimators pass none of these: a callback is called at the begin
and at the end of each task, with the estimator's parameters. A callback's return value cannot stop the fit,
since it may depend on the time.
"""

from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    CallbackSupportMixin, CALLBACKS = object, False

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged: before scikit-learn 1.9 there are no callbacks."""
        return method


__all__ = ["CALLBACKS", "TellsProgress"]

Outcome = TypeVar("Outcome")


class TellsProgress(CallbackSupportMixin):
    """Base of estimators whose fit has one long step that consists of many tasks.

    With scikit-learn 1.9 or later it has `set_callbacks`.
    """

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def _telling(self, work: Callable[[Callable[[], None]], Outcome], *, task: str, count: int) -> Outcome:
        """Run the long step, and report each finished task to the callbacks.

        Parameters
        ----------
        work : callable
            The long step. It takes a function without arguments, and calls it once for each finished task.
        task : str
            The name of a task.
        count : int
            Public. The number of tasks.

        Returns
        -------
        object
            The result of `work`.
        """
        if not CALLBACKS:
            return work(_no_report)
        root = self._init_callback_context(max_subtasks=count).call_on_fit_task_begin(estimator=self)

        def report() -> None:
            finished = root.subcontext(task_name=task)
            finished.call_on_fit_task_begin(estimator=self).call_on_fit_task_end(estimator=self)

        outcome = work(report)
        root.call_on_fit_task_end(estimator=self)
        return outcome


def _no_report() -> None:
    """Report nothing."""
