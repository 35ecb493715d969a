"""The client in a real Chromium: reloads, closed tabs, two tabs and failing servers keep budget and bytes right."""

from __future__ import annotations

import time

import pytest
from js.chromium import PLAN, needs_chromium, opened, site
from paths import VECTORS

import localdp as ldp

pytestmark = needs_chromium
EPSILON = PLAN.mechanism.epsilon

# Date.now, moved forward by `window.later` seconds, so that pauses are over without waiting.
LATER = "window.later = 0; const now = Date.now; Date.now = () => now() + 1000 * window.later;"


def test_the_golden_vectors_pass(context, server):
    page = opened(context, server)
    done = page.evaluate(
        """async () => {
            const { FILES, runVectors } = await import("/js/test/vectors.js");
            const files = {};
            for (const name of FILES) files[name] = await (await fetch(`/vectors/v1/${name}.json`)).json();
            const { runStudyVectors, STUDY_FILES } = await import("/js/test/study_vectors.js");
            const read = async (name) => (await fetch(`/vectors/${name}.json`)).json();
            const studies = await runStudyVectors(await Promise.all(STUDY_FILES.map(read)));
            const { cases, failures } = runVectors(files);
            return { cases: cases + studies.cases, failures: [...failures, ...studies.failures], files: FILES };
        }"""
    )
    assert done["failures"] == []
    assert done["cases"] > 800
    assert {*done["files"]} <= {path.stem for path in VECTORS.glob("*.json")}


def test_reports_reach_the_server_without_a_complaint(context, server):
    page = opened(context, server)
    report, delivery = page.evaluate(
        """async () => {
            const own = client({ upload: location.origin });
            return [hex(await own.report(7)), await own.send(7)];
        }"""
    )
    assert delivery == {"delivered": 1, "waiting": 0, "pause": 0, "dropped": [], "trouble": "", "asked": True}
    ((upload_id, body),) = server.uploads
    assert body.hex() == report
    assert len(PLAN.read(body)) == 1
    assert len(bytes.fromhex(upload_id)) == 16
    (headers,) = server.headers_seen
    assert headers["Content-Type"] == "application/octet-stream"
    assert not {"Cookie", "Referer", "Authorization"} & set(headers)
    assert page.complaints == []


def test_a_reload_is_the_same_device(context, server):
    page = opened(context, server)
    first = page.evaluate("async () => hex(await client().report(7))")
    again = opened(context, server)
    assert again.evaluate("async () => hex(await client().report(7))") == first
    assert again.evaluate("() => client().spent()") == EPSILON
    places = again.evaluate(
        "async () => [(await indexedDB.databases()).map(({ name }) => name), Object.keys(localStorage)]"
    )
    assert places == [["localdp"], ["localdp/place"]]


def test_a_set_is_one_value_in_any_order_and_after_a_reload(context):
    plan = ldp.Plan(1_000, "llh", 1.5, set_size=3)
    with site(plan) as server:
        page = opened(context, server)
        report, delivery, spent = page.evaluate(
            """async () => {
                const own = client({ upload: location.origin });
                return [hex(await own.report([7, 3])), await own.send(new Set([3, 7])), await own.spent()];
            }"""
        )
        assert (delivery["delivered"], delivery["waiting"]) == (1, 0)
        assert spent == plan.mechanism.epsilon
        ((_, body),) = server.uploads
        assert body.hex() == report
        assert len(plan.read(body)) == 1
        again = opened(context, server)
        assert again.evaluate("async () => hex(await client().report([3, 7, 7]))") == report
        codes = again.evaluate("() => Promise.all([7, [1000], [[7]], []].map((value) => code(client().report(value))))")
        assert codes == ["invalid-input", "unknown-item", "unknown-item", "no error"]
        assert again.evaluate("() => client().spent()") == pytest.approx(2 * spent)
        assert again.complaints == []


# All tabs begin when the last one calls, so that they meet at the store.
SPEND = """async ({ values, store, most }) => {
    await new Promise((resolve) => (new BroadcastChannel("begin").onmessage = resolve));
    const own = client({ most, store: store ? localdp[store]() : undefined });
    const released = [];
    for (const value of values) {
        try {
            released.push([value, hex(await own.report(value))]);
        } catch (error) {
            if (error.code !== "budget") throw error;
        }
    }
    return released;
}"""


@pytest.mark.parametrize(
    ("store", "most", "shares", "paid"),
    [
        ("", 100, [range(20), range(25, 10, -1), range(5, 22)], 26),
        ("", 4, [range(20), range(25, 10, -1), range(5, 22)], 8),
        ("localStorageStore", 100, [range(5), range(6, 1, -1)], 7),
        ("localStorageStore", 1, [range(5), range(6, 1, -1)], 2),
    ],
)
def test_tabs_are_one_device_that_pays_once_for_a_value(context, server, store, most, shares, paid):
    pages = [opened(context, server) for _ in shares]
    for page, values in zip(pages, shares, strict=True):
        arguments = {"values": list(values), "store": store, "most": most}
        page.evaluate(f"(given) => {{ window.work = ({SPEND})(given); }}", arguments)
    # Until they have all begun: a message is lost on a tab whose channel the browser does not know of yet.
    call = "const begin = new BroadcastChannel('begin'); setInterval(() => begin.postMessage('now'), 20);"
    pages[0].evaluate(f"() => {{ {call} }}")
    released = [tuple(pair) for page in pages for pair in page.evaluate("() => window.work")]
    different = {value for value, _ in released}
    assert len(set(released)) == len(different) == paid
    spent = pages[0].evaluate(f"() => client({{ store: {f'localdp.{store}()' if store else 'undefined'} }}).spent()")
    assert spent == pytest.approx(paid * EPSILON, rel=1e-12)
    assert spent <= most


def test_tabs_that_send_at_the_same_time_deliver_every_report_once(context, server):
    pages = [opened(context, server) for _ in range(2)]
    for page in pages:
        page.evaluate(
            """() => {
                const own = client({ upload: location.origin });
                window.work = Promise.all(Array.from({ length: 10 }, () => own.send(7)));
            }"""
        )
    for page in pages:
        page.evaluate("() => window.work")
    assert len(server.uploads) == len({upload_id for upload_id, _ in server.uploads}) == 20
    assert len({body for _, body in server.uploads}) == 1
    assert pages[0].evaluate("() => client().waiting()") == 0
    assert pages[0].evaluate("() => client().spent()") == EPSILON


def test_a_tab_that_is_closed_in_mid_send_sends_the_same_bytes_later(context, server):
    server.let_go.clear()
    page = opened(context, server)
    page.evaluate("() => { client({ upload: location.origin }).send(7); }")
    assert server.arrived.wait(60)
    page.close()
    server.let_go.set()
    later = opened(context, server)
    assert later.evaluate("() => client().spent()") == EPSILON
    assert later.evaluate("() => client().waiting()") == 1
    delivery = later.evaluate("() => client({ upload: location.origin }).flush()")
    assert delivery["waiting"] == 0
    assert len(server.uploads) >= 2
    assert len(set(server.uploads)) == 1
    assert len(server.batches) == 1  # the collector counts it once


def test_a_tab_that_is_closed_at_any_moment_never_forgets_a_payment(context, server):
    """What a page gives out is told to this test at once; what was paid for is read by another page."""
    watcher = opened(context, server)
    released = {}

    def give(_, value, report):
        assert released.setdefault(value, report) == report

    context.expose_binding("give", give)
    for turn in range(200):
        if turn >= 6 and released:  # a busy machine may release nothing in the first milliseconds
            break
        page = opened(context, server)
        page.evaluate(
            """(turn) => {
                const own = client({ most: 100 });
                const work = async () => {
                    for (let i = 5 * turn; i < 5 * turn + 50; i++) await give(i, hex(await own.report(i)));
                };
                window.work = work();
            }""",
            turn,
        )
        page.wait_for_timeout(6 * turn)
        page.close()
        known = len(released)
        spent = watcher.evaluate("() => client().spent()")
        assert spent >= known * EPSILON * (1 - 1e-12)
    assert released
    reports = watcher.evaluate(
        "async (values) => { const own = client({ most: 1000 }); const all = []; for (const value of values) "
        "all.push(hex(await own.report(value))); return all; }",
        list(released),
    )
    assert reports == list(released.values())


def test_a_server_that_answers_503_many_times_sees_one_body_and_one_id(context, server):
    server.answers = [503] * 30
    context.add_init_script(LATER)
    page = opened(context, server)
    done = page.evaluate(
        """async () => {
            const own = client({ upload: location.origin });
            let done = await own.send(7);
            for (let i = 0; i < 100 && done.waiting; i++) {
                window.later += 100_000;
                done = await own.flush();
            }
            return done;
        }"""
    )
    assert (done["delivered"], done["waiting"]) == (1, 0)
    assert len(server.uploads) == 31
    assert len(set(server.uploads)) == 1


def _wait_for_uploads(server, number):
    until = time.monotonic() + 60
    while len(server.uploads) < number:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    "event",
    [
        "document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))",
        "dispatchEvent(new Event('online'))",
        "location.reload()",
    ],
)
def test_what_waits_is_sent_when_the_page_is_hidden_comes_back_or_is_online_again(context, server, event):
    server.answers = [503]
    context.add_init_script(LATER)
    page = opened(context, server)
    done = page.evaluate("async () => { window.own = client({ upload: location.origin }); return await own.send(7); }")
    assert done["trouble"] == "the server answered 503"
    if event == "location.reload()":
        page = opened(context, server)
        page.evaluate("() => { window.later = 100; client({ upload: location.origin }); }")
    else:
        page.evaluate(f"() => {{ window.later = 100; {event}; }}")
    _wait_for_uploads(server, 2)
    assert len(set(server.uploads)) == 1


def test_a_page_that_stays_open_tries_again_by_itself(context, server):
    server.answers = [503]
    page = opened(context, server)
    page.evaluate("async () => { window.own = client({ upload: location.origin }); await own.send(7); }")
    _wait_for_uploads(server, 2)
    page.wait_for_function("async () => await own.waiting() === 0")
    assert len(server.uploads) == 2
    assert len(set(server.uploads)) == 1


def test_an_upload_has_a_deadline(context, server):
    server.let_go.clear()
    page = opened(context, server)
    asked, done = page.evaluate(
        """async () => {
            const timeout = AbortSignal.timeout;
            let asked;
            AbortSignal.timeout = (length) => timeout.call(AbortSignal, (asked = length) / 100);
            return [0, await client({ upload: location.origin }).send(7)].with(0, asked);
        }"""
    )
    assert asked == 10_000
    assert (done["delivered"], done["waiting"]) == (0, 1)
    assert "there was no answer (TimeoutError" in done["trouble"]


def test_a_damaged_record_is_never_taken_for_a_new_device(context, server):
    page = opened(context, server)
    page.evaluate("() => client().report(7)")
    replace = """(what) => new Promise((resolve) => {
        const opening = indexedDB.open("localdp", 1);
        opening.onsuccess = () => {
            const records = opening.result.transaction("records", "readwrite").objectStore("records");
            const reading = records.get("device");
            reading.onsuccess = () => {
                const bytes = reading.result;
                if (what === "flipped") bytes[60] ^= 1;
                const changed = { flipped: bytes, empty: new Uint8Array(), text: "text", null: null }[what];
                records.put(changed, "device").onsuccess = () => {
                    opening.result.close();
                    resolve();
                };
            };
        };
    })"""
    for what in ("flipped", "empty", "text", "null"):
        page.evaluate(replace, what)
        assert page.evaluate("() => code(client().report(8))") == "store"
        assert page.evaluate("() => code(client().spent())") == "store"
        assert page.evaluate("() => code(client({ withoutStorage: 'forget' }).report(8))") == "store"


def test_a_full_disk_releases_nothing(context, server):
    page = opened(context, server)
    page.evaluate("() => client().report(7)")
    said = page.evaluate(
        """async () => {
            const put = IDBObjectStore.prototype.put;
            IDBObjectStore.prototype.put = function (...args) {
                put.apply(this, args);
                this.transaction.abort(); // as for want of room
            };
            const own = client();
            const said = [await code(own.report(8)), await code(own.report(8)), await code(own.report(7))];
            IDBObjectStore.prototype.put = put;
            return [...said, await own.spent()];
        }"""
    )
    assert said == ["store", "store", "no error", EPSILON]


NO_INDEXED_DB = "Object.defineProperty(window, 'indexedDB', { value: undefined });"
BROKEN_INDEXED_DB = "indexedDB.__proto__.open = () => { throw new DOMException('not now', 'UnknownError'); };"


def test_without_indexed_db_the_device_is_in_local_storage_and_stays_there(chromium, server):
    context = chromium.new_context()
    context.add_init_script(f"if (!location.hash) {{ {NO_INDEXED_DB} }}")
    page = opened(context, server)
    first = page.evaluate("async () => hex(await client().report(7))")
    assert page.evaluate("() => Object.keys(localStorage)") == ["localdp/device"]
    page.goto(f"{server.url}/blank#works")
    page.reload()
    again = page.evaluate(
        """async () => {
            const { Client } = await import("/js/src/index.js");
            const own = new Client(await (await fetch("/plan.json")).text());
            return [Array.from(await own.report(7)), await own.spent()];
        }"""
    )
    assert again == [list(bytes.fromhex(first)), EPSILON]
    context.close()


def test_a_page_whose_indexed_db_fails_at_first_begins_no_device_elsewhere(context, server):
    """A worker, which has no localStorage, may keep the device in that IndexedDB."""
    context.add_init_script(f"if (!location.hash) {{ {BROKEN_INDEXED_DB} }}")
    page = opened(context, server)
    assert page.evaluate("() => code(client({ upload: location.origin }).sendOnce(7))") == "storage-blocked"
    assert page.evaluate("() => Object.keys(localStorage)") == []
    assert server.uploads == []


def test_a_device_in_indexed_db_does_not_move_when_that_fails(context, server):
    page = opened(context, server)
    page.evaluate("() => client().report(7)")
    context.add_init_script(BROKEN_INDEXED_DB)
    broken = opened(context, server)
    assert broken.evaluate("() => code(client().report(7))") == "store"
    assert broken.evaluate("() => code(client({ withoutStorage: 'forget' }).report(7))") == "store"


def test_local_storage_without_web_locks_is_refused(context, server):
    context.add_init_script(f"{NO_INDEXED_DB} Object.defineProperty(navigator, 'locks', {{ value: undefined }});")
    page = opened(context, server)
    assert page.evaluate("() => code(client().report(7))") == "storage-blocked"
    assert page.evaluate("() => code(client({ store: localdp.localStorageStore() }).report(7))") == "storage-blocked"


def test_indexed_db_needs_no_web_locks(context, server):
    context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined });")
    test_tabs_are_one_device_that_pays_once_for_a_value(context, server, "", 4, [range(10), range(12, 3, -1)], 8)
