// Snippets that send one report to a survey, ready to be copied.

import { ask } from "./api.js";
import { announce, card, freshId, h } from "./dom.js";
import { head, loaded } from "./head.js";
import { kindOf } from "./kinds.js";
import { notice } from "./notice.js";

export async function sendPage(root, lost, place, name) {
  const isPlan = place === "plan";
  const study = await loaded(root, `/v1/${isPlan ? "plans" : "studies"}/${name}`);
  const form = await (await fetch(`/v1/${isPlan ? "plans" : "studies"}/${name}/document`, { signal: root.signal })).json();
  const files = await ask("/client/files.json", { signal: root.signal });
  const texts = isPlan ? snippets(study, kindOf(study).example(form), location.origin, files) : ofStudy(study, answerTo(study.kind, form), location.origin, files);
  const sets = isPlan && holdsSets(study) ? " A list may hold more answers, or none; in a shell, write semicolons between them." : "";
  const labelled = study.segments.length ? ` So is the segment: there are ${study.segments.join(", ")}.` : "";
  const note = study.trial_of ? "These lines send to the trial, which is thrown away when the survey begins. Copy those of the survey then."
    : study.draft || study.state === "planned" ? "This survey takes no reports yet." : study.state === "open" ? null : "This survey takes no more reports.";
  root.append(head(root, place, name, study, "send"), note ? h("p", { class: "warning" }, note) : "",
    snippetsCard(texts, `Ready to be copied. The answer in it is an example.${labelled} A device answers once, however often the page is loaded.${sets}`));
}

/** An answer to a study with several parts, as an example. */
function answerTo(kind, form) {
  if (kind === "discovery") return form.values.kind === "text" ? "soup" : 12;
  if (kind === "sets") return [form.domain.items?.[0] ?? 0];
  return Object.fromEntries(form.questions.map(({ name, question, domain, set_size: set }) => {
    const one = question ? Math.round((question.low + question.high) / 2) : domain.items[0];
    return [name, set ? [one] : one];
  }));
}

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

/** The label of a device in the examples: the first that the collection lists. */
const segmentOf = ({ segments }) => (segments.length ? { segment: segments[0] } : {});
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
/** Options of a client as its script takes them, and as Python does. */
const inOptions = (options) => (Object.keys(options).length ? `, { ${Object.entries(options).map(([name, value]) => `${camel(name)}: ${inScript(value)}`).join(", ")} }` : "");
const inArguments = (options) => ['store="localdp-device"', "upload=server", ...Object.entries(options).map(([name, value]) => `${name}=${JSON.stringify(value)}`)].join(", ");

/** The element that draws a question, on a page. */
const element = (address, study, { question: file }, origin) => `<script type="module" src="${origin}${file.path}" integrity="${file.integrity}" crossorigin></script>

<localdp-question plan="${address}"${study.segments.length ? ` segment="${escaped(study.segments[0])}"` : ""}>${escaped(study.question || study.title || "Your question?")}</localdp-question>
`;
const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

/** A script of a page that sends one answer. */
const script = (address, answer, { client }, origin, more = "") => `<link rel="modulepreload" href="${origin}${client.path}" integrity="${client.integrity}" crossorigin>
<script type="module">
  import { Client } from ${inScript(`${origin}${client.path}`)};

  const client = await Client.load(${inScript(address)}${more});
  const { trouble } = await client.sendOnce(${answer}); // once for each browser; { every: "week" } asks again
  if (trouble) console.warn(trouble);
</script>
`;

/** The lines of a program that make a device: it answers what the program names, and nothing else that the collector may serve. */
const device = (form, options, fingerprint) => `client = Client(${form}, ${options})
assert client.fingerprint == "${fingerprint}"
`;

/** The snippets of a study with several parts. */
function ofStudy(study, answer, origin, files) {
  const address = `${origin}/v1/studies/${study.fingerprint}`; // devices refuse another study than that; an id names any
  const own = { ...segmentOf(study), ...(study.write_token ? { token: "YOUR-WRITE-TOKEN" } : {}) };
  return {
    ...(study.write_token || study.epsilon > 4 ? {} : { Question: element(address, study, files, origin) }),
    Web: script(address, inScript(answer), files, origin, inOptions(own)).replace('; { every: "week" } asks again', ""),
    Python: `import urllib.request
from localdp.client import Client

server = ${JSON.stringify(origin)}
form = urllib.request.urlopen(server + "/v1/studies/${study.fingerprint}/document").read()
${device("form", inArguments(own), study.fingerprint)}print(client.send(${JSON.stringify(answer)}))
`,
    "Privacy notice": notice(study),
  };
}

export function snippets(plan, item, origin, files) {
  const document = `${origin}/v1/plans/${plan.fingerprint}/document`;
  const more = limits(plan);
  const token = plan.write_token;
  const needed = { ...more, ...(token ? { token: "YOUR-WRITE-TOKEN" } : {}) };
  const label = segmentOf(plan);
  const flags = Object.entries(more).filter(([name]) => name === "most" || name === "most_epsilon").map(([name, value]) => ` --${name.replace("_", "-")} ${value}`).join("");
  const listed = holdsSets(plan) ? (text) => `[${text}]` : (text) => text;
  // In a shell, semicolons stand between the items of a set: an item with one in it cannot be typed, but the empty set can.
  const typed = holdsSets(plan) && String(item).includes(";") ? "" : String(item);
  return {
    ...(Object.keys(needed).length ? {} : { Question: element(`${origin}/v1/plans/${plan.fingerprint}`, plan, files, origin) }), // it has no such options
    Web: script(`${origin}/v1/plans/${plan.fingerprint}`, listed(inScript(item)), files, origin, inOptions({ ...needed, ...label })),
    Python: `import urllib.request
from localdp.client import Client

server = ${JSON.stringify(origin)}
plan = urllib.request.urlopen(server + "/v1/plans/${plan.fingerprint}/document").read()
${device("plan", inArguments({ ...needed, ...label }), plan.fingerprint)}print(client.send_once(${listed(inPython(item))}))
`,
    curl: `curl -fsS ${document} -o plan.json
localdp report --plan plan.json --store localdp-device${flags} -- ${quoted(typed)} > report.json
curl -fsS ${origin}/v1/plans/${plan.fingerprint}/reports \\
${token ? '  -H "Authorization: Bearer YOUR-WRITE-TOKEN" \\\n' : ""}${label.segment ? `  -H ${quoted(`Segment: ${label.segment}`)} \\\n` : ""}  -H "Content-Type: application/json" -H "Upload-Id: $(openssl rand -hex 16)" --data-binary @report.json
`,
    "Privacy notice": notice({ ...plan, epsilon: plan.progress.epsilon }),
    "Try it": `import random, secrets, urllib.request
import localdp as ldp

address = ${JSON.stringify(`${origin}/v1/plans/${plan.fingerprint}`)}
plan = ldp.Plan.from_json(urllib.request.urlopen(address + "/document").read())
people = ${kindOf(plan).people}
reports = plan.privatize(people)
headers = {"Upload-Id": secrets.token_hex(16), "Content-Type": "application/octet-stream"}
${token ? 'headers["Authorization"] = "Bearer YOUR-WRITE-TOKEN"\n' : ""}${label.segment ? `headers["Segment"] = ${JSON.stringify(label.segment)}\n` : ""}upload = urllib.request.Request(address + "/reports", reports.to_bytes(), headers)
print(urllib.request.urlopen(upload).read().decode())
`,
  };
}

const NOTES = {
  Question: "Put this into a page where the question should be. It draws the question, and says in plain words what is sent. To ask one question once a week, write every=\"week\" into the element, and read the results of one week at a time (“Only some days”), so that nobody counts twice. For a site that knows the answer itself, take “Web”.",
  Web: "Put this into a page. The browser remembers that it has answered, and sends when there is a network. One file is loaded, and its hash is checked.",
  Python: "Install with pip install . in a clone of localdp's repository. The folder localdp-device is the memory of one device.",
  curl: "For scripts: localdp report makes the private report on this machine, and curl sends it. Every run sends one more; to be counted once, use localdp report with --upload and --once.",
  "Privacy notice": "Put this into the privacy notice of your site, fill in what is in brackets, and change it to what you do. The documentation has a page for lawyers and managers.",
  "Try it": "Save it as people.py and run python people.py: it plays 2,000 people with made-up answers. They stay in the survey, so try it on one that you can do without.",
};

function snippetsCard(texts, about) {
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
    code.parentNode.classList.toggle("prose", name === "Privacy notice");
    note.textContent = NOTES[name];
  }

  choose(names[0]);
  const element = card("Send reports", about, bar, panel);
  element.classList.add("wide");
  return element;
}
