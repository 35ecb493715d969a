// What the elements say, by language. A site adds its own: `words.nl = { ...words.en, send: "Versturen" }`.

/** @typedef {typeof words.en} Words */

export const words = {
  en: {
    send: "Send it, blurred",
    decline: "No, thanks",
    none: "no answer",
    choose: "choose one",
    empty: "You have not answered. Press once more to send “no answer”, blurred like any other.",
    sent: "Thank you. Your blurred answer was sent.",
    waits: "Thank you. Your blurred answer is sent as soon as the network is back.",
    answered: "You have answered this. Thank you.",
    declined: "You will not be asked again on this site.",
    again: "Ask me after all",
    blocked: "Your browser keeps nothing for this site, so nothing can be sent: without a memory, the blur could be averaged away.",
    spent: "This browser has told as much as it may. Nothing was sent.",
    trouble: "The question cannot be asked at the moment.",
    what: "What is sent?",
    why: (/** @type {string} */ factor, /** @type {string} */ sure) =>
      "Your browser blurs the answer at random before anything leaves it. Nobody can be sure of it, neither this site nor anybody who listens. " +
      `Whoever thought that two answers were equally likely can be at most ${sure} sure of one of them afterwards; the odds between two answers change by a factor of at most ${factor}. ` +
      "Only sums over many people mean anything. Your network address and the time reach the server, as with every page.",
    once: "You are asked once. Closing or reloading the page sends nothing more.",
    every: { day: "You may answer once a day.", week: "You may answer once a week.", month: "You may answer once a month.", year: "You may answer once a year." },
    learnt: "What this site has learnt about you",
    nothing: "Nothing was sent from this browser.",
    answers: "Blurred answers were sent to these questions:",
    question: "a question",
    budget: (/** @type {string} */ spent, /** @type {string} */ most) => `This browser has spent ${spent} of at most ${most} of its privacy budget.`,
    waiting: (/** @type {number} */ n) => `Answers that wait to be sent: ${n}.`,
    forget: "Forget my answers here",
    forgotten: "What was kept in this browser of your answers is removed. What was sent cannot be told apart from what others sent.",
    never: "Never ask me",
  },
  de: {
    send: "Verrauscht absenden",
    decline: "Nein, danke",
    none: "keine Angabe",
    choose: "bitte wählen",
    empty: "Sie haben nichts ausgewählt. Noch einmal drücken sendet „keine Angabe“, verrauscht wie jede Antwort.",
    sent: "Danke. Ihre verrauschte Antwort wurde gesendet.",
    waits: "Danke. Ihre verrauschte Antwort wird gesendet, sobald das Netz wieder da ist.",
    answered: "Sie haben schon geantwortet. Danke.",
    declined: "Sie werden auf dieser Seite nicht mehr gefragt.",
    again: "Doch fragen",
    blocked: "Ihr Browser merkt sich nichts für diese Seite, darum kann nichts gesendet werden: Ohne Gedächtnis ließe sich das Rauschen herausrechnen.",
    spent: "Dieser Browser hat so viel verraten, wie er darf. Es wurde nichts gesendet.",
    trouble: "Die Frage kann gerade nicht gestellt werden.",
    what: "Was wird gesendet?",
    why: (/** @type {string} */ factor, /** @type {string} */ sure) =>
      "Ihr Browser verrauscht die Antwort zufällig, bevor etwas ihn verlässt. Niemand kann sich ihrer sicher sein, weder diese Seite noch jemand, der mithört. " +
      `Wer zwei Antworten für gleich wahrscheinlich hielt, kann sich danach einer von ihnen höchstens zu ${sure} sicher sein; die Chancen zweier Antworten ändern sich höchstens um den Faktor ${factor}. ` +
      "Nur Summen über viele Menschen sagen etwas. Ihre Netzadresse und die Uhrzeit erreichen den Server wie bei jeder Seite.",
    once: "Sie werden einmal gefragt. Schließen oder Neuladen sendet nichts weiter.",
    every: { day: "Sie können einmal am Tag antworten.", week: "Sie können einmal in der Woche antworten.", month: "Sie können einmal im Monat antworten.", year: "Sie können einmal im Jahr antworten." },
    learnt: "Was diese Seite über Sie erfahren hat",
    nothing: "Von diesem Browser wurde nichts gesendet.",
    answers: "Verrauschte Antworten wurden auf diese Fragen gesendet:",
    question: "eine Frage",
    budget: (/** @type {string} */ spent, /** @type {string} */ most) => `Dieser Browser hat ${spent} von höchstens ${most} seines Privatsphäre-Budgets ausgegeben.`,
    waiting: (/** @type {number} */ n) => `Antworten, die noch gesendet werden: ${n}.`,
    forget: "Meine Antworten hier vergessen",
    forgotten: "Was dieser Browser von Ihren Antworten aufbewahrt hat, ist entfernt. Was gesendet wurde, lässt sich von dem anderer nicht unterscheiden.",
    never: "Nie fragen",
  },
};

/**
 * The words for an element, by its own language or that of the page.
 * @param {HTMLElement} element
 * @returns {Words}
 */
export function wordsFor(element) {
  const language = element.closest("[lang]")?.getAttribute("lang") ?? "en";
  const known = /** @type {Record<string, Words>} */ (words);
  return known[language] ?? known[language.split("-")[0]] ?? known.en;
}
