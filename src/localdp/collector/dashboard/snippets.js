// Snippets that send one report to a plan, ready to be copied.

import { announce, card, freshId, h } from "./dom.js";

/** Text inside single quotes of a shell. */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
/** A value inside a script of a page: "<" would end the script where an item holds a closing tag. */
const inScript = (value) => JSON.stringify(value).replaceAll("<", "\\u003c");
const inPython = (value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value));
const holdsSets = (plan) => "set_size" in plan.options;

/** The limits that a device has to raise for this plan, in words of Python. */
function limits(plan) {
  const needed = {};
  if (plan.progress.epsilon > 4) needed.most_epsilon = Math.ceil(plan.progress.epsilon);
  if (plan.progress.epsilon > 8) needed.most = Math.ceil(plan.progress.epsilon);
  if (plan.report_bytes > 4096) needed.most_report_bytes = plan.report_bytes;
  if (plan.size > 100_000) needed.most_items = plan.size;
  return needed;
}

export function snippets(plan, item, origin) {
  const document = `${origin}/v1/plans/${plan.fingerprint}/document`;
  const more = limits(plan);
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  const token = plan.write_token;
  const web = [`upload: ${inScript(origin)}`, ...Object.entries(more).map(([name, value]) => `${camel(name)}: ${value}`), ...(token ? ['token: "YOUR-WRITE-TOKEN"'] : [])];
  const python = ['store="localdp-device"', "upload=server", ...Object.entries(more).map(([name, value]) => `${name}=${value}`), ...(token ? ['token="YOUR-WRITE-TOKEN"'] : [])];
  const flags = Object.entries(more).filter(([name]) => name === "most" || name === "most_epsilon").map(([name, value]) => ` --${name.replace("_", "-")} ${value}`).join("");
  const listed = holdsSets(plan) ? (text) => `[${text}]` : (text) => text;
  // In a shell, semicolons stand between the items of a set: an item with one in it cannot be typed, but the empty set can.
  const typed = holdsSets(plan) && String(item).includes(";") ? "" : String(item);
  return {
    Web: `<script type="module">
  import { Client } from ${inScript(`${origin}/client/index.js`)};

  const plan = await (await fetch(${inScript(document)})).text();
  const client = new Client(plan, { ${web.join(", ")} });
  await client.send(${listed(inScript(item))});
</script>
`,
    Python: `import urllib.request
from localdp.client import Client

server = ${JSON.stringify(origin)}
plan = urllib.request.urlopen(server + "/v1/plans/${plan.fingerprint}/document").read()
client = Client(plan, ${python.join(", ")})
print(client.send(${listed(inPython(item))}))
`,
    curl: `curl -fsS ${document} -o plan.json
localdp report --plan plan.json --store localdp-device${flags} -- ${quoted(typed)} > report.json
curl -fsS ${origin}/v1/plans/${plan.fingerprint}/reports \\
${token ? '  -H "Authorization: Bearer YOUR-WRITE-TOKEN" \\\n' : ""}  -H "Content-Type: application/json" -H "Upload-Id: $(openssl rand -hex 16)" --data-binary @report.json
`,
    "Try it": `import random, secrets, urllib.request
import localdp as ldp

address = ${JSON.stringify(`${origin}/v1/plans/${plan.fingerprint}`)}
plan = ldp.Plan.from_json(urllib.request.urlopen(address + "/document").read())
items = plan.domain.items
people = random.choices(items, weights=range(len(items), 0, -1), k=2_000)  # the first item is the most popular
reports = plan.privatize(${holdsSets(plan) ? "[[item] for item in people]" : "people"})
headers = {"Upload-Id": secrets.token_hex(16), "Content-Type": "application/octet-stream"}
${token ? 'headers["Authorization"] = "Bearer YOUR-WRITE-TOKEN"\n' : ""}upload = urllib.request.Request(address + "/reports", reports.to_bytes(), headers)
print(urllib.request.urlopen(upload).read().decode())
`,
  };
}

const NOTES = {
  Web: "Put this into a page. It remembers what it has said in the browser, and sends when there is a network.",
  Python: "Install with pip install . in a clone of localdp's repository. The folder localdp-device is the memory of one device.",
  curl: "For scripts: localdp report makes the private report on this machine, and curl sends it.",
  "Try it": "Save it as people.py and run python people.py: it plays 2,000 people with made-up answers. They stay in the plan, so try it on one that you can do without.",
};

export function snippetsCard(plan, item) {
  const texts = snippets(plan, item, location.origin);
  const names = Object.keys(texts);
  const tabs = names.map((name) => h("button", { type: "button", role: "tab", id: freshId("tab"), onclick: () => choose(name) }, name));
  const code = h("code");
  const note = h("p", { class: "note" });
  const copy = h("button", { type: "button", class: "copy", async onclick() {
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
      announce("Copied to the clipboard.");
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "Press Ctrl+C";
      announce("The text is selected: press Control and C.");
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2_000);
  } }, "Copy");
  const panel = h("div", { role: "tabpanel", id: freshId("panel"), class: "snippet" }, copy, h("pre", { tabindex: 0 }, code), note);
  const bar = h("div", { role: "tablist", "aria-label": "Language", class: "tabs", onkeydown(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const now = tabs.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
    const next = (now + step + tabs.length) % tabs.length;
    choose(names[next]);
    tabs[next].focus();
  } }, tabs);

  function choose(name) {
    tabs.forEach((tab, place) => {
      const chosen = names[place] === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("aria-controls", panel.id);
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) panel.setAttribute("aria-labelledby", tab.id);
    });
    code.textContent = texts[name];
    note.textContent = NOTES[name];
  }

  choose(names[0]);
  const sets = holdsSets(plan) ? " A list may hold more items, or none; in a shell, write semicolons between them." : "";
  const element = card("Send reports", `One report of one device, ready to be copied, or 2,000 made-up people. The item is an example. Every call of send is one more report: call it once for each person.${sets}`, bar, panel);
  element.classList.add("wide");
  return element;
}
