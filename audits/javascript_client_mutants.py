"""The faults that `javascript_client` puts into the client, one change each, with the test that must notice it."""

from __future__ import annotations

from dataclasses import dataclass

IN_CHROMIUM = "tests/js/test_chromium_"
"""How the names of tests in Chromium begin."""


@dataclass(frozen=True)
class ClientMutant:
    """A change of one place below js/src, and the test that must notice it.

    `caught_by` is a file below js/test and the beginning of a test's name, or a test in Chromium as pytest names it.
    """

    name: str
    fault: str
    file: str
    before: str
    after: str
    caught_by: tuple[str, str]


_STUDY_VECTORS = ("vectors.test.js", "golden vectors: studies")
_CHROMIUM = f"{IN_CHROMIUM}store.py"
_QUESTION = f"{IN_CHROMIUM}question.py"

MUTANTS = (
    ClientMutant(
        "payment known before it is written",
        "A payment that could not be written counts as paid in this page.",
        "client/device.js",
        "payments = this.#found(bytes);\n        const digest",
        "payments = this.#known = this.#found(bytes);\n        const digest",
        ("client.test.js", "a payment that was not written"),
    ),
    ClientMutant(
        "record not flushed",
        "A record is linked before it is on the disk.",
        "node.js",
        "    await file.sync();\n",
        "",
        ("node_store.test.js", "a record is flushed"),
    ),
    ClientMutant(
        "folder not flushed",
        "The name of a new record is not on the disk when the report is given out.",
        "node.js",
        "  await flushFolder(folder);\n  // If a larger",
        "  // If a larger",
        ("node_store.test.js", "a record is flushed"),
    ),
    ClientMutant(
        "relaxed durability",
        "IndexedDB says that a payment is written before it is on the disk.",
        "client/indexed_db.js",
        '{ durability: "strict" }',
        "{}",
        (_CHROMIUM, "test_every_transaction_is_flushed_to_the_disk"),
    ),
    ClientMutant(
        "device begun anew",
        "A device whose IndexedDB fails for a moment is taken for one that never had any, which may begin anew.",
        "client/browser_store.js",
        "if (note != null) throw error;",
        "",
        (_CHROMIUM, "test_a_device_does_not_move_and_comes_back"),
    ),
    ClientMutant(
        "failure for ever",
        "A store that could not be opened once is never tried again in this page.",
        "client/browser_store.js",
        "        place = undefined;\n",
        "",
        (_CHROMIUM, "test_a_device_does_not_move_and_comes_back"),
    ),
    ClientMutant(
        "redirections followed",
        "A document is fetched from wherever the collector's address leads to.",
        "client/upload.js",
        'redirect: "manual",',
        'redirect: options.method ? "manual" : "follow",',
        ("outbox.test.js", "a plan or a part at an address that is redirected"),
    ),
    ClientMutant(
        "edge of a short division",
        "A number next to the edge of two shares is rounded by the float.",
        "random.js",
        "Math.abs(near - Math.round(near)) > 2 ** -20",
        "Math.abs(near - Math.round(near)) >= 0",
        ("core.test.js", "a number below a bound is the exact quotient"),
    ),
    ClientMutant(
        "ended too early",
        "In a discovery, a text that ends with the prefix counts as one that goes on.",
        "studies/discovery.js",
        "const isEnded = written.length <= position;",
        "const isEnded = written.length < position;",
        _STUDY_VECTORS,
    ),
    ClientMutant(
        "class of sizes off by one",
        "In a survey of sets, the smallest size of a class counts for the class before.",
        "studies/survey.js",
        "classes.filter((size) => size <= held.length)",
        "classes.filter((size) => size < held.length || !size)",
        _STUDY_VECTORS,
    ),
    ClientMutant(
        "first place of the next part",
        "In a questionnaire, the first device of a part answers the part before.",
        "studies/questionnaire.js",
        "made.find(({ _end }) => place < _end)",
        "made.find(({ _end }) => place <= _end)",
        ("studies.test.js", "every place of a questionnaire"),
    ),
    ClientMutant(
        "longest text",
        "A text is written in the book that needs the most bits.",
        "studies/text_code.js",
        "a.length - b.length",
        "b.length - a.length",
        ("studies.test.js", "a text is written in the book"),
    ),
    ClientMutant(
        "second answer after a loss",
        "A device that has paid for an answer which is gone makes another one.",
        "client/one_part.js",
        "if (fingerprint in pages.answers || isPaid) return false;",
        "if (fingerprint in pages.answers) return false;",
        ("studies.test.js", "an answer that is gone"),
    ),
    ClientMutant(
        "unpaid answer",
        "The answer in a study is not paid for.",
        "client/one_part.js",
        "    await device.pay(() => digest, epsilon);\n",
        "",
        ("studies.test.js", "an answer is written down and paid for"),
    ),
    ClientMutant(
        "clock set back by an hour",
        "A clock that is set back into the period before lets a device answer again.",
        "client/periods.js",
        "passed < -1",
        "passed < 0",
        ("once.test.js", "days, weeks, months and years"),
    ),
    ClientMutant(
        "damaged diary",
        "What a device has answered is taken for nothing if it is damaged.",
        "client/diary.js",
        "bytes ? unsealedJson(NAME, bytes) : { answers: {} };",
        "(bytes && unsealedJson(NAME, bytes)) || { answers: {} };",
        ("once.test.js", "a damaged diary fails closed"),
    ),
    ClientMutant(
        "sent after an opt-out",
        "What another page had waiting is sent after its owner opted out.",
        "client/outbox.js",
        "if (await isOut()) await this.empty();",
        "",
        ("once.test.js", "after an opt-out"),
    ),
    ClientMutant(
        "new budget from an old clock",
        "A clock that is set back begins a new period with a new budget.",
        "client/device.js",
        "known.at >= at",
        "known.at === at",
        ("once.test.js", "a cap for every year"),
    ),
    ClientMutant(
        "device beside a worker's",
        "A page whose IndexedDB fails begins a device in localStorage, where a worker may have one in IndexedDB.",
        "client/browser_store.js",
        " && !globalThis.indexedDB",
        "",
        (f"{IN_CHROMIUM}client.py", "test_a_page_whose_indexed_db_fails_at_first_begins_no_device_elsewhere"),
    ),
    ClientMutant(
        "outboxes of other plans",
        "What `send` has left under other plans is still sent after its owner had it forgotten.",
        "client/client.js",
        "{ [this.fingerprint]: 0, ...sent, ...answers }",
        "{ [this.fingerprint]: 0, ...answers }",
        ("once.test.js", "forget removes what waits under every plan"),
    ),
    ClientMutant(
        "sent and not told",
        "What was sent without once is not shown to the owner.",
        "client/client.js",
        "Object.entries({ ...pages.answers, ...pages.sent })",
        "Object.entries(pages.answers)",
        ("once.test.js", "a person can see what was sent"),
    ),
    ClientMutant(
        "sent after it was forgotten",
        "Reports of the round under way are sent although their owner has had them forgotten meanwhile.",
        "client/outbox.js",
        "if (!box.waiting.has(id)) continue;",
        "",
        ("once.test.js", "what waits when another page calls"),
    ),
    ClientMutant(
        "sets in a table",
        "A questionnaire may cross a question about sets, and a device is silent if its user holds several items.",
        "studies/questionnaire.js",
        " && !one._isSet && !other._isSet",
        "",
        ("documents.test.js", "a questionnaire that crosses a question about sets"),
    ),
    ClientMutant(
        "candidates until one is missing",
        "The time to read a set tells whether the items are held that stand first in the candidates.",
        "studies/survey.js",
        "itemset.reduce((all, item) => all & isHeld[item], 1)",
        "itemset.every((item) => isHeld[item])",
        ("documents.test.js", "every item of every candidate"),
    ),
    ClientMutant(
        "search for a prefix",
        "The time to find a value tells how far behind it stands in the list of prefixes.",
        "studies/discovery.js",
        "(isEnded ? ended : opened).get(prefix)",
        "[(isEnded ? finished : open).indexOf(prefix)].find((place) => place >= 0)",
        ("documents.test.js", "a prefix is found"),
    ),
    ClientMutant(
        "long symbols",
        "A book may have a symbol of megabytes, which is tried at every letter of a text.",
        "studies/text_code.js",
        ", longest <= LONGEST_SYMBOL",
        "",
        ("documents.test.js", "a book has no symbols so long"),
    ),
    ClientMutant(
        "tags of the cache",
        "A collector knows a browser again by a tag that its cache sends back, or a wording that is kept for years.",
        "client/upload.js",
        'cache: "no-store",',
        "",
        (f"{IN_CHROMIUM}store.py", "test_no_tag_of_the_cache_and_no_kept_wording_tells_one_browser_from_another"),
    ),
    ClientMutant(
        "a kept mistake",
        "A plan that could not be loaded once, behind a proxy say, is never loaded again by this browser.",
        "client/client.js",
        '!(await isFetched("no-store"))',
        '(named || !(await isFetched("no-store")))',
        (f"{IN_CHROMIUM}store.py", "test_what_the_cache_has_in_the_place_of_a_plan_is_fetched_anew"),
    ),
    ClientMutant(
        "a title that is no text",
        "A wording whose question is no text breaks what people see of their answers, for ever.",
        "client/client.js",
        'typeof found?.question != "string"',
        "!found?.question",
        ("wording.test.js", "a collector that gives no wording"),
    ),
    ClientMutant(
        "nested document",
        "A document that is nested deeply is an error of the engine, which programs do not know.",
        "studies/study.js",
        "throw error instanceof LocalDPError ? error : altered(what);",
        "throw error instanceof TypeError ? altered(what) : error;",
        ("studies.test.js", "a document that is nested deeply"),
    ),
    ClientMutant(
        "plan of the same first digit",
        "A collector that is asked for a plan by its first digits gives another one.",
        "client/client.js",
        "[0-9a-f]{16}|[0-9a-f]{64}",
        "[0-9a-f]{64}",
        ("outbox.test.js", "an address that ends with a fingerprint"),
    ),
    ClientMutant(
        "version of today",
        "A report that waits is sent with the version of the wording that is shown later.",
        "client/permanent.js",
        "await outbox.put(known.body, known.id, known.wording);",
        "await outbox.put(known.body, known.id, wording);",
        ("wording.test.js", "a plan whose store fails"),
    ),
    ClientMutant(
        "version that was not shown",
        "The element tells the version of a wording whose question the page has replaced by its own.",
        "question/question.js",
        "shown.question && shown.question !== title ? undefined : shown.version",
        "shown.version",
        (_QUESTION, "test_people_read_the_wording_of_the_collection_and_its_version_is_told"),
    ),
    ClientMutant(
        "label of the item before",
        "People read the label of another item than the one that they choose.",
        "question/controls.js",
        'make("label", {}, input, label(listed[i]',
        'make("label", {}, input, label(listed[i - 1]',
        (_QUESTION, "test_people_read_the_wording_of_the_collection_and_its_version_is_told"),
    ),
    ClientMutant(
        "the option before",
        "The element reports the option before the one that was chosen in a list.",
        "question/controls.js",
        'items[select.value === "" ? -1 : select.value]',
        'items[select.value === "" ? -1 : select.value - 1]',
        (_QUESTION, "test_the_element_reports_what_was_chosen"),
    ),
    ClientMutant(
        "no that is forgotten",
        'The element\'s "No, thanks" is forgotten by the next page.',
        "question/question.js",
        "    await client.optOut();\n    this._declined(client);",
        "    this._declined(client);",
        (_QUESTION, "test_a_no_is_remembered"),
    ),
    ClientMutant(
        "diary without a device",
        "A folder in which a device has opted out, and opted in again, is taken for that of a lost device for ever.",
        "client/client.js",
        "    await this.#parts._device.secret().catch(() => {});\n",
        "",
        ("node_store.test.js", "a device whose first use is an opt-out"),
    ),
    ClientMutant(
        "yearly cap without a device",
        "The same where a cap for every year is the first thing that is written.",
        "client/device.js",
        "    await this.secret(); // a diary",
        "    // a diary",
        ("node_store.test.js", "a device whose first use is a report"),
    ),
    ClientMutant(
        "trusted before it is flushed",
        "A report is given out for a payment of a process that was killed before it flushed the folder.",
        "node.js",
        "if (!after && newest && flushed.get(name) !== newest) await flushFolder(folder);",
        "",
        ("node_store.test.js", "a payment of another process is flushed"),
    ),
    ClientMutant(
        "no place to draw",
        "A questionnaire without parts is accepted, and no place can be drawn in it: an error of the engine.",
        "studies/questionnaire.js",
        "isWhole(parts.length, 1, MOST_PARTS)",
        "isWhole(parts.length, 0, MOST_PARTS)",
        ("studies.test.js", "a questionnaire without parts"),
    ),
    ClientMutant(
        "thousands of questions",
        "A questionnaire may have so many scales that a page stops while it is read.",
        "studies/questionnaire.js",
        "isWhole(questions.length, 1, MOST_QUESTIONS), ",
        "",
        ("documents.test.js", "a questionnaire has not so many"),
    ),
    ClientMutant(
        "many books",
        "There may be thousands of books, which are all tried at every letter of a text.",
        "studies/text_code.js",
        ", longest <= MOST_LENGTHS / books.length",
        "",
        ("documents.test.js", "books have not so many lengths"),
    ),
)
