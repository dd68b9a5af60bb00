"""
What pure privacy costs
=======================

With fewer records than the lower line no purely private learner of thresholds is accurate, whatever it does;
with as many as the upper line ours is. And how often a single message about a point goes wrong: such messages
are what pure learners of points amount to.
"""

# %%
# Thresholds on 2^d values have Littlestone dimension d. Errors of at most 0.1, with probability 0.9.
import matplotlib.pyplot as plt
import numpy as np

from dplearn.theory import (
    littlestone_dimension,
    one_way_error,
    pure_private_lower_bound,
    threshold_sample_size,
)

asked = {"alpha": 0.1, "beta": 0.1}
depths = [2, 4, 8, 16, 32, 48, 64]
thresholds = [[int(x >= cut) for x in range(16)] for cut in range(16)]
print(littlestone_dimension(thresholds))

figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for epsilon, color in ((1.0, "C0"), (0.1, "C1")):
    least = [pure_private_lower_bound(d, epsilon=epsilon, **asked) for d in depths]
    ours = [
        threshold_sample_size("exponential", 2**d + 1, epsilon=epsilon, realizable=True, **asked)
        for d in depths
    ]
    axes.plot(depths, ours, "o-", color=color, label=f"ours, epsilon {epsilon:g}")
    axes.plot(depths, least, "s--", color=color, label=f"no learner below, epsilon {epsilon:g}")
axes.set(xlabel="Littlestone dimension", ylabel="records", yscale="log", ylim=(20, 300_000))
axes.legend(loc="upper left")
axes.grid(alpha=0.3)
plt.show()

# %%
# A protocol: Alice has a key, Bob another, and he says whether they are equal after one of k messages.
# Hashing, with the right probability, has error 1/(k + 1) for any number of keys (dotted); these are the
# exact least errors.
figure, axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")
for messages, sizes, color in ((2, range(2, 9), "C2"), (3, range(3, 8), "C3")):
    errors = [float(one_way_error(np.eye(size, dtype=int), messages).upper) for size in sizes]
    axes.plot(sizes, errors, "o-", color=color, label=f"{messages} messages")
    axes.axhline(1 / (messages + 1), color=color, linestyle=":")
axes.set(xlabel="keys", ylabel="least error", ylim=(0, 0.36))
axes.legend()
axes.grid(alpha=0.3)
plt.show()
