"""How long one report takes in a call of its own, in microseconds: `python benchmarks/one_report.py`."""

from __future__ import annotations

from localdp.bench.one_report import SIDES, measure_one_report


def main() -> None:
    """Print microseconds for one report, by mechanism and side."""
    print(f"{'µs':<10}" + "".join(f"{side:>12}" for side in SIDES))
    for one in measure_one_report(rounds=3):
        print(f"{one.mechanism:<10}" + "".join(f"{1e6 * one.took[side]:>12.1f}" for side in SIDES), flush=True)


if __name__ == "__main__":
    main()
