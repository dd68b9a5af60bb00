"""Errors of the privacy ledger, which `except Exception` does not catch."""

__all__ = ["BudgetExceededError", "LedgerError"]


class LedgerError(BaseException):
    """A ledger refused a charge, or cannot be read or written; nothing was charged, and nothing must be
    released.

    The class derives from BaseException, as KeyboardInterrupt does: scikit-learn's searches replace every
    Exception of a fit by a score of NaN and continue, which would hide an exhausted budget or an unreachable
    ledger. `except LedgerError` catches it; `except Exception` does not.
    """


class BudgetExceededError(LedgerError):
    """A release costs more than the remaining budget; nothing was charged.

    The message lists the requested, spent and remaining amounts and the budget. All four are public.
    """
