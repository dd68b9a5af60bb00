"""Packages whose names are imported when they are first asked for.

`import dplearn` would otherwise import every learner, and take twice as long as scikit-learn. A stub
(`__init__.pyi`) lists what a package exports, for type checkers too; its imports are carried out one by one.
No package imports its own modules, or two threads could wait for each other.

>>> import dplearn
>>> "ThresholdClassifier" in dir(dplearn), dplearn.ThresholdClassifier.__module__
(True, 'dplearn.learners.rules.threshold')
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module, resources
from inspect import isfunction
from types import ModuleType
from typing import Any

from dplearn._documented import documented_by
from dplearn._writing import did_you_mean


class _Package(ModuleType):
    """A package of which a submodule takes no name that is exported, such as that of its function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not isinstance(value, ModuleType) or name not in self.__all__:
            super().__setattr__(name, value)


def exports_of_stub(
    package: str, kind: type | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its stub.

    The stub has a docstring, imports with `from`, and `__all__` unless each import is `name as name`. The
    docstrings of exported functions are completed by the entries of a kind.
    """
    text = resources.files(package).joinpath("__init__.pyi").read_text(encoding="utf-8")
    exports: list[str] = []
    modules: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom):
            modules |= {each.name: str(node.module) for each in node.names}
        elif isinstance(node, ast.Assign):
            exports = ast.literal_eval(node.value)

    def get(name: str) -> Any:
        if name not in modules:
            try:
                return import_module(
                    f"{package}.{name}"
                )  # `import dplearn; dplearn.releases` has always worked
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
            near = did_you_mean(name, modules)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{near}")
        found = getattr(import_module(modules[name]), name)
        if kind is not None and isfunction(found) and name in exports:
            documented_by(kind)(found)
        vars(import_module(package))[name] = found  # is not asked for again
        return found

    exports = exports or sorted(modules)
    sys.modules[package].__class__ = _Package
    return get, lambda: sorted({*exports, *vars(import_module(package))}), exports
