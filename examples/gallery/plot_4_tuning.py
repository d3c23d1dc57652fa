"""
Tuning with GridSearchCV
========================

SODEN is an estimator like scikit-learn's: it goes into pipelines and searches. Outcomes must then travel as one array,
`Surv.from_arrays(event, time)` of scikit-survival, because a search hands one target to `fit` and `score`.
"""

# %%
# 500 patients of the Worcester heart attack study; categories become dummies inside the pipeline.
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sksurv.datasets import load_whas500

from soden import SODEN

X, y = load_whas500()
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y["fstat"], random_state=0)
dummies = OneHotEncoder(drop="if_binary", sparse_output=False)
encode = make_column_transformer((dummies, make_column_selector(dtype_include="category")), remainder="passthrough")
pipeline = make_pipeline(encode, SODEN(n_models=1))

# %%
# A search over width and decay, judged by `score`, Antolini's concordance, in three folds.
grid = {"soden__hidden": [4, 16, 32], "soden__weight_decay": [1e-6, 1e-2, 5e-2]}
search = GridSearchCV(pipeline, grid, cv=3).fit(X_train, y_train)
table = pd.DataFrame(search.cv_results_)
found = table.pivot_table("mean_test_score", "param_soden__hidden", "param_soden__weight_decay")
print(found.round(3))

# %%
# As a picture: one line per width, with the standard error over the folds. What differs by less than two such bars may
# be noise.
errors = table.assign(error=table["std_test_score"] / 3**0.5)
errors = errors.pivot_table("error", "param_soden__hidden", "param_soden__weight_decay")
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
aside = (0.8, "#0072B2"), (1, "#D55E00"), (1.25, "#009E73")  # bars side by side
for (hidden, scores), (shift, colour) in zip(found.iterrows(), aside, strict=True):
    ax.errorbar(scores.index * shift, scores, errors.loc[hidden], fmt="o-", color=colour, label=f"hidden={hidden}")
ax.set(xscale="log", xlabel="weight_decay", ylabel="concordance in three folds")
ax.legend(frameon=False, loc="lower left")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The settings that came out, fitted to all training rows, five networks; the test part has not been touched before.
# With 125 patients the standard error of C is about .03.
best = search.best_estimator_.set_params(soden__n_models=5).fit(X_train, y_train)
print(search.best_params_)
print(f"C on {len(X_test)} patients not searched on: {best.score(X_test, y_test):.3f}")

# %%
# A pipeline hands on `predict` and `score` alone. Curves come from its last step, which takes the features that the
# others make; those of a search come from its `best_estimator_`. Here at one, two and three years.
encoded = best[:-1].transform(X_test.head(3))
print(best[-1].predict_survival(encoded, [365.25, 730.5, 1095.75]).round(2))

# %%
# Curves can be judged instead of their order: scikit-survival's Brier score wraps SODEN as it wraps its own models, see
# :doc:`../others`.
