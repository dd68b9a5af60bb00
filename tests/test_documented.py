"""Entries of docstrings that are described elsewhere stand where the signature has them."""

import inspect

from dplearn._documented import documented_by


class Base:
    """All of them.

    Parameters
    ----------
    b : int
        The second.
    c, d : int, optional
        Others.

    Attributes
    ----------
    z_ : int
        Public. The last.

    Raises
    ------
    ValueError
        Always.
    """


def test_parameters_have_the_order_of_the_signature_and_own_words_count():
    @documented_by(Base)
    def function(a, c=None, b=1, *, ledger=None):
        """Do it.

        Parameters
        ----------
        a : int
            The first.
        b : float
            Ours.
        ledger : PrivacyLedger, optional

        Returns
        -------
        int
        """

    assert inspect.getdoc(function).splitlines() == [
        *("Do it.", "", "Parameters", "----------", "a : int", "    The first.", "c, d : int, optional"),
        *("    Others.", "b : float", "    Ours.", "ledger : PrivacyLedger, optional", "", "Returns"),
        *("-------", "int", "", "Raises", "------", "ValueError", "    Always."),
    ]


def test_a_class_gets_attributes_and_a_function_that_is_not_charged_no_errors():
    @documented_by(Base)
    class Derived:
        """One of them.

        Attributes
        ----------
        y_ : int
            Public. The first.
        """

        def __init__(self, b):
            self.b = b

    @documented_by(Base)
    def plan(b):
        """Plan it."""

    assert inspect.getdoc(Derived).endswith("Public. The first.\nz_ : int\n    Public. The last.")
    assert "Raises" not in inspect.getdoc(plan)
    assert "b : int" in inspect.getdoc(plan)
