"""Draw the pictures of the page about structures: `python docs/generate_structure_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import localdp as ldp
from localdp import plots

IMAGES = Path(__file__).parent / "images"
PEOPLE_OF_AGES, PEOPLE_OF_DIETS = 500_000, 40_000
DIETS = ("everything", "flexible", "vegetarian", "vegan", "other")
AGES = ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75-84", "85+")


def main() -> None:
    """Draw both pictures; each shows one simulated survey."""
    ages()
    diets()


def age_shares() -> np.ndarray:
    """A population by age, from 0 to 99: smooth, with people who round their age to tens."""
    age = np.arange(100)
    shares = np.clip(1.25 - age / 85, 0.02, 1) * (1 + 0.25 * np.exp(-0.5 * ((age - 55) / 8) ** 2))
    shares[10:80:10] *= 1.6
    return shares / shares.sum()


def ages() -> None:
    truth = np.random.default_rng(4).multinomial(PEOPLE_OF_AGES, age_shares())
    estimate = ldp.Plan(100, epsilon=1.0).simulate(truth, seed=5).estimate()
    found = estimate.calibrate(structure=ldp.Ordered())
    low, high = found.interval(0.9)
    figure = plots.figure(10.5, 4.6)
    left, right = figure.subplots(1, 2, sharey=True)
    age = np.arange(100)
    for axes, title, values, colour in (
        (left, "Before: what the reports say", estimate.frequencies, plots.VERMILLION),
        (right, "After: calibrated, knowing the order", found.frequencies, plots.BLUE),
    ):
        error = np.sqrt(np.mean((values - truth) ** 2))
        axes.set_title(f"{title}\nroot mean square error: {error:,.0f} people", fontsize=13)
        axes.plot(age, truth, color=plots.BLACK, linewidth=1.2, label="truth")
        axes.plot(age, values, "o", color=colour, markersize=4, markeredgewidth=0, alpha=0.8, label="estimate")
        axes.set_xlabel("age", fontsize=12)
    right.fill_between(age, low, high, color=plots.SKY, alpha=0.35, linewidth=0, label="90% interval")
    left.set_ylabel("people of this age", fontsize=12)
    for axes in (left, right):
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.legend(loc="upper right", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
    _save(figure, "structure-ages")


def diet_shares() -> np.ndarray:
    """Diets by age: young people are vegan more often, and a cell or two stand out."""
    rows = np.array([0.52, 0.26, 0.12, 0.06, 0.04])
    columns = np.array([0.12, 0.18, 0.17, 0.16, 0.15, 0.12, 0.07, 0.03])
    shares = np.outer(rows, columns)
    shares[3, :2] *= 2.5
    shares[2, 1] *= 1.6
    return shares / shares.sum()


def diets() -> None:
    shape = (len(DIETS), len(AGES))
    truth = np.random.default_rng(1).multinomial(PEOPLE_OF_DIETS, diet_shares().ravel())
    estimate = ldp.Plan(truth.size, epsilon=1.0).simulate(truth, seed=2).estimate()
    found = estimate.calibrate(structure=ldp.Crossed(shape))
    figure = plots.figure(12.5, 3.9)
    panels = figure.subplots(1, 3)
    largest = float(truth.max())
    for axes, title, values in (
        (panels[0], "Truth", truth.astype(float)),
        (panels[1], "Before", estimate.frequencies),
        (panels[2], "After", found.frequencies),
    ):
        table = values.reshape(shape)
        error = np.sqrt(np.mean((values - truth) ** 2))
        axes.set_title(title if title == "Truth" else f"{title}: error {error:,.0f} people", fontsize=13)
        axes.imshow(np.sqrt(np.maximum(table, 0)), cmap="Blues", vmin=0, vmax=np.sqrt(largest), aspect="auto")
        axes.set_xticks(range(shape[1]), AGES, rotation=45, fontsize=9)
        axes.set_yticks(range(shape[0]), DIETS if axes is panels[0] else [""] * shape[0], fontsize=10)
        for row in range(shape[0]):
            for column in range(shape[1]):
                dark = table[row, column] > 0.35 * largest
                axes.text(
                    column,
                    row,
                    f"{table[row, column]:,.0f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else plots.VERMILLION if table[row, column] < 0 else plots.BLACK,
                )
    _save(figure, "structure-table")


def _save(figure, name: str) -> None:
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.savefig(IMAGES / f"{name}.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
