"""The examples of docs/scikit_learn.md run in order, with the outputs that the page states."""

import re
from pathlib import Path

from threadpoolctl import threadpool_limits

PAGE = Path(__file__).parents[2] / "docs" / "scikit_learn.md"


def test_the_outputs_on_the_page_are_right():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 7
    lines, scope = [], {"__name__": "page", "print": lambda *values: lines.append(values)}
    # Small fits on many native threads are slow where other tests run beside this one.
    with threadpool_limits(1):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), scope)
    whole, named, spent, of_outputs, price, (share,), refused, names, *true = lines
    assert whole == (1.5,)
    assert named == (True,)
    assert spent[0] in (3.5, 4.0)
    assert (of_outputs, price) == (((4000, 20),), (1.0,))
    assert share == 0.099
    assert refused == ("StatisticalQueryLogisticRegression.fit takes no sample_weight",)
    assert names == (["age", "wage", "height"],)
    assert true == [(True,)] * 2
