"""Entries of docstrings that are described elsewhere stand where the signature has them."""

import inspect

from dplearn._documented import Shared, documented_by


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
        *("    Others.", "b : float", "    Ours.", "ledger : PrivacyLedger, optional"),
        "    The ledger that each fit is charged to, fits of clones, searches and worker processes included.",
        *("", "Returns"),
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


def test_an_entry_takes_the_type_the_text_or_the_first_words_that_it_leaves_out():
    @documented_by(Base)
    class Derived:
        """One of them.

        Parameters
        ----------
        b
            ... Ours counts from 1.
        delta : float, default=0.5

        Attributes
        ----------
        noise_, domain_
        """

        def __init__(self, b, delta=0.5, epsilon=1.0):
            self.b = b

        def plan(self, n_samples):
            """Plan it."""

        def other(self, n_samples, unknown):
            """Do other things."""

    lines = inspect.getdoc(Derived).splitlines()
    assert lines[4:6] == ["b : int", "    The second. Ours counts from 1."]
    assert lines[6] == "delta : float, default=0.5"
    assert lines[7].startswith("    Probability with which")
    assert lines[8] == "epsilon : float, default=1.0"
    assert lines[lines.index("Attributes") + 2 :] == [
        *("noise_ : str", '    Public. The noise: "laplace" or "gaussian".'),
        *("domain_ : Product", "    Public. The domain of each column.", "z_ : int", "    Public. The last."),
    ]
    assert "n_samples : int\n    Number of records." in inspect.getdoc(Derived.plan)
    assert inspect.getdoc(Derived.other) == "Do other things."


def test_nothing_is_missed_where_python_removes_docstrings(monkeypatch):
    monkeypatch.setattr(Shared, "__doc__", None)

    @documented_by(Base)
    class Derived:
        def __init__(self, undescribed):
            pass

    assert Derived.__doc__ is None
