"""The twenty two-class problems of Nielsen (2004), "MOB-ESP and other improvements in probability estimation"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from petiole._validation import check_choice
from petiole.datasets.description import Loaded
from petiole.datasets.loading import load
from petiole.datasets.papers.variants import among, as_numbers, columns_of, complete_rows, rebuild, varying


@dataclass(frozen=True)
class Problem:
    """A line of the paper's Table 1, and how it is made."""

    source: str  # the data set
    n: int  # N of Table 1
    d: int  # D of Table 1
    classes: tuple[str, ...] = ()  # () for all
    rows: tuple[int | None, int | None] = (None, None)  # from, to
    dropped: tuple[str, ...] = ()
    only_varying: bool = False


NIELSEN = {
    "audiology": Problem(
        "audiology",
        92,
        37,
        ("cochlear_age", "cochlear_unknown"),
        (-200, None),
        dropped=("bone", "bser"),
        only_varying=True,
    ),
    "bupa": Problem("bupa", 345, 6),
    "credit-german": Problem("crx", 653, 44),
    "glass": Problem("glass", 79, 9, ("build wind float", "tableware")),
    "iondata": Problem("ionosphere", 351, 34),
    "iris": Problem("iris", 100, 4, ("Iris-setosa", "Iris-versicolor")),
    "letter": Problem("letter", 1473, 16, ("H", "K")),
    "lymphography": Problem("lymphography", 142, 18, ("metastases", "malign_lymph")),
    "pima": Problem("pima", 768, 8),
    "segment": Problem("segment", 660, 19, ("foliage", "window")),
    "sonar": Problem("sonar", 208, 60),
    "soybean": Problem("soybean", 80, 35, ("alternarialeaf-spot", "frog-eye-leaf-spot"), (None, 307)),
    "vehicle": Problem("vehicle", 429, 18, ("opel", "saab")),
    "votes": Problem("vote", 232, 16),
    "vowel": Problem("vowel-context", 180, 12, ("had", "hOd")),
    "wbc": Problem("wbc", 683, 9),
    "wdbc": Problem("wdbc", 569, 30),
    "wine": Problem("wine", 130, 13, ("1", "2")),
    "wpbc": Problem("wpbc", 194, 33),
    "zoo": Problem("zoo", 61, 16, ("mammal", "bird")),
}

# Footnote 7 gives the first; the others follow its "fairly natural progression" and are ours. Values that are not
# named here is numbered in sorted order, which for two values is the only order there is.
REFLEX = {"absent": 0, "elevated": 1, "normal": 2}
NORMALITY = {"lt-norm": 0, "norm": 1, "gt-norm": 2}
PROGRESSIONS = {
    ("audiology", "speech"): {"normal": 0, "good": 1, "very_good": 2, "very_poor": -3, "poor": -2, "unmeasured": -1},
    ("audiology", "air"): {"normal": 0, "mild": 1, "moderate": 2, "severe": 3, "profound": 4},
    **{("audiology", name): REFLEX for name in ("ar_c", "ar_u", "o_ar_c", "o_ar_u")},
    ("soybean", "date"): {
        month: number for number, month in enumerate(["april", "may", "june", "july", "august", "september", "october"])
    },
    ("soybean", "precip"): NORMALITY,
    ("soybean", "temp"): NORMALITY,
    ("soybean", "severity"): {"minor": 0, "pot-severe": 1, "severe": 2},
    ("soybean", "germination"): {"lt-80": 0, "80-89": 1, "90-100": 2},
    ("soybean", "crop-hist"): {"diff-lst-year": 0, "same-lst-yr": 1, "same-lst-two-yrs": 2, "same-lst-sev-yrs": 3},
    ("soybean", "leafspot-size"): {"dna": 0, "lt-1/8": 1, "gt-1/8": 2},
}


def nielsen(name: str) -> Loaded:
    """Load one of the paper's twenty problems: two classes, all features numeric, no missing values.

    Footnote 7: "Dataset examples with missing attribute values were removed. Audiology attributes bone and bser were
    removed, due to their large number of missing values. Nominal attribute values were converted to integers in
    accordance with a fairly natural progression (e.g., the Audiology speech attribute values normal, good, very_good,
    very_poor, poor, and unmeasured were converted to 0, 1, 2, -3, -2, and -1, respectively)." Footnote 8: "The two
    classes were selected based on a combination of having a higher number of examples and/or having a higher
    confusion rate than other classes."

    Where the paper leaves something open, we chose what gives the N of its Table 1:

    - Class numbers are those of the UCI documentation; they begin with 1, and with 0 in vowel, as in its file. N does
      not settle iris, segment and vowel, whose classes are equally large. These pairs were chosen because EB-PETs come
      near the paper's 0/1-MSE on them (.0005, .036 and .031; Table 2 has .0005, .039 and .039), so they are no
      independent confirmation of it; for vowel another pair (.023) comes nearly as close. "glass (1,4)"
      has N = 79 only with the 9 rows of tableware.
    - audiology and soybean are the UCI training files alone. Audiology's D = 37 is the number of features that still
      vary; no other set is treated so.
    - "credit-german" has the N of crx (Australian credit approval) without its rows with missing values, and vowel
      has D = 12 only with the speaker and sex, so it is vowel-context.
    - D agrees but for credit-german: 44 there, 15 here, as the paper's coding of it is not known.

    Parameters
    ----------
    name : str
        A key of ``NIELSEN``, the names of the paper's Table 1.

    Returns
    -------
    X, y, description : as of :func:`petiole.datasets.load`

    Examples
    --------
    >>> NIELSEN["letter"].n, NIELSEN["letter"].classes
    (1473, ('H', 'K'))
    """
    check_choice("name", name, tuple(NIELSEN))
    problem = NIELSEN[name]
    loaded = load(problem.source)
    columns = {key: column for key, column in columns_of(loaded).items() if key not in problem.dropped}
    rows = complete_rows(columns)
    inside = np.zeros(len(rows), dtype=bool)
    inside[slice(*problem.rows)] = True
    rows &= inside
    if problem.classes:
        rows &= among(loaded.y, problem.classes)
    if problem.only_varying:
        columns = varying(columns, rows)
    numbers = {key: as_numbers(column, PROGRESSIONS.get((problem.source, key))) for key, column in columns.items()}
    return rebuild(loaded, numbers, rows, name, "As in Nielsen (2004), Table 1 and footnote 7.")
