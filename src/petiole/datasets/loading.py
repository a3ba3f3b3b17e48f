"""Data sets by name: from the user's folder, the cache, OpenML or scikit-learn."""

from __future__ import annotations

import warnings

from petiole._validation import close_names
from petiole.datasets.bundled import LOADERS, PREFIX, bundled_name, load_bundled, own_folder
from petiole.datasets.description import Description, Loaded, LoadedColumns
from petiole.datasets.folder import DATA_VARIABLE, Folder, open_cache, open_data_folder
from petiole.datasets.frames import make_frame
from petiole.datasets.openml import fetch_into, is_pinned


def load(name: str) -> Loaded:
    """Load a data set by its name.

    The function searches the folder named by the environment variable ``PETIOLE_DATA``, then earlier downloads
    (``PETIOLE_CACHE``, by default ``~/.cache/petiole``), then OpenML if a manifest pins an id and a checksum for the
    set, and finally the data sets that come with petiole ("loans") and scikit-learn. What is read is checked against
    the manifest: columns, kinds, class counts and, if there is one, the SHA-256.

    Parameters
    ----------
    name : str
        One of :func:`petiole.datasets.list`. ``"sklearn-iris"``, ``"sklearn-wine"``, ``"sklearn-digits"`` and
        ``"sklearn-breast-cancer"`` are always available and always the same. Names without the prefix refer to the
        folder, and to scikit-learn's data sets where it has none of that name.

    Returns
    -------
    X : frame of pandas, else polars, else pyarrow
        Numeric columns are floats, categorical ones have the categorical type of the library.
    y : array of str
    description : Description

    Examples
    --------
    >>> X, y, description = load("sklearn-iris")
    >>> X.shape, str(y[0])
    ((150, 4), 'setosa')
    >>> print(description)
    sklearn-iris: 150 rows, 4 features (numeric), 3 classes
    """
    found = load_columns(name)
    return Loaded(make_frame(found.columns), found.y, found.description)


def load_columns(name: str) -> LoadedColumns:
    """Load a data set as columns, which needs no library for frames."""
    _check_name(name)
    folder, cache = open_data_folder(), open_cache()
    for place in (folder, cache):
        if place is not None and place.has_rows(name):
            return place.load(name)
    for place in (folder, cache):
        if place is not None and is_pinned(place.entries.get(name)):
            fetch_into(cache, place.entries[name])
            return cache.load(name)
    if own_folder().has_rows(name):
        return own_folder().load(name)
    if bundled_name(name) is not None:
        _warn_of_namesake(name)
        return load_bundled(name)
    raise _not_found(name, folder, cache)


class UnknownDataSet(ValueError):
    """There is no data set of this name; ``reason`` is the message without the parameter and the remedy of Python."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"name={name!r}: {reason} (petiole.datasets.list() names what there is)")


def describe(name: str) -> Description:
    """Describe a data set; its rows are not loaded if a manifest describes it.

    Examples
    --------
    >>> describe("sklearn-wine").class_counts
    {'class_0': 59, 'class_1': 71, 'class_2': 48}
    """
    _check_name(name)
    folder, cache = open_data_folder(), open_cache()
    for place in (folder, cache, own_folder()):
        if place is not None and name in place.entries:
            return place.describe(name)
    if bundled_name(name) is not None:
        return load_bundled(name).description
    raise _not_found(name, folder, cache)


def list_datasets() -> dict[str, str]:
    """Name the data sets that :func:`petiole.datasets.load` can find, each with a line about it.

    Examples
    --------
    >>> from petiole import datasets
    >>> datasets.list()["sklearn-digits"]
    '1,797 rows, 64 features (numeric), 10 classes'
    """
    summaries: dict[str, str] = {}
    folder, cache = open_data_folder(), open_cache()
    for place in (cache, folder):  # the folder takes precedence
        for name in place.entries if place is not None else ():
            if _is_available(name, folder, cache):
                summaries[name] = describe(name).summary
    for name in own_folder().entries:
        summaries.setdefault(name, describe(name).summary)
    for plain in LOADERS:
        for name in (plain, PREFIX + plain):
            if name not in summaries:
                summaries[name] = load_bundled(name).description.summary
    return {name: summaries[name] for name in sorted(summaries)}


def has_data() -> bool:
    """Whether there is a folder of data sets, or a cache that holds some.

    >>> isinstance(has_data(), bool)
    True
    """
    return open_data_folder() is not None or bool(open_cache().entries)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: must be a string, one of petiole.datasets.list()")


def _is_available(name: str, folder: Folder | None, cache: Folder) -> bool:
    places = [place for place in (folder, cache) if place is not None]
    return any(place.has_rows(name) or is_pinned(place.entries.get(name)) for place in places)


def _warn_of_namesake(name: str) -> None:
    if name == "breast-cancer":
        warnings.warn(
            "'breast-cancer' is scikit-learn's Wisconsin set here; in the data folder the name means the Ljubljana "
            "set. Write 'sklearn-breast-cancer' for this one in any case",
            stacklevel=4,
        )


def _not_found(name: str, folder: Folder | None, cache: Folder) -> ValueError | FileNotFoundError:
    if folder is not None and name in folder.entries:
        file = folder.path / folder.entries[name].get("file", f"{name}.csv.gz")
        return FileNotFoundError(
            f"name={name!r}: {file} does not exist, although the manifest names it: fetch it again"
        )
    known = {
        *LOADERS,
        *own_folder().entries,
        *(PREFIX + plain for plain in LOADERS),
        *cache.entries,
        *(folder.entries if folder else ()),
    }
    close = close_names(str(name), sorted(known), most=3)
    nearest = f"; the nearest names are {', '.join(map(repr, close))}" if close else ""
    advice = (
        f"the folder {DATA_VARIABLE}={str(folder.path)!r} does not have it"
        if folder
        else f"set the environment variable {DATA_VARIABLE} to a folder with data sets and their manifest.json"
    )
    return UnknownDataSet(
        name, f"no data set of this name is here, and no manifest pins an OpenML id for it{nearest}; {advice}"
    )
