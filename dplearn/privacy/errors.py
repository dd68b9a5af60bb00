"""What a ledger raises: errors that no search may swallow.

>>> issubclass(BudgetExceededError, LedgerError), issubclass(LedgerError, Exception)
(True, False)
"""

__all__ = ["BudgetExceededError", "LedgerError"]


class LedgerError(BaseException):
    """A ledger refuses, or cannot be read or written; nothing was charged, and nothing must be released.

    It derives from BaseException on purpose, as KeyboardInterrupt does: scikit-learn's searches turn every
    Exception of a fit into a score of NaN and go on, and a user whose budget is used up, or whose ledger
    cannot be reached, must hear of it. `except LedgerError` catches it; `except Exception` does not.
    """


class BudgetExceededError(LedgerError):
    """A release does not fit into what is left of the budget; nothing was charged.

    The message says what was asked, spent, left and budgeted. All four are public.
    """
