// The list of plans.

import { ask } from "./api.js";
import { h } from "./dom.js";
import { count, several } from "./words.js";

export async function plansPage(root) {
  document.title = "Plans · localdp";
  root.append(h("div", { class: "head" }, h("h1", {}, "Plans"), h("a", { class: "button main", href: "#/new" }, "New plan")));
  const { plans } = await ask("/v1/plans", { signal: root.signal });
  if (!plans.length) {
    root.append(h("div", { class: "card empty" },
      h("h2", {}, "Nothing is collected yet"),
      h("p", {}, "A plan says which items there are and how well each report is protected. Make one, copy a snippet into your page or program, and reports arrive here."),
      h("a", { class: "button main", href: "#/new" }, "Make the first plan")));
    return;
  }
  root.append(h("ul", { class: "plans" }, plans.map((plan) => h("li", {},
    h("a", { class: "card plan", href: `#/plan/${plan.short}` },
      h("span", { class: "name" }, plan.title || `Plan ${plan.short.slice(0, 8)}`),
      h("span", { class: `badge ${plan.state}` }, plan.state),
      plan.question ? h("span", { class: "note question" }, plan.question) : null,
      h("span", { class: "facts" },
        h("span", {}, h("b", {}, count(plan.reports)), " ", several(plan.reports, "report").split(" ")[1]),
        h("span", {}, h("b", {}, count(plan.size)), " items"),
        h("span", {}, "epsilon ", h("b", {}, String(plan.epsilon)))))))));
}
