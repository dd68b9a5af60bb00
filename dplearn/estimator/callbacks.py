"""Tell callbacks of scikit-learn how far a fit is, and nothing else.

scikit-learn 1.9 lets a fit hand its callbacks the data, the labels and the estimator as fitted so far: a
monitor scores it on them. None of that is handed over here. What a callback hears is that a piece of work has
begun or ended, and the estimator's parameters; what it answers stops nothing, for it may answer by the clock.
"""

from collections.abc import Callable
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    CallbackSupportMixin, CALLBACKS = object, False

    def with_callbacks(method: Any) -> Any:
        """Return the method: there is nothing to set up or tear down."""
        return method


__all__ = ["CALLBACKS", "TellsProgress"]

Outcome = TypeVar("Outcome")


class TellsProgress(CallbackSupportMixin):
    """Base of estimators whose fit has one long step that consists of many pieces of work.

    From scikit-learn 1.9 on it has `set_callbacks`.
    """

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def _telling(self, work: Callable[[Callable[[], None]], Outcome], *, task: str, count: int) -> Outcome:
        """Return what comes of work that is given a function, to call once a piece is done.

        Parameters
        ----------
        work : callable
            The long step.
        task : str
            What a piece of work is called.
        count : int
            Public. How many there are.
        """
        if not CALLBACKS:
            return work(_nobody)
        root = self._init_callback_context(max_subtasks=count).call_on_fit_task_begin(estimator=self)

        def tell() -> None:
            piece = root.subcontext(task_name=task)
            piece.call_on_fit_task_begin(estimator=self).call_on_fit_task_end(estimator=self)

        outcome = work(tell)
        root.call_on_fit_task_end(estimator=self)
        return outcome


def _nobody() -> None:
    """Tell nobody."""
