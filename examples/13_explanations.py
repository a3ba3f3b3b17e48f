"""Why does this loan have this probability? Shapley values of the columns, and effects along them.

The forest is fitted on 800 of the loans that come with petiole and explains the other 200. The bars show which columns
matter, the waterfall how the log-odds of one loan arise, and the points the effect of each column on every loan. The
second picture shows the predicted probabilities along the columns with the largest effects, beside the observed shares.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from petiole import ProbabilityForestClassifier, datasets
from petiole.plotting import effects

X, defaulted, _ = datasets.load("loans")
forest = ProbabilityForestClassifier(100, random_state=0).fit(X[:800], defaulted[:800])
explanation = forest.explain(X[800:])
print(explanation.words(row=3))

figure, axes = plt.subplots(1, 3, figsize=(13.5, 3.8), layout="constrained", width_ratios=[3, 4, 4])
explanation.plot_bar(max_display=8, ax=axes[0])
explanation.plot_waterfall(3, max_display=8, ax=axes[1])
explanation.plot_beeswarm(max_display=8, ax=axes[2])
figure.savefig("explanations.png", dpi=110)

display = effects(forest, X[800:], defaulted[800:])
display.figure_.savefig("effects.png", dpi=110)
