"""A file of surveys: what it says, what is wrong with it and where, and what follows from it."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from command import localdp
from paths import ROOT

import localdp as ldp
from localdp.surveys import pages, read

FILE = """# All surveys of the recipe site.
product = "Recipes"
contact = "privacy@recipes.example"
keep_days = 30

[surveys.theme]
title = "Theme"
question = "Which theme do you use?"
items = ["dark", "light", "system"]
other = "something else"
epsilon = 1.5
labels = { system = "As my <phone> has it" }

[surveys.stars]
question = "How many stars?"
scale = { low = 1, high = 5 }
epsilon = 1.0
closes = 2999-12-31

[surveys.food]
kind = "questionnaire"
question = "Two questions about food"
epsilon = 2.0

[surveys.food.questions]
diet = ["vegan", "any"]
age = { low = 10, high = 90, step = 10 }
likes = { items = ["tea", "milk"], most = 2 }

[surveys.baskets]
kind = "sets"
items = ["tea", "milk", "bread"]
epsilon = 2.0
users = 20000
state = "draft"

[surveys.words]
kind = "discovery"
bits = 32
epsilon = 2.0
users = 20000
state = "closed"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "surveys.toml"
    path.write_text(FILE)
    return path


def test_the_file_makes_the_studies_that_the_library_makes(file):
    found = read(file)
    assert (found.product, found.keep_days) == ("Recipes", 30)
    theme, stars, food, baskets, words = found.surveys
    plan = ldp.Plan(["dark", "light", "system"], epsilon=1.5, other="something else")
    assert (theme.name, theme.study.fingerprint) == ("theme", plan.fingerprint)
    assert (stars.terms.closes, stars.study.fingerprint) == (
        "2999-12-31",
        ldp.Plan(ldp.Scale(1, 5), epsilon=1.0).fingerprint,
    )
    assert food.study.kind == "questionnaire"
    assert (baskets.state, words.state) == ("draft", "closed")


@pytest.mark.parametrize(
    ("before", "after", "line", "words"),
    [
        ("epsilon = 1.5", "epsilon = -1", 11, "epsilon"),
        ("epsilon = 1.5", "epsilom = 1.5", 11, "'epsilom' is not a field"),
        ('items = ["dark", "light", "system"]', 'items = ["dark", "dark"]', 6, "'dark' is in the domain twice"),
        ("labels = { system", "labels = { systems", 12, "neither an item nor"),
        ('state = "draft"', 'state = "open soon"', 35, '"state" is one of open, draft, closed'),
        ('state = "closed"', "archived = 1", 42, '"archived" is true or false'),
        ('state = "closed"', "draft = true", 42, "follows from the file"),
        ('kind = "sets"', 'kind = "set"', 31, '"kind" is one of'),
        ("closes = 2999-12-31", 'closes = "soon"', 18, '"closes" is a date'),
        ("age = { low", "age = { lowest", 27, "age"),
        ('product = "Recipes"', "product = 7", 2, "product is text"),
        ('product = "Recipes"', 'produkt = "Recipes"', 2, "there is no 'produkt'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(file, before, after, line, words):
    assert FILE.count(before) == 1
    file.write_text(FILE.replace(before, after))
    with pytest.raises(ldp.LocalDPError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}, line {line}"), str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_is_none_is_refused(file):
    for text, words in (("x = ]", "line 1"), ("", "has no surveys"), ("surveys = 7", "has no surveys")):
        file.write_text(text)
        with pytest.raises(ldp.LocalDPError, match=words):
            read(file)
    file.write_text(
        FILE + FILE[FILE.index("[surveys.theme]") : FILE.index("[surveys.stars]")].replace("theme]", "again]")
    )
    with pytest.raises(ldp.LocalDPError, match=r"line 43, surveys.again: it asks exactly what theme asks"):
        read(file)
    shown = localdp("describe", file, "--as", "notice", cwd=file.parent)
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)


def test_the_notice_says_what_is_asked_and_how_sure_anybody_can_be(file):
    text = pages.notice(read(file))
    assert "Which theme do you use? (epsilon 1.5 for each different answer, at most 82% sure)" in text
    assert "Two questions about food (asked once with epsilon 2, at most 88% sure)" in text
    assert "dropped after 30 days" in text
    assert "privacy@recipes.example" in text
    assert "words" not in text  # it is closed
    assert "which is not blurred" not in text


def test_the_notice_leaves_to_people_what_the_file_does_not_say(file):
    file.write_text(
        FILE.replace("keep_days = 30\n", "").replace("epsilon = 1.5", 'epsilon = 1.5\nsegments = ["web", "app"]')
    )
    text = pages.notice(read(file))
    assert "dropped after [HOW LONG]" in text
    assert "which is not blurred (app, web)" in text


def test_nobody_is_said_to_be_certain(file):
    file.write_text(FILE.replace("epsilon = 1.5", "epsilon = 6.0"))
    assert "at most 99.8% sure" in pages.notice(read(file))


def test_the_page_is_whole_and_escapes(file):
    text = pages.page(read(file))
    assert "As my &lt;phone&gt; has it" in text
    assert "<phone>" not in text
    assert "<p>diet: vegan, any.</p><p>age: 10 to 20, " in text
    assert "<p>Answers: anything.</p>" in text
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append((tag, dict(attributes).get("id")))

    Reader().feed(text)
    assert [name for tag, name in seen if tag == "section"] == ["theme", "stars", "food", "baskets", "words"]
    assert "script" not in {tag for tag, _ in seen}


def test_types_are_what_people_may_answer(file):
    shown = localdp("describe", "surveys.toml", "--as", "types", "-o", "surveys.ts", cwd=file.parent)
    assert shown.returncode == 0, shown.stderr
    text = (file.parent / "surveys.ts").read_text()
    assert '"theme": "dark" | "light" | "system" | "something else" | (string & {});' in text
    assert '"stars": number;' in text
    assert '"food": { "diet": "vegan" | "any"; "age": number; "likes": ("tea" | "milk")[]; };' in text
    assert '"baskets": ("tea" | "milk" | "bread")[];' in text
    assert '"words": string;' in text
    assert read(file).surveys[0].study.fingerprint in text
    assert localdp("describe", "surveys.toml", "--as", "types", "-o", "surveys.ts", cwd=file.parent).returncode == 2
    assert localdp("describe", "surveys.toml", "--as", "poem", cwd=file.parent).returncode == 2
    compiler = ROOT / "js" / "node_modules" / ".bin" / "tsc"
    if not compiler.exists() or not shutil.which("node"):
        pytest.skip("TypeScript is not installed")
    use = file.parent / "use.ts"
    use.write_text(
        'import { surveys, type Answers } from "./surveys";\n'
        'const good: Answers["food"] = { diet: "vegan", age: 30, likes: ["tea"] };\n'
        "const name: string = surveys.theme.study;\n"
        "// @ts-expect-error cocoa is not listed\n"
        'const bad: Answers["baskets"] = ["cocoa"];\n'
        "export { good, bad, name };\n"
    )
    done = subprocess.run(  # noqa: S603
        [
            compiler,
            "--noEmit",
            "--strict",
            "--target",
            "es2022",
            "--moduleResolution",
            "bundler",
            "--module",
            "es2022",
            use,
        ],
        capture_output=True,
        check=False,
        cwd=file.parent,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert Path(use).exists()
