// Two elements for pages: <localdp-question plan="..."> asks, and <localdp-learnt plan="..."> shows people what they have told.
//
// They are made of plain elements without a style of their own beyond some spacing, so they look like the page. They need neither inline
// scripts nor inline styles.

import { Client } from "localdp";
import { questionsIn } from "./asked.js";
import { controls, make } from "./controls.js";
import { shownIn } from "./shown.js";
import { words, wordsFor } from "./words.js";

export { words };

const SPACING = `
  :where(localdp-question, localdp-learnt) { display: block }
  :where(localdp-question) :where(label) { display: flex; gap: .5em; align-items: center; min-height: 1.75em; flex-wrap: wrap }
  :where(localdp-question) :where(input, select) { font: inherit; max-width: 100% }
  :where(localdp-question) :where(fieldset) { border: 0; padding: 0; margin: 0 0 1em; min-width: 0 }
  :where(localdp-question) :where(.localdp-row) { display: flex; flex-wrap: wrap; gap: 0 1.25em }
  :where(localdp-question, localdp-learnt) :where(legend) { font-weight: bold; padding: 0; margin-bottom: .25em; float: left; width: 100% }
  :where(localdp-question, localdp-learnt) :where(legend) + * { clear: both }
  :where(localdp-question, localdp-learnt) :where(button) { font: inherit; padding: .4em 1em; margin: .5em .5em .5em 0; min-height: 2.5em }
  :where(localdp-question, localdp-learnt) :where(details) { margin: .5em 0 }`;

const CHOICES = ["localdp-declined", "localdp-accepted"];

/** What both elements have in common: a client, and something to show. */
class WithClient extends HTMLElement {
  /** What makes this element show itself anew, wherever on the page it happens. */ _changes = CHOICES;
  /** @type {Client | undefined} */ client;
  /** What the page asks. @type {string | undefined} */ _own;

  _again = () => this.client && this._show(this.client).catch((error) => this._trouble(error));

  connectedCallback() {
    for (const event of this._changes) document.addEventListener(event, this._again);
    if (this._own !== undefined) return; // an element that is moved has begun already
    this._own = this.textContent?.trim() ?? "";
    this._begin().catch((error) => this._trouble(error));
  }

  disconnectedCallback() {
    for (const event of this._changes) document.removeEventListener(event, this._again);
    queueMicrotask(() => this.isConnected || this.client?.close());
  }

  async _begin() {
    const address = this.getAttribute("plan") ?? "";
    if (!address.includes("/")) throw new Error("the attribute plan is the address of a survey, such as https://collector.example/v1/plans/...: the dashboard shows it under Send reports");
    const most = this.getAttribute("most");
    const segment = this.getAttribute("segment");
    this.client = await Client.load(address, {
      ...(this._own && { title: this._own }),
      ...(most && { most: Number(most) }),
      ...(segment && { segment }),
      ...(this.hasAttribute("most-every") && { mostEvery: /** @type {any} */ (this.getAttribute("most-every")) }),
    });
    await this._show(this.client);
  }

  /** @param {Client} _client */
  async _show(_client) {}

  /** @param {any} error */
  _trouble(error) {
    const said = wordsFor(this);
    const known = { "storage-blocked": said.blocked, budget: said.spent }[/** @type {string} */ (error.code)];
    this._say(known ?? said.trouble);
    if (!known) console.warn(`localdp: ${error.message}`);
    this.dispatchEvent(new CustomEvent("localdp-trouble", { bubbles: true, detail: error }));
  }

  /** @param {string} event */
  _tell(event) {
    this.dispatchEvent(new CustomEvent(event, { bubbles: true }));
  }

  /**
   * Show a sentence in the place of everything else, and read it out.
   * @param {string} sentence
   * @param {...Node} more
   */
  _say(sentence, ...more) {
    const status = make("p", { tabIndex: -1 }, sentence);
    status.setAttribute("role", "status");
    const hadFocus = this.contains(document.activeElement);
    this.replaceChildren(status, ...more);
    if (hadFocus) status.focus();
  }
}

class Question extends WithClient {
  get _every() {
    return /** @type {any} */ (this.getAttribute("every") ?? undefined);
  }

  /** @param {Client} client */
  async _show(client) {
    const said = wordsFor(this);
    if (await client.optedOut()) return this._declined(client);
    if (await client.answered({ every: this._every })) return this._say(said.answered);
    const asked = questionsIn(JSON.parse(client.document));
    const isOne = asked.length === 1;
    const shown = shownIn(await client.wording());
    const title = this._own || shown.question || said.question;
    // The version is told only if all that is shown is of that version: the page may ask in words of its own.
    const wording = shown.question && shown.question !== title ? undefined : shown.version;
    const made = asked.map((one) => ({ name: one.name, ...controls(one, isOne ? title : shown.label(one.name), isOne, said, shown.label) }));
    const factor = Math.exp(client.epsilon);
    const why = said.why(rounded(factor), `${Math.round((100 * factor) / (1 + factor))}%`);
    const details = make("details", {}, make("summary", {}, said.what), make("p", {}, why), make("p", {}, said.every[/** @type {"week"} */ (this._every)] ?? said.once));
    const send = make("button", { type: "submit" }, said.send);
    const decline = make("button", { type: "button", onclick: () => this._decline(client) }, said.decline);
    const hint = make("p", {});
    hint.setAttribute("role", "status");
    const heading = isOne ? [] : [make("legend", {}, title)];
    const form = make("form", {}, make("fieldset", {}, ...heading, ...made.map(({ element }) => element)), details, hint, send, decline);
    let isTouched = false; // choosing "no answer" is an answer
    form.addEventListener("input", () => { isTouched = true; });
    form.addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      const answers = made.map(({ answer }) => answer());
      if (!isTouched && answers.every((one) => one === undefined)) {
        isTouched = true;
        hint.textContent = said.empty; // people who press the button by mistake keep their turn
        return;
      }
      send.disabled = true;
      const named = Object.fromEntries(made.map(({ name }, i) => [name, answers[i]]));
      this._send(client, isOne ? answers[0] : named, wording).catch((error) => this._trouble(error));
    });
    this.replaceChildren(form);
  }

  /**
   * @param {Client} client
   * @param {any} value
   * @param {number | undefined} wording
   */
  async _send(client, value, wording) {
    const sent = await client.sendOnce(value, { every: this._every, wording });
    const said = wordsFor(this);
    const trouble = sent.trouble || sent.dropped.join();
    if (trouble) console.warn(`localdp: ${trouble}`);
    this._say(sent.dropped.length ? said.trouble : sent.waiting || trouble ? said.waits : said.sent);
    this.dispatchEvent(new CustomEvent("localdp-sent", { bubbles: true, detail: sent }));
  }

  /** @param {Client} client */
  async _decline(client) {
    await client.optOut();
    this._tell("localdp-declined");
  }

  /** @param {Client} client */
  _declined(client) {
    const again = async () => {
      await client.optIn();
      this._tell("localdp-accepted");
    };
    this._say(wordsFor(this).declined, make("button", { type: "button", onclick: again }, wordsFor(this).again));
  }
}

class Learnt extends WithClient {
  _changes = ["localdp-sent", ...CHOICES];

  /** @param {Client} client */
  async _show(client) {
    const said = wordsFor(this);
    const { answers, spent, most, waiting, optedOut } = await client.learnt();
    const listed = answers.map(({ title, at }) => make("li", {}, `${title || said.question} (${at.toLocaleDateString(document.documentElement.lang || undefined)})`));
    const forget = async () => {
      await client.forget();
      this._say(said.forgotten);
    };
    const never = async () => {
      await client.optOut();
      this._tell("localdp-declined");
    };
    this.replaceChildren(
      make("p", {}, make("strong", {}, said.learnt)),
      ...(listed.length ? [make("p", {}, said.answers), make("ul", {}, ...listed)] : [make("p", {}, said.nothing)]),
      make("p", {}, said.budget(rounded(spent), `${most}`), waiting ? ` ${said.waiting(waiting)}` : "", optedOut ? ` ${said.declined}` : ""),
      make("button", { type: "button", onclick: forget }, said.forget),
      ...(optedOut ? [] : [make("button", { type: "button", onclick: never }, said.never)]),
    );
  }
}

/** @param {number} number */
const rounded = (number) => String(Number(number.toPrecision(2)));

const sheet = new CSSStyleSheet();
sheet.replaceSync(SPACING);
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
customElements.define("localdp-question", Question);
customElements.define("localdp-learnt", Learnt);
