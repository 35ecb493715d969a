"""A questionnaire on the command line: described in TOML, a table with several columns, tables of the result."""

from __future__ import annotations

import csv
import json

import pytest
from command import localdp

SURVEY = """
epsilon = 4
cross = [["diet", "stars"]]
[questions]
diet = ["vegan", "any"]
stars = {low = 1, high = 5}
likes = {items = ["tea", "milk"], most = 2}
"""


def run(*arguments, cwd, code=0):
    done = localdp(*arguments, cwd=cwd)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "diet", "stars", "likes"])
        for number in range(2_000):
            rows.writerow([number, "vegan" if number % 4 else "", 5 if number % 2 else "", "tea;milk"])
    return tmp_path


def test_from_a_table_to_the_result(survey):
    made = run("plan", "--questionnaire", "survey.toml", "-o", "survey.json", cwd=survey)
    assert "drawn without looking at the answers" in made.stdout
    privatized = run("privatize", "people.csv", "-p", "survey.json", "-o", "r.ldp", cwd=survey)
    assert ("2,000 reports" in privatized.stdout, privatized.stderr) == (True, "")
    assert "2,000 reports" in run("aggregate", "r.ldp", "-p", "survey.json", "-o", "c.agg", cwd=survey).stdout
    said = run("estimate", "c.agg", cwd=survey).stderr
    assert "what is missing to 100% gave no answer: `--table diet` shows how many" in said
    people = (survey / "people.csv").read_text()
    (survey / "capitals.csv").write_text(people.replace("vegan", "Vegan"))
    warned = run("privatize", "capitals.csv", "-p", "survey.json", "-o", "w.ldp", cwd=survey).stderr
    assert "WARNING: nearly all values of 'diet' count as 'no answer'" in warned.replace("\n", " ")
    rows = json.loads(run("estimate", "c.agg", "--json", cwd=survey).stdout)
    shares = {(row["question"], row["answer"]): row["share"] for row in rows}
    assert abs(shares["diet", "vegan"] - 0.75) < 0.1
    run("estimate", "c.agg", "--table", "diet,stars", "-o", "t.csv", cwd=survey)
    table = list(csv.DictReader((survey / "t.csv").read_text().splitlines()))
    assert (len(table), table[4]["diet"], table[4]["stars"]) == (10, "vegan", "5")
    turned = run("estimate", "c.agg", "--table", "stars,diet", "-o", "-", cwd=survey).stdout
    assert turned == (survey / "t.csv").read_text()
    (survey / "short.toml").write_text('questions = { diet = ["vegan", "any"] }')
    for arguments, words in (
        (("aggregate", "r.ldp", "r.ldp", "-p", "survey.json", "-o", "d.agg"), "the same people count once"),
        (("aggregate", "r.ldp", "-p", "survey.json", "-o", "d.agg", "--engine", "dask"), "on this machine"),
        (("estimate", "c.agg", "--table", "diet,likes"), "--table is one of"),
        (("plan", "--questionnaire", "short.toml", "-o", "x.json"), "epsilon is missing"),
        (("estimate", "c.agg", "--ordered"), "estimated together"),
        (("estimate", "c.agg", "--level", "0.5"), "with intervals of 90%"),
        (("estimate", "c.agg", "--summary"), "estimated together"),
        (("hitters", "c.agg"), "the aggregate of a questionnaire"),
        (("privatize", "people.csv", "-p", "survey.json", "-o", "s.ldp", "-c", "diet"), "leave out --column"),
        (("plan", "--questionnaire", "survey.toml", "-m", "grr", "-o", "s.json"), "give nothing else"),
        (("privatize", "people.csv", "-p", "survey.json", "-o", "r.csv"), "a .ldp file"),
        (("plan", "--questionnaire", "survey.toml", "--size", "3"), "give nothing else"),
    ):
        failed = run(*arguments, cwd=survey, code=2)
        assert words in failed.stderr
        assert failed.stderr.count("\n") == 1
