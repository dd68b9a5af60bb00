"""
The shapes of an additive model
===============================

An additive model of 569 tumours at epsilon 3: one released effect for each of the greatest values of ten
measurements, drawn at no further cost. The bands are of two standard deviations, because of privacy noise and
smoothing. The grey bars at the lower edges are the released shares of the records.
"""

# %%
# The bounds of the columns follow from what is measured, and not from the table.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from dplearn import AdditiveClassifier
from dplearn.display import ShapesDisplay
from dplearn.domains import Grid, Schema

data = load_breast_cancer()
highest = [40, 60, 300, 5000, 0.25, 1.2, 1.3, 0.3, 0.7, 0.25]
names = [str(name) for name in data.feature_names[20:]]
schema = Schema({name: Grid(0, high) for name, high in zip(names, highest, strict=True)})
labels = data.target_names[data.target]
model = AdditiveClassifier(
    epsilon=3.0,
    domain=schema,
    classes=["benign", "malignant"],
    interactions=False,  # the shapes are then the whole model
    random_state=0,
).fit(data.data[:, 20:], labels)

# %%
# The effects are on the logit of "malignant". Great values mean cancer, and the steps show from where on.
display = ShapesDisplay.from_estimator(model, most=6)
plt.show()

# %%
# The first column alone, and its values as numbers.
shape = model.shapes_[0]
axes = plt.subplots(figsize=(4.6, 3.5), layout="constrained")[1]
ShapesDisplay([shape], classes=model.classes_).plot(axes=axes)
plt.show()
# sphinx_gallery_thumbnail_number = 2
for start, effect, deviation in list(zip(shape.values, shape.effects, shape.deviations, strict=True))[
    10:50:6
]:
    print(f"{shape.name} from {start:4.1f}: {effect:5.2f} ± {deviation:.2f}")
