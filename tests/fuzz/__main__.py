"""``python -m tests.fuzz``: try random problems on every public class until a law breaks.

A case is named by its number, which ``--seed`` takes: it draws the class, the data, the parameters and the laws to try.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import sys
from typing import Any

# What no fit of so few rows should take. Sanitizers reserve more than that for themselves.
MEMORY = 8 << 30


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.core is not None:
        _use_core(options.core)
    from .cases import check_case, describe_case  # after the core is chosen
    from .runner import Runner

    runner = Runner(
        functools.partial(check_case, only=options.only, seconds=options.limit),
        functools.partial(describe_case, only=options.only),
        patience=20 * options.limit,
        memory=MEMORY if options.core is None else None,
        tell=_progress(options.every),
    )
    report = runner.run(range(options.seed, options.seed + options.fits), options.seconds)
    print(_summary(report, options))
    return 1 if report.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--fits", type=int, default=1000, help="number of cases, each a fit and those that laws need")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case; the others follow it")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--only", metavar="CLASS", help="one class, such as PETClassifier")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a step may take")
    parser.add_argument("--every", type=int, default=1000, help="report after so many cases")
    parser.add_argument("--core", metavar="FILE", help="a build of petiole._core to use in place of the installed one")
    return parser


def _use_core(path: str) -> None:
    """Import the extension from a file, before petiole imports its own."""
    spec = importlib.util.spec_from_file_location("petiole._core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["petiole._core"] = module
    spec.loader.exec_module(module)


def _progress(every: int) -> Any:
    known = set()

    def tell(report: Any, outcome: Any) -> None:
        for finding in outcome.findings:
            if finding.kind not in known:
                known.add(finding.kind)
                print(f"  case {finding.case}: {finding.subject}, {finding.law}: {finding.message[:200]}", flush=True)
        if report.n_cases % every == 0:
            print(f"{report.n_cases} cases, {report.n_fits} fits, {len(report.findings)} findings", flush=True)

    return tell


def _summary(report: Any, options: argparse.Namespace) -> str:
    refused = ", ".join(f"{name} {n}" for name, n in report.refused.most_common())
    lines = [
        f"{report.n_cases} cases with {report.n_fits} fits in {report.seconds:.0f} s; "
        f"{sum(report.refused.values())} were refused with an error that names a parameter",
        f"refused: {refused or 'none'}",
    ]
    kinds = sorted(report.kinds().items(), key=lambda item: -len(item[1]))
    if not kinds:
        return "\n".join([*lines, "no findings"])
    lines += [f"{len(report.findings)} findings of {len(kinds)} kinds:", ""]
    only = f" --only {options.only}" if options.only else ""
    for (subject, law, _), findings in kinds:
        first = min(findings, key=lambda finding: len(finding.details))
        lines.append(f"{len(findings):5}x {subject} | {law} | {first.message[:300]}")
        lines.append(f"       python -m tests.fuzz --fits 1 --seed {first.case}{only}")
        lines.append(f"       {first.details[:400]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
