"""``python -m tests.fuzz``: try random problems on every public class until a law breaks."""

from __future__ import annotations

import argparse
import functools
import sys

from tests.fuzz.models import MAKERS
from tests.fuzz.runner import Report, check_case, run


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    cases = range(options.seed, options.seed + options.fits)
    check = functools.partial(check_case, only=options.only, seconds=options.limit)
    tell = _progress(options.every)
    report = run(check, cases, seconds=options.seconds, limit=options.limit, tell=tell)
    print(_summary(report, options))
    return 1 if report.findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--fits", type=int, default=1000, help="number of cases, each a fit and those that laws need")
    parser.add_argument("--seed", type=int, default=0, help="number of the first case; the others follow it")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--only", choices=list(MAKERS), help="one class")
    parser.add_argument("--limit", type=float, default=20, help="seconds that a step may take")
    parser.add_argument("--every", type=int, default=1000, help="report after so many cases")
    return parser


def _progress(every: int):
    known = set()

    def tell(report: Report, outcome) -> None:
        for finding in outcome.findings:
            if finding.kind not in known:
                known.add(finding.kind)
                print(f"  case {finding.case}: {finding.subject}, {finding.law}: {finding.message[:200]}", flush=True)
        if report.n_cases % every == 0:
            print(f"{report.n_cases} cases, {report.n_fits} fits, {len(report.findings)} findings", flush=True)

    return tell


def _summary(report: Report, options: argparse.Namespace) -> str:
    lines = [
        f"{report.n_cases} cases with {report.n_fits} fits in {report.seconds:.0f} s; "
        f"{sum(report.refused.values())} fits were refused in good words",
        "refused: " + ", ".join(f"{name} {n}" for name, n in report.refused.most_common()),
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
